#include "apps/train/options.h"

#include "apps/architecture/architecture.h"
#include "apps/train/config_file.h"
#include "designs/elastic/elastic_start.h"
#include "config.h"
#include "dag/codecs/codecs.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/strategies.h"
#include "designs/exchange/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_setting *find_setting(tutti_train_options *o, const char *name)
{
    for (tutti_setting *s = o->setting; s->kind != TUTTI_CONF_END; s++)
        if (s->name && strcmp(s->name, name) == 0) return s;
    return NULL;
}

static void set_defaults(
    tutti_train_options *o, const tutti_train_default defaults[], const char *source)
{
    for (const tutti_train_default *d = defaults; d->option; d++) {
        tutti_setting *setting = find_setting(o, d->option);
        setting->fallback = d->value;
        setting->source = source;
    }
}

/* Likewise of words "--batch=64", which this cuts. */
static void set_config(tutti_train_options *o, char **words, const char *source)
{
    for (; words && *words; words++) {
        (*words)[strcspn(*words, "=")] = '\0'; /* the first time */
        tutti_setting *setting = find_setting(o, *words + 2);
        setting->fallback = *words + strlen(*words) + 1;
        setting->source = source;
        setting->flags &= ~TUTTI_CONF_REQUIRED;
    }
}

/* The table as this program has it. */
static void adapt(tutti_train_options *o, const tutti_train_program *program)
{
    o->program = program;
    o->conf = (tutti_conf){.program = program->name,
        .usage = "--data DIR [OPTION]...",
        .summary = program->summary,
        .epilogue = program->epilogue,
        .version = PACKAGE_VERSION,
        .settings = o->setting,
        .brief = tutti_train_brief};
    memcpy(o->setting, tutti_train_settings, sizeof o->setting);
    find_setting(o, "model")->choice = program->model;
    find_setting(o, "format")->choice = program->format;
    find_setting(o, "recipe")->choice = program->recipe;
    set_defaults(o, program->defaults, NULL);
}

static void read_strategy(tutti_train_options *o)
{
    const char *role = getenv("TUTTI_KV_ROLE");
    if (strcmp(o->strategy_name, "auto") != 0 &&
        !tutti_strategy_read(o->strategy_name, &o->strategy, &o->strategy_settings,
            o->strategy_fault, sizeof o->strategy_fault))
        o->strategy = NULL;
    o->jobs = role && *role;
    o->stored = o->jobs || (o->strategy && o->strategy->pushes);
    /* With a store it may have fewer parameters. */
    const tutti_strategy *stored =
        o->jobs && o->strategy ? tutti_strategy_with_store(o->strategy) : NULL;
    tutti_strategy_print(stored ? stored : o->strategy, &o->strategy_settings, o->strategy_text);
    if (o->strategy && o->strategy->alone) o->priority = o->priority_free = 0;
}

/* --compress bf16 and --wire bf16 are one setting. */
static void read_compress(tutti_train_options *o)
{
    o->wire = tutti_setting_wire_dtype(o->wire_name);
    if (o->compress_name && tutti_codec_read(o->compress_name, &o->codec, &o->codec_value,
                                o->compress_fault, sizeof o->compress_fault)) {
        if (o->wire != TUTTI_F32 && o->wire != o->codec->wire)
            snprintf(o->compress_fault, sizeof o->compress_fault,
                "and --wire %s both say how gradients travel: leave out --wire", o->wire_name);
        o->wire = o->codec->wire;
        o->wire_name = o->wire == TUTTI_F32 ? "f32" : o->codec->name;
    }
    if (!o->codec && o->wire != TUTTI_F32)
        snprintf(o->compress_text, sizeof o->compress_text, "%s", o->wire_name);
    else
        tutti_codec_print(o->codec, o->codec_value, o->compress_text);
}

