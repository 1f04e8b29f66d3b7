/* tutti-info: what this build contains and what this machine offers it. See tutti-info(1). */
#include "apps/architecture/architecture.h"
#include "apps/architecture/onnx.h"
#include "apps/data/webp.h"
#include "apps/data/source.h"
#include "apps/models/model.h"
#include "apps/tools/info_gpu.h"
#include "apps/tools/info_links.h"
#include "apps/train/rate_schedule.h"
#include "apps/train/recipe.h"
#include "collectives/boot.h"
#include "collectives/choose.h"
#include "collectives/links/topology_text.h"
#include "collectives/transport/transport.h"
#include "config.h"
#include "dag/base/clones.h"
#include "dag/base/conf.h"
#include "dag/base/text.h"
#include "dag/codecs/codecs.h"
#include "dag/kernels/kernel.h"
#include "dag/step/codec.h"
#include "dag/step/step.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/run/run.h"
#include "dag/strategies/strategies.h"
#include "designs/design.h"
#include "designs/drive/fault.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names alone, for scripts ---- */

static const char *design_name(int i)
{
    int seen = 0;
    for (int d = 0; tutti_designs[d]; d++)
        if (!tutti_designs[d]->unsafe && seen++ == i) return tutti_designs[d]->name;
    return NULL;
}

static const char *overlapping_name(int i)
{
    int seen = 0;
    for (int d = 0; tutti_designs[d]; d++)
        if (tutti_design_overlaps(tutti_designs[d]) && seen++ == i) return tutti_designs[d]->name;
    return NULL;
}

static const char *transport_name(int i)
{
    return tutti_transports[i].name;
}

static const char *algorithm_name(int i)
{
    return tutti_algorithms[i] ? tutti_algorithms[i]->name : NULL;
}

static const char *topology_name(int i)
{
    return tutti_topology_families[i].name;
}

static const char *kernel_name(int i)
{
    const tutti_op *op = tutti_op_get(i);
    return op ? op->name : NULL;
}

static const char *model_name(int i)
{
    return tutti_models[i] ? tutti_models[i]->name : NULL;
}

static const char *format_name(int i)
{
    return tutti_image_sources[i] ? tutti_image_sources[i]->name : NULL;
}

static const char *rate_schedule_name(int i)
{
    return tutti_rate_schedules[i].name;
}

static const char *recipe_name(int i)
{
    return tutti_train_recipes[i].name;
}

static const char *strategy_name(int i)
{
    return tutti_strategies[i] ? tutti_strategies[i]->name : NULL;
}

static const char *codec_name(int i)
{
    return tutti_codecs[i] ? tutti_codecs[i]->name : NULL;
}

static const char *optimizer_name(int i)
{
    return tutti_update_rules[i] ? tutti_update_rules[i]->name : NULL;
}

static const char *runner_name(int i)
{
    return tutti_runners[i] ? tutti_runners[i]->name : NULL;
}

/* What --list accepts; overlapping: the designs that communicate while they compute. */
static const struct {
    const char *name;
    const char *(*row)(int i);
} lists[] = {{"designs", design_name}, {"overlapping", overlapping_name},
    {"transports", transport_name}, {"algorithms", algorithm_name}, {"kernels", kernel_name},
    {"models", model_name}, {"formats", format_name}, {"rate-schedules", rate_schedule_name},
    {"optimizers", optimizer_name}, {"recipes", recipe_name}, {"strategies", strategy_name},
    {"codecs", codec_name}, {"runners", runner_name}, {"topologies", topology_name}, {NULL, NULL}};

static const char *list_choice(int i)
{
    return lists[i].name;
}

static void print_list(const char *name)
{
    int wanted = 0;
    while (strcmp(lists[wanted].name, name) != 0) wanted++; /* the option accepts no other name */
    for (int i = 0; lists[wanted].row(i); i++) puts(lists[wanted].row(i));
}

typedef struct options {
    const char *list, *network, *topology, *routes, *prices, *rules;
    int64_t ranks;
} options;

