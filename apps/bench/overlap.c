#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/share.h"
#include "apps/bench/world.h"
#include "apps/session/session.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/kernel.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 128, MOST_BLOCKS = 1000, MOST_NODES = 20000, TRIAL_NODES = 50 };

typedef struct options {
    const char *design, *algorithm, *topology, *json, *csv;
    tutti_conf_real link_mbit;
    int64_t from, to, factor, blocks;
    double timeout_s;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    TUTTI_SETTING_DESIGN(AT(design)),
    TUTTI_SETTING_ALGORITHM(AT(algorithm)),
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    TUTTI_BENCH_SETTINGS_SIZES("65536", "16777216", options),
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "9", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "how often everything is timed, in turns"},
    TUTTI_BENCH_SETTINGS_RUN("120", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench overlap",
    .usage = "[OPTION]...",
    .summary = "Times one allreduce, about as much computation (matrix products on one worker), "
               "and both together, over all ranks (tutti-run -n P tutti-bench overlap ...). "
               "Overlap is the part of the shorter one that is hidden behind the longer one.",
    .settings = settings,
};

/* What is timed: one section of the graph each. */
enum { COMPUTE, COMMUNICATE, BOTH, SECTIONS };
static const char *const titles[SECTIONS] = {"compute", "communicate", "both"};

typedef struct bench {
    options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    tutti_training_session session;
    int section[SECTIONS];
    int nodes; /* products in a section, at the current size */
    double took_s[SECTIONS][MOST_BLOCKS];
} bench;

static tutti_status add_tensor(
    tutti_graph *graph, const char *name, tutti_shape shape, tutti_role role, int *tensor)
{
    return tutti_graph_tensor(graph, name, role, TUTTI_F32, shape, tensor);
}

/* One section: the mark first, as after a backward pass, then the products. */
static tutti_status add_section(
    tutti_graph *graph, int which, int nodes, int sum, const int operand[3], int *section)
{
    const tutti_dense_desc desc = {.N = SIDE, .C = SIDE, .K = SIDE};
    const tutti_access access[] = {
        {operand[0], TUTTI_READ}, {operand[1], TUTTI_READ}, {operand[2], TUTTI_WRITE}};
    int node;
    tutti_status status = tutti_graph_section(graph, titles[which], section);
    if (!status && which != COMPUTE)
        status = tutti_graph_mark(graph, &(tutti_mark){.tensor = sum}, &node);
    for (int i = 0; i < nodes && which != COMMUNICATE && !status; i++)
        status = tutti_graph_kernel(
            graph, "product", &tutti_op_dense, &desc, sizeof desc, 3, access, &node);
    return status;
}

static tutti_status add_sections(
    tutti_graph *graph, int64_t count, int nodes, int section[SECTIONS])
{
    static const char *const names[] = {"x", "w", "y"};
    int sum, operand[3];
    tutti_status status =
        add_tensor(graph, "sum", tutti_shape_of(count), TUTTI_ROLE_GRADIENT, &sum);
    for (int i = 0; i < 3 && !status; i++)
        status = add_tensor(
            graph, names[i], tutti_shape_of(SIDE, SIDE), TUTTI_ROLE_SCRATCH, &operand[i]);
    for (int s = 0; s < SECTIONS && !status; s++)
        status = add_section(graph, s, nodes, sum, operand, &section[s]);
    return status;
}

/* Sections of this many elements and products, ready to run. */
static tutti_status start_session(bench *b, int64_t count, int nodes)
{
    const tutti_training_session_options how = {.workers = 1,
        .exchange = {.design = tutti_design_find(b->o.design),
            .algorithm = b->o.algorithm,
            .topology = b->o.topology,
            .link_mbit = tutti_conf_real_or(b->o.link_mbit, 0),
            .timeout_s = b->o.timeout_s},
        .comm = b->world.boot.comm};
    tutti_status status = tutti_training_session_open(&how, &b->session);
    if (!status) status = tutti_training_session_blank(&b->session);
    if (!status) status = add_sections(b->session.graph, count, nodes, b->section);
    if (!status) status = tutti_training_session_apply(&b->session);
    return status ? status : tutti_training_session_start(&b->session);
}

/* Seconds for a section on the slowest rank. */
static tutti_status time_section(bench *b, int which, double *seconds)
{
    tutti_training_session *s = &b->session;
    tutti_status status = tutti_exchange_agree(s->exchange, TUTTI_OK, NULL);
    double begun = tutti_clock_s();
    if (!status) status = s->runner->submit(s->run, b->section[which]);
    if (!status) status = s->runner->wait(s->run, 0, s->runner->point(s->run), b->o.timeout_s);
    *seconds = tutti_clock_s() - begun;
    if (status) return status;
    return tutti_exchange_call(s->exchange, "the slowest time",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_MAX,
            .count = 1,
            .recv = seconds});
}

