/* tutti-trees: packs spanning trees in the links of a topology. See tutti-trees(1). */
#include "apps/trees/fewest.h"
#include "apps/trees/msccl.h"
#include "apps/trees/predict.h"
#include "collectives/links/topology_text.h"
#include "collectives/sched/match.h"
#include "collectives/trees/forest_text.h"
#include "collectives/trees/network.h"
#include "collectives/trees/rings.h"
#include "collectives/trees/trees.h"
#include "collectives/trees/weigh.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *topology, *output, *check, *msccl;
    tutti_conf_int root;
    int allreduce, routes, fewest;
    double eps;
} options;

static const tutti_setting settings[] = {
    {TUTTI_CONF_TEXT, "topology", "TOPOLOGY", .flags = TUTTI_CONF_OPERAND | TUTTI_CONF_REQUIRED,
        .offset = offsetof(options, topology),
        .help = "the name of a family, or of a file (tutti-topology(5))"},
    {TUTTI_CONF_INT_OR, "root", "RANK", .fallback = "best", .high = 1 << 20, .words = {"best"},
        .offset = offsetof(options, root),
        .help = "where trees begin; best: where they are shallowest"},
    {TUTTI_CONF_FLAG, "allreduce", NULL, .offset = offsetof(options, allreduce),
        .help = "trees that carry sums up and results down; otherwise broadcasts"},
    {TUTTI_CONF_FLAG, "routes", NULL, .offset = offsetof(options, routes),
        .help = "along the routes of messages, over all networks at once; otherwise along the "
                "cables between ranks, where these connect them"},
    {TUTTI_CONF_REAL, "eps", "E", .fallback = "0", .high = 0.5, .offset = offsetof(options, eps),
        .help = "how far from the bound, as a share, trees with weights may stay; 0: exact"},
    {TUTTI_CONF_FLAG, "fewest", NULL, .offset = offsetof(options, fewest),
        .help = "leave out trees while the others carry 95 % of what all do"},
    {TUTTI_CONF_TEXT, "output", "FILE", .offset = offsetof(options, output),
        .help = "write the forest, for --algorithm forest:FILE"},
    {TUTTI_CONF_TEXT, "check", "FILE", .offset = offsetof(options, check),
        .help = "pack no trees: check those in FILE, and say how good they are"},
    {TUTTI_CONF_TEXT, "msccl", "FILE", .offset = offsetof(options, msccl),
        .help = "prove an algorithm of MSCCL, in XML, and print its times beside the trees'"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-trees",
    .usage = "TOPOLOGY [OPTION]...",
    .summary =
        "Packs spanning trees in the links of a topology, along which broadcasts, reduces and "
        "allreduces use all of them, and says how long these should take beside the best rings.",
    .settings = settings,
};

static void print_trees(const tutti_forest *f)
{
    printf("%6s %6s %12s %6s\n", "tree", "root", "GB/s", "depth");
    for (int t = 0; t < f->trees; t++) {
        int root = tutti_tree_root(f->tree[t].parent);
        printf("%6d %6d %12.3f %6d\n", t, root, f->tree[t].weight / 1e9, tutti_tree_depth(f, t));
    }
}

/* The times of one kind and size, along the trees and round the rings. */
static tutti_status print_time(const tutti_topology *t, tutti_coll_kind kind, const char *size,
    int64_t bytes, const tutti_forest *f, const tutti_forest *rings)
{
    tutti_sched_price price = {.time_s = 0};
    int64_t segment;
    double ring_s = 0;
    tutti_status status = tutti_predict_forest(t, kind, f, bytes / 4, &price, &segment);
    if (!status && rings->trees) status = tutti_predict_rings(t, kind, rings, bytes / 4, &ring_s);
    if (status) return status;
    printf("%-10s %8s %12.4f", tutti_coll_kind_name(kind), size, 1e3 * price.time_s);
    if (rings->trees)
        printf(" %12.4f %10.2f", 1e3 * ring_s, ring_s / price.time_s);
    else
        printf(" %12s %10s", "-", "-");
    printf(" %9" PRId64 " KiB\n", segment * 4 / 1024);
    return TUTTI_OK;
}

static tutti_status print_times(const tutti_topology *t, const tutti_forest *f)
{
    static const struct {
        tutti_coll_kind kind;
        const char *size;
        int64_t bytes;
    } row[] = {{TUTTI_ALLREDUCE, "64 KiB", 64 << 10}, {TUTTI_ALLREDUCE, "64 MB", 64000000},
        {TUTTI_BROADCAST, "64 KiB", 64 << 10}, {TUTTI_BROADCAST, "64 MB", 64000000}};
    tutti_forest *rings;
    tutti_status status = tutti_best_rings_of(t, tutti_tree_root(f->tree[0].parent), &rings);
    if (status) return status;
    printf("best rings: %d, of %g GB/s in all\n", rings->trees, tutti_forest_rate(rings) / 1e9);
    printf("%-10s %8s %12s %12s %10s %13s\n", "", "", "trees, ms", "rings, ms", "rings/trees",
        "segments");
    for (size_t i = 0; !status && i < sizeof row / sizeof *row; i++)
        status = print_time(t, row[i].kind, row[i].size, row[i].bytes, f, rings);
    tutti_forest_free(rings);
    return status;
}

static tutti_status write_forest(const char *path, const tutti_topology *t, const tutti_forest *f)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t hash;
    FILE *out = open_memstream(&text, &size);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a forest");
    tutti_status status = tutti_topology_hash(t, &hash);
    if (!status) status = tutti_forest_print(f, hash, out);
    if (fclose(out) && !status) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a forest");
    const tutti_file_options file = {.what = "forest", .path = path};
    if (!status) status = tutti_file_put(&file, text, size);
    free(text);
    return status;
}