static void read_layout(tutti_train_options *o)
{
    tutti_layout *l = &o->layout;
    o->layout_fault = o->layout_text ? tutti_layout_read(o->layout_text, l) : NULL;
    if (o->layout_fault) l->placement = (tutti_placement){0};
    o->layers_read = tutti_layout_read_layers(o->stage_layers, l);
    l->order = tutti_pipeline_order_of(o->pipeline_name);
    l->micro_batches = (int)tutti_conf_int_or(o->micro_batches, 0);
    if (tutti_placement_is_divided(&l->placement)) o->priority = o->priority_free = 0;
}

/* A mistake in a file that an option names is one in the options. */
static tutti_status read_model(tutti_train_options *o)
{
    tutti_status status = tutti_architecture_open(o->model_name, &o->model);
    return status == TUTTI_ERR_FORMAT ? TUTTI_ERR_USAGE : status;
}

tutti_status tutti_train_options_parse(const tutti_train_program *program, int argc,
    char *const argv[], tutti_train_options *options, tutti_conf_wish *wish)
{
    *options = (tutti_train_options){0};
    adapt(options, program);
    const char *file = tutti_train_config_find(argc, argv);
    char **config = NULL;
    tutti_status status = file ? tutti_train_config_read(options, file, &config) : TUTTI_OK;
    snprintf(
        options->config_source, sizeof options->config_source, "config %.200s", file ? file : "");
    set_config(options, config, options->config_source);
    const tutti_status read = tutti_conf_parse(&options->conf, argc, argv, options, NULL, wish);
    if (!status) status = read;
    options->recipe = tutti_train_recipe_find(options->recipe_name);
    if (!status && options->recipe->defaults->option) { /* once more, with its defaults */
        snprintf(options->source, sizeof options->source, "recipe %s", options->recipe_name);
        set_defaults(options, options->recipe->defaults, options->source);
        set_config(options, config, options->config_source);
        status = tutti_conf_parse(&options->conf, argc, argv, options, NULL, wish);
    }
    options->words = argv;
    options->check_only |= options->remote_buffers;
    options->design_auto = strcmp(options->design_name, "auto") == 0;
    options->design = tutti_design_find(!options->design_auto ? options->design_name
                                        : tutti_conf_int_or(options->lanes, 1) > 1 ? "concurrent"
                                                                                   : "funneled");
    options->optimizer = tutti_update_rule_find(options->optimizer_name);
    options->rate_schedule = tutti_rate_schedule_find(options->rate_schedule_name);
    options->milestones = tutti_rate_schedule_read(options->milestones_text, options->milestone);
    options->priority = strcmp(options->priority_name, "off") != 0;
    options->priority_free = strcmp(options->priority_name, "auto") == 0;
    read_layout(options);
    read_strategy(options);
    options->elastic = tutti_elastic_start_asked() != NULL;
    options->batch_global = strcmp(options->batch_rule_name, "global") == 0;
    options->verify = tutti_verify_mode_find(options->verify_name);
    read_compress(options);
    options->augment = tutti_augment_find(options->images.augment);
    if (options->images.split &&
        !tutti_held_out_read(options->images.split, &options->held_out, &options->held_out_seed))
        options->held_out = -1;
    options->rand_augment_read =
        tutti_rand_augment_read(options->images.rand_augment, &options->rand_augment);
    options->jitter_read = tutti_jitter_read(options->images.jitter, &options->jitter);
    if (!tutti_shuffle_read(options->images.shuffle, &options->window)) options->window = -1;
    options->views = (int)tutti_conf_int_or(options->eval_views, options->augment ? 2 : 1);
    if (status) options->comm_core = NULL; /* an exchange might refuse it */
    if (status || wish->what != TUTTI_CONF_RUN) return status;
    status = read_model(options);
    if (!status) status = tutti_train_options_check(options);
    if (status) {
        options->lanes = (tutti_conf_int){.word = TUTTI_CONF_AUTO};
        options->unsafe = 1;
        options->comm_core = NULL;
        options->stall_warn_s = options->stall_dump_s = options->stall_abort_s = 0;
    }
    return status;
}