/* Plans as many products as take about as long as the allreduce. */
static tutti_status plan(bench *b, int64_t count)
{
    double compute = 1, communicate = 1;
    tutti_status status = start_session(b, count, TRIAL_NODES);
    for (int warm = 0; warm < 3 && !status; warm++) {
        status = time_section(b, COMPUTE, &compute);
        if (!status) status = time_section(b, COMMUNICATE, &communicate);
    }
    if (!status) status = tutti_training_session_close(&b->session);
    if (status) return status;
    double nodes = TRIAL_NODES * communicate / compute;
    b->nodes = nodes < 1 ? 1 : nodes > MOST_NODES ? MOST_NODES : (int)nodes;
    return TUTTI_OK; /* times are the slowest rank's, so all ranks plan the same */
}

static tutti_status measure(bench *b, int64_t count)
{
    double ignored;
    tutti_status status = plan(b, count);
    if (!status) status = start_session(b, count, b->nodes);
    for (int s = 0; s < SECTIONS && !status; s++) status = time_section(b, s, &ignored);
    for (int64_t block = 0; block < b->o.blocks && !status; block++)
        for (int s = 0; s < SECTIONS && !status; s++)
            status = time_section(b, s, &b->took_s[s][block]);
    if (!status) status = tutti_training_session_close(&b->session);
    return status;
}

static void report_size(bench *b, int64_t bytes)
{
    double part[MOST_BLOCKS], ms[SECTIONS];
    for (int64_t k = 0; k < b->o.blocks; k++) {
        double compute = b->took_s[COMPUTE][k], communicate = b->took_s[COMMUNICATE][k];
        part[k] = (compute + communicate - b->took_s[BOTH][k]) /
                  (compute < communicate ? compute : communicate);
    }
    json_t *samples = tutti_result_samples(b->o.blocks, b->took_s[BOTH], 1e3);
    for (int s = 0; s < SECTIONS; s++) ms[s] = 1e3 * tutti_median((int)b->o.blocks, b->took_s[s]);
    double error = tutti_share_error(b->o.blocks, part);
    double hidden = tutti_share_of(tutti_median((int)b->o.blocks, part), error);
    char text[16];
    printf("%10" PRId64 " %12.3f %12.3f %12.3f %10s\n", bytes, ms[COMPUTE], ms[COMMUNICATE],
        ms[BOTH], tutti_share_text(hidden, text));
    fflush(stdout);
    tutti_result_event(b->result,
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:o, s:o, s:s, s:I, s:s, s:o}", "event",
            "overlap", "design", b->o.design, "algorithm", b->o.algorithm, "ranks",
            b->world.boot.size, "bytes", (json_int_t)bytes, "compute_ms", ms[COMPUTE],
            "communicate_ms", ms[COMMUNICATE], "both_ms", ms[BOTH], "hidden",
            tutti_share_json(hidden), "hidden_error", tutti_share_json(error), "ratio",
            "median of paired ratios", "count", (json_int_t)b->o.blocks, "unit", "ms", "samples",
            samples));
}

static tutti_status measure_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    if (b->world.boot.rank == 0) status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    if (!status && b->result)
        printf("%s, %s, %d ranks, medians of %" PRId64 " times\n%10s %12s %12s %12s %10s\n",
            b->o.design, b->o.algorithm, b->world.boot.size, b->o.blocks, "bytes", "compute ms",
            "comm ms", "both ms", "overlap");
    for (int64_t bytes = b->o.from / 4 * 4; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        status = measure(b, bytes / 4);
        if (!status && b->result) report_size(b, bytes);
    }
    return status;
}

static tutti_status run(int argc, char **argv)
{
    static bench all; /* too large for the stack */
    bench *b = &all;
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b->o, &go);
    if (!go) return status;
    if (b->o.from > b->o.to) return tutti_conf_refuse(&conf, "from", NULL, "is above --to");
    status = tutti_world_open(b->o.timeout_s, &b->world);
    if (status) return status;
    status = b->world.boot.size > 1 ? measure_all(b)
                                    : tutti_fail(TUTTI_ERR_USAGE,
                                          "one rank has nothing to sum: tutti-run -n 2 or more");
    tutti_status closed = tutti_result_close(b->result);
    if (!status) status = closed;
    tutti_world_close(&b->world, status);
    return status;
}

const tutti_bench tutti_bench_overlap = {
    "overlap", "an allreduce and computation, alone and together", run};