static tutti_status refuse_number(const char *name, double value, const char *reason)
{
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    return tutti_conf_refuse(&conf, name, text, reason);
}

static tutti_status pack(const options *o, const tutti_topology *t, tutti_forest **f)
{
    const tutti_trees_options wanted = {.root = o->root.word ? -1 : (int)o->root.value,
        .allreduce = o->allreduce,
        .routes = o->routes,
        .eps = o->eps,
        .fewest = o->fewest ? tutti_fewest : NULL};
    tutti_trees_report report;
    tutti_status status = tutti_trees_of(t, &wanted, f, &report);
    if (status) return status;
    if (report.rootless && !o->root.word)
        return refuse_number("root", (double)o->root.value,
            "for allreduces at a switch, each rank is the root of a tree: leave it out");
    printf("%d ranks; %s; %s\n", t->ranks, o->allreduce ? "for allreduces" : "for broadcasts",
        report.way);
    if (o->fewest && report.weighted && tutti_fewest_lacks())
        printf("fewest greedily: %s\n", tutti_fewest_lacks());
    printf("bound %g GB/s, rate %g GB/s, %d trees\n", report.bound / 1e9, report.rate / 1e9,
        (*f)->trees);
    return TUTTI_OK;
}

/* The options that say how trees are packed. */
static tutti_status check_alone(const options *o)
{
    static const char reason[] = "--check packs no trees: leave it out";
    if (!o->root.word) return refuse_number("root", (double)o->root.value, reason);
    if (o->eps > 0) return refuse_number("eps", o->eps, reason);
    const char *flag = o->allreduce ? "allreduce"
                       : o->routes  ? "routes"
                       : o->fewest  ? "fewest"
                                    : NULL;
    return flag ? tutti_conf_refuse(&conf, flag, NULL, reason) : TUTTI_OK;
}

static tutti_status check(const options *o, const tutti_topology *t, tutti_forest **f)
{
    uint64_t hash;
    tutti_status status = check_alone(o);
    if (!status) status = tutti_forest_open(o->check, t, f, &hash);
    if (status) return status;
    printf("%d ranks; %s: right\n", t->ranks, o->check);
    printf("rate %g GB/s, %d trees\n", tutti_forest_rate(*f) / 1e9, (*f)->trees);
    return TUTTI_OK;
}

/* The time of an algorithm of MSCCL, with whole chunks. */
static tutti_status time_msccl(
    const tutti_topology *t, const tutti_msccl *m, int64_t bytes, double *time_s)
{
    int gpus = tutti_msccl_gpus(m);
    int64_t chunk = bytes / 4 / tutti_msccl_chunks(m);
    tutti_sched_price price = {.time_s = 0};
    tutti_sched **ranks = calloc((size_t)gpus, sizeof *ranks);
    if (!ranks) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for schedules");
    tutti_status status = tutti_msccl_build(m, chunk ? chunk : 1, ranks);
    /* With one element for a chunk, a proof is short; schedules have the same steps. */
    if (!status && !bytes) status = tutti_sched_match((const tutti_sched *const *)ranks, gpus);
    if (!status)
        status = tutti_sched_price_of((const tutti_sched *const *)ranks, gpus, 4, 4, t, &price);
    for (int g = 0; g < gpus; g++) tutti_sched_free(ranks[g]);
    free(ranks);
    *time_s = price.time_s;
    return status;
}

static tutti_status print_msccl(const options *o, const tutti_topology *t)
{
    double proof_s, short_s = 0, long_s = 0;
    tutti_msccl *m = NULL;
    tutti_lines lines;
    tutti_status status = tutti_lines_open(o->msccl, &lines);
    if (status) return status == TUTTI_ERR_IO ? TUTTI_ERR_USAGE : status;
    status = tutti_msccl_read(&lines, &m);
    tutti_lines_close(&lines);
    if (!status && tutti_msccl_gpus(m) != t->ranks)
        status = tutti_fail(TUTTI_ERR_USAGE, "%s: it is for %d GPUs, and %s has %d ranks", o->msccl,
            tutti_msccl_gpus(m), o->topology, t->ranks);
    if (!status) status = time_msccl(t, m, 0, &proof_s);
    if (!status) status = time_msccl(t, m, 64 << 10, &short_s);
    if (!status) status = time_msccl(t, m, 64000000, &long_s);
    if (!status)
        printf("%s: a right allreduce of %d GPUs; 64 KiB %.4f ms, 64 MB %.4f ms\n", o->msccl,
            t->ranks, 1e3 * short_s, 1e3 * long_s);
    tutti_msccl_free(m);
    return status;
}

int main(int argc, char **argv)
{
    options o = {0};
    int go;
    tutti_topology *t = NULL;
    tutti_forest *f = NULL;
    if (tutti_conf_start(&conf, argc, argv, &o, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    tutti_status status = tutti_topology_open(o.topology, &t);
    if (!status) status = o.check ? check(&o, t, &f) : pack(&o, t, &f);
    if (!status) print_trees(f);
    if (!status && t->ranks > 1) status = print_times(t, f);
    if (!status && o.msccl) status = print_msccl(&o, t);
    if (!status && o.output) status = write_forest(o.output, t, f);
    tutti_forest_free(f);
    tutti_topology_free(t);
    int wrong = status == TUTTI_ERR_USAGE || status == TUTTI_ERR_FORMAT ||
                status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_UNSUPPORTED;
    if (status) return wrong ? 2 : EXIT_FAILURE;
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