static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "list", "TABLE", .choice = list_choice, .offset = offsetof(options, list),
        .help = "print only the names in one table, one per line, for scripts"},
    {TUTTI_CONF_TEXT, "network", "NAME", .offset = offsetof(options, network),
        .help =
            "print the model of this name, or in this file, as text that --model FILE.json reads"},
    {TUTTI_CONF_TEXT, "topology", "NAME", .offset = offsetof(options, topology),
        .help = "print the topology of this name, or in this file, as text"},
    {TUTTI_CONF_TEXT, "routes", "NAME", .offset = offsetof(options, routes),
        .help =
            "print over which neighbour messages take on this topology, from each host and switch"},
    {TUTTI_CONF_TEXT, "prices", "NAME", .offset = offsetof(options, prices),
        .help = "print how long collectives should take on this topology, by size and algorithm"},
    {TUTTI_CONF_TEXT, "rules", "FILE", .offset = offsetof(options, rules),
        .help = "print the rules in this file, or those that are built-in, as text"},
    {TUTTI_CONF_INT, "ranks", "P", .high = 1 << 20, .offset = offsetof(options, ranks),
        .help = "with --rules: print what they choose for that many ranks, by size, instead"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-info",
    .usage = "[OPTION]",
    .summary =
        "Prints versions, the instructions that kernels may use here, the MPI thread level that "
        "MPI "
        "grants, the GPUs of this machine and what a program lacks to use them, and this build's "
        "tables of "
        "designs, transports, algorithms, kernels, models, formats, rate schedules, optimizers, "
        "recipes, strategies, codecs, runners and topologies.",
    .settings = settings,
};

/* ---- all of it ---- */

static void print_row(const char *name, const char *about)
{
    tutti_text_print(stdout, "  %-20s %s\n", name, about);
}

static void print_versions(tutti_thread_level level)
{
    char workers[64], loops[64];
    snprintf(workers, sizeof workers, "at most %d CPU workers per process",
        tutti_run_starpu_max_workers());
    puts("versions");
    print_row("Tutti", PACKAGE_VERSION);
    print_row("task runtime", tutti_run_starpu_version());
    print_row("", workers);
    print_row("MPI", tutti_boot_version());
    print_row("", tutti_thread_level_name(level));
    print_row("kernels", tutti_kernel_library());
    print_row("", tutti_kernel_instructions());
    snprintf(loops, sizeof loops, "our own loops: %s (TUTTI_MAX_ISA)",
        tutti_isa_name(tutti_isa_chosen()));
    print_row("", loops);
    print_row("", tutti_kernel_fault(TUTTI_BF16) ? "--precision bf16 is refused on this processor"
                                                 : "--precision bf16 is possible");
    print_row("ONNX",
        tutti_architecture_lacks() ? tutti_architecture_lacks() : "--model FILE.onnx is possible");
    print_row("WebP", tutti_webp_reads()
                          ? "pictures in WebP are read"
                          : "this build has no libwebp: install libwebp-dev, and configure again");
    print_row("faults", tutti_fault_built()
                            ? "TUTTI_FAULT breaks runs on purpose, for tests"
                            : "left out (--disable-faults): TUTTI_FAULT is refused");
}

static void print_designs(void)
{
    puts("\ndesigns");
    for (int i = 0; tutti_designs[i]; i++) {
        const tutti_design *design = tutti_designs[i];
        print_row(design->name, design->summary);
        printf("  %-20s needs %s%s%s\n", "", tutti_thread_level_name(design->needed),
            design->many_lanes ? ", takes --lanes" : "", design->unsafe ? ", --unsafe" : "");
    }
    print_row("auto", "the fastest of those above for a run, found by trying, and remembered");
    printf("  %-20s needs %s\n", "", tutti_thread_level_name(TUTTI_THREAD_SERIALIZED));
}

static void print_communication(void)
{
    puts("\ntransports");
    for (int i = 0; tutti_transports[i].name; i++)
        print_row(tutti_transports[i].name, tutti_transports[i].summary);
    puts("\nalgorithms");
    for (int i = 0; tutti_algorithms[i]; i++)
        print_row(tutti_algorithms[i]->name, tutti_algorithms[i]->summary);
    puts("\ntopologies (--topology, --routes, --prices)");
    for (int i = 0; tutti_topology_families[i].name; i++) {
        print_row(tutti_topology_families[i].name, tutti_topology_families[i].summary);
        printf("  %-20s %s\n", "", tutti_topology_families[i].usage);
    }
}

static void print_kernels(void)
{
    const tutti_op *op;
    puts("\nkernels (buffers read -> written)");
    for (int i = 0; (op = tutti_op_get(i)); i++) print_row(op->name, op->buffers);
}

static void print_training(void)
{
    puts(
        "\nmodels (trainable parameters for the images and classes that each is made for; defaults "
        "of --lr for 128 images per step, --weight-decay and --label-smoothing)");
    for (int i = 0; tutti_models[i]; i++) {
        const tutti_model *m = tutti_models[i];
        char text[256];
        snprintf(text, sizeof text, "%10" PRId64 "  %4g %6g %4g  %s", m->parameters, m->recipe.rate,
            m->recipe.weight_decay, m->recipe.label_smoothing, m->summary);
        print_row(m->name, text);
    }
    puts("\nformats");
    for (int i = 0; tutti_image_sources[i]; i++)
        print_row(tutti_image_sources[i]->name, tutti_image_sources[i]->summary);
    puts("\nrate-schedules");
    for (int i = 0; tutti_rate_schedules[i].name; i++)
        print_row(tutti_rate_schedules[i].name, tutti_rate_schedules[i].summary);
    puts("\noptimizers");
    for (int i = 0; tutti_update_rules[i]; i++)
        print_row(tutti_update_rules[i]->name, tutti_update_rules[i]->summary);
    puts("\nrecipes");
    for (const tutti_train_recipe *r = tutti_train_recipes; r->name; r++) {
        print_row(r->name, r->summary);
        if (*r->source) print_row("", r->source);
    }
    puts("\nstrategies");
    for (int i = 0; tutti_strategies[i]; i++)
        print_row(tutti_strategies[i]->name, tutti_strategies[i]->summary);
    puts("\ncodecs (--compress)");
    for (int i = 0; tutti_codecs[i]; i++)
        print_row(tutti_codecs[i]->name, tutti_codecs[i]->summary);
    puts("\nrunners");
    for (int i = 0; tutti_runners[i]; i++)
        print_row(tutti_runners[i]->name, tutti_runners[i]->summary);
}

int main(int argc, char **argv)
{
    options o = {0};
    int go;
    tutti_thread_level level;
    const char *refuses_gpus;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    const int asked = !!o.topology + !!o.routes + !!o.prices + !!o.rules;
    if (o.list && (o.network || asked))
        return tutti_conf_refuse(&conf, "list", o.list, "not with another question"), 2;
    if (o.network && asked)
        return tutti_conf_refuse(&conf, "network", o.network, "not with another question"), 2;
    if (o.ranks && !o.rules) return tutti_conf_refuse(&conf, "ranks", NULL, "is for --rules"), 2;
    if (o.list) {
        print_list(o.list);
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (o.network) {
        const tutti_model *model;
        tutti_status status = tutti_architecture_open(o.network, &model);
        if (!status) status = tutti_architecture_print(model, stdout);
        if (status)
            return status == TUTTI_ERR_USAGE || status == TUTTI_ERR_FORMAT ? 2 : EXIT_FAILURE;
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (o.topology || o.routes || o.prices || o.rules) {
        tutti_status status = o.topology ? tutti_info_topology(o.topology) : TUTTI_OK;
        if (!status && o.routes) status = tutti_info_routes(o.routes);
        if (!status && o.prices) status = tutti_info_prices(o.prices);
        if (!status && o.rules) status = tutti_info_rules(o.rules, (int)o.ranks);
        if (status) return status == TUTTI_ERR_USAGE || status == TUTTI_ERR_FORMAT ? 2 : EXIT_FAILURE;
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (tutti_boot_probe(&level, &refuses_gpus)) return EXIT_FAILURE;
    print_versions(level);
    tutti_info_gpu(print_row, refuses_gpus);
    print_designs();
    print_communication();
    print_kernels();
    print_training();
    return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
