#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/timeslices.h"
#include "apps/bench/world.h"
#include "collectives/choose.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/cpus.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 256, LARGE = 256 << 10 /* elements of 4 bytes */ };

typedef struct options {
    const char *comm_core, *json, *csv;
    int64_t blocks, calls, steps, workers;
    double idle_s, step_ms, timeout_s;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = 1000, AT(blocks),
        .help = "number of blocks, in turns"},
    {TUTTI_CONF_INT, "calls", "N", .fallback = "400", .low = 10, .high = 1000, AT(calls),
        .help = "allreduces of 1 KiB per block"},
    {TUTTI_CONF_REAL, "idle-s", "S", .fallback = "2", .low = 0.1, .high = 1000, AT(idle_s),
        .help = "seconds during which there is nothing to do"},
    {TUTTI_CONF_REAL, "step-ms", "MS", .fallback = "10", .low = 0.1, .high = 10000, AT(step_ms),
        .help = "milliseconds of computation per step"},
    {TUTTI_CONF_INT, "steps", "N", .fallback = "20", .low = 1, .high = 10000, AT(steps),
        .help = "steps per block"},
    TUTTI_SETTING_WORKERS(AT(workers)),
    TUTTI_SETTING_COMM_CORE(AT(comm_core)),
    TUTTI_BENCH_SETTINGS_RUN("120", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench interference",
    .usage = "[OPTION]...",
    .summary = "Measures how Tutti behaves on cores that it shares (tutti-run -n P tutti-bench "
               "interference ...): the processor time of idle threads, the time of a small "
               "allreduce, alone and compared with MPI's own, whether idle workers slow it down, "
               "and whether ranks share cores fairly. Compares each number with a limit.",
    .settings = settings,
};

typedef struct bench {
    options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    tutti_training_session session;
    float *data; /* [LARGE] */
} bench;

/* Reports one number with its limit, and the values that it is of, whose reference it takes over. */
static void report_number(
    bench *b, const char *name, const char *unit, double value, double limit, json_t *samples)
{
    if (!b->result) {
        json_decref(samples);
        return;
    }
    int keeps = value <= limit;
    printf(
        "%-52s %9.3f %-4s at most %7.3f  %s\n", name, value, unit, limit, keeps ? "ok" : "MISSES");
    fflush(stdout);
    tutti_result_event(b->result,
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:b, s:i, s:i, s:o}", "event", "interference", "name",
            name, "unit", unit, "value", value, "limit", limit, "ok", keeps, "ranks",
            b->world.boot.size, "count", (int)json_array_size(samples), "samples", samples));
}

/* One of all blocks at once, or of none. */
static void report_single(bench *b, const char *name, const char *unit, double value, double limit)
{
    report_number(b, name, unit, value, limit, tutti_result_samples(1, &value, 1));
}

/* The median over blocks, which it sorts. */
static void report_blocks(
    bench *b, const char *name, const char *unit, double values[], double limit)
{
    json_t *samples = tutti_result_samples(b->o.blocks, values, 1);
    report_number(b, name, unit, tutti_median((int)b->o.blocks, values), limit, samples);
}

static tutti_coll_args sum_of(bench *b, int64_t count)
{
    return (tutti_coll_args){.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = count,
        .recv = b->data};
}

static void fill_data(bench *b, int64_t count, float value)
{
    for (int64_t i = 0; i < count; i++) b->data[i] = value;
}

static tutti_status check_sum(const bench *b, int64_t count)
{
    float expected = (float)(b->world.boot.size * (b->world.boot.size + 1)) / 2;
    for (int64_t i = 0; i < count; i++)
        if (b->data[i] != expected)
            return tutti_fail(TUTTI_ERR_INTERNAL, "element %" PRId64 " of a sum is %g, not %g", i,
                (double)b->data[i], (double)expected);
    return TUTTI_OK;
}

/* The maximum over all ranks, through the exchange. */
static tutti_status worst(bench *b, double *value)
{
    return tutti_exchange_call(b->session.exchange, "the slowest time",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_MAX,
            .count = 1,
            .recv = value});
}

/* ---- the engine beside MPI's own collective ---- */

typedef struct contestant {
    const char *algorithm; /* NULL: MPI_Allreduce, without a communicator of ours */
    tutti_comm *comm;
    double *block_s; /* [blocks] seconds of one allreduce */
} contestant;

static tutti_status run_once(bench *b, const contestant *c)
{
    tutti_coll_request *request = NULL;
    tutti_coll_args args = sum_of(b, SMALL);
    if (!c->algorithm) return tutti_boot_sum(&b->world.boot, b->data, SMALL);
    tutti_status status = tutti_coll_post(c->comm, 0, &args, &request);
    if (!status) status = tutti_world_spin(c->comm, request, b->o.timeout_s);
    tutti_coll_free(request);
    return status;
}

static tutti_status enter(bench *b, contestant *c)
{
    const tutti_comm_options with = {.algorithm = c->algorithm};
    tutti_transport *transport;
    c->block_s = calloc((size_t)b->o.blocks, sizeof *c->block_s);
    if (!c->block_s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    tutti_status status = TUTTI_OK;
    if (c->algorithm) status = tutti_transport_mpi(b->world.boot.comm, 1, &transport);
    if (c->algorithm && !status) status = tutti_comm_new(transport, &with, &c->comm);
    fill_data(b, SMALL, (float)(b->world.boot.rank + 1));
    if (!status) status = run_once(b, c);
    if (!status) status = check_sum(b, SMALL);
    fill_data(b, SMALL, 0); /* sums of sums stay zero */
    return status;
}

static tutti_status time_block(bench *b, contestant *c, int64_t block)
{
    tutti_status status = tutti_world_barrier(&b->world);
    double begun = tutti_clock_s();
    for (int64_t i = 0; i < b->o.calls && !status; i++) status = run_once(b, c);
    c->block_s[block] = (tutti_clock_s() - begun) / (double)b->o.calls;
    return status ? status : tutti_world_max(&b->world, 1, &c->block_s[block]);
}

static tutti_status judge_engine(bench *b)
{
    contestant side[] = {{.algorithm = NULL}, {.algorithm = "auto"}};
    double *beyond = calloc((size_t)b->o.blocks, sizeof *beyond);
    tutti_status status = beyond ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    for (int s = 0; s < 2 && !status; s++) status = enter(b, &side[s]);
    for (int s = 0; s < 2 && !status; s++) status = time_block(b, &side[s], 0);
    for (int64_t block = 0; block < b->o.blocks && !status; block++) {
        for (int s = 0; s < 2 && !status; s++) status = time_block(b, &side[s], block);
        beyond[block] = 1e6 * (side[1].block_s[block] - side[0].block_s[block]);
    }
    if (!status) report_blocks(b, "1 KiB allreduce, polled, beyond MPI's own", "us", beyond, 3);
    for (int s = 0; s < 2; s++) {
        tutti_comm_free(side[s].comm);
        free(side[s].block_s);
    }
    free(beyond);
    return status;
}

/* ---- an exchange with nothing to do ---- */

static tutti_status judge_idle(bench *b)
{
    double used = tutti_exchange_comm_cpu_s(b->session.exchange), begun = tutti_clock_s();
    tutti_clock_sleep(b->o.idle_s);
    used = tutti_exchange_comm_cpu_s(b->session.exchange) - used;
    used = 100 * used / (tutti_clock_s() - begun);
    tutti_status status = worst(b, &used);
    if (!status) report_single(b, "idle communication thread, of a core", "%", used, 2);
    return status;
}

/* ---- calls, with and without idle workers ---- */

typedef struct calls {
    double *small_s, *large_s; /* per call; per block */
    int64_t smalls, larges;
} calls;

static tutti_status time_call(bench *b, int64_t count, double *seconds)
{
    tutti_coll_args args = sum_of(b, count);
    double begun = tutti_clock_s();
    tutti_status status = tutti_exchange_call(b->session.exchange, "a timed sum", &args);
    *seconds = tutti_clock_s() - begun;
    return status;
}

static tutti_status time_calls(bench *b, calls *c)
{
    enum { LARGE_CALLS = 10 };
    tutti_status status = tutti_exchange_agree(b->session.exchange, TUTTI_OK, NULL);
    for (int64_t i = 0; i < b->o.calls && !status; i++)
        status = time_call(b, SMALL, &c->small_s[c->smalls++]);
    for (int i = 0; i < LARGE_CALLS && !status; i++)
        status = time_call(b, LARGE, &c->large_s[c->larges++]);
    return status;
}

/* The quantile of the samples at `share`, on the worst rank. */
static tutti_status quantile(bench *b, double samples[], int64_t n, double share, double *value)
{
    qsort(samples, (size_t)n, sizeof *samples, tutti_compare_doubles);
    *value = samples[(int64_t)(share * (double)(n - 1))];
    return worst(b, value);
}

static tutti_status open_calls(const bench *b, calls *c)
{
    size_t n = (size_t)(b->o.blocks * b->o.calls);
    *c = (calls){.small_s = calloc(n, sizeof(double)), .large_s = calloc(n, sizeof(double))};
    return c->small_s && c->large_s ? TUTTI_OK
                                    : tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
}

/* Blocks without and with workers, in turns. After threads start or end, the scheduler moves threads
 * for a while, which is not to be measured. */
static const double settling_s = 0.1;
static tutti_status time_both(bench *b, calls *bare, calls *beside)
{
    tutti_status status = TUTTI_OK;
    for (int64_t block = 0; block < b->o.blocks && !status; block++) {
        tutti_timeslices timeslices;
        tutti_clock_sleep(settling_s);
        status = time_calls(b, bare);
        if (!status) status = tutti_timeslices_start(&b->session, 1, &timeslices);
        if (!status) tutti_clock_sleep(settling_s);
        if (!status) status = time_calls(b, beside);
        if (!status) tutti_training_session_clear(&b->session);
    }
    return status;
}

static tutti_status report_calls(bench *b, calls *bare, calls *beside)
{
    double p50, p99, small, large, large_beside;
    tutti_status status = quantile(b, bare->small_s, bare->smalls, 0.5, &p50);
    if (!status) status = quantile(b, bare->small_s, bare->smalls, 0.99, &p99);
    if (!status) status = quantile(b, beside->small_s, beside->smalls, 0.5, &small);
    if (!status) status = quantile(b, bare->large_s, bare->larges, 0.5, &large);
    if (!status) status = quantile(b, beside->large_s, beside->larges, 0.5, &large_beside);
    if (status) return status;
    report_single(b, "1 KiB allreduce through the thread, median", "ms", 1e3 * p50, 1);
    report_single(b, "1 KiB allreduce through the thread, 99 %", "ms", 1e3 * p99, 1);
    report_single(b, "1 KiB allreduce, with idle workers / without", "", small / p50, 1.1);
    report_single(b, "1 MiB allreduce, with idle workers / without", "", large_beside / large, 1.1);
    return TUTTI_OK;
}

static tutti_status judge_calls(bench *b)
{
    calls bare = {0}, beside = {0};
    fill_data(b, LARGE, (float)(b->world.boot.rank + 1));
    double seconds;
    tutti_status status = time_call(b, LARGE, &seconds);
    if (!status) status = check_sum(b, LARGE);
    fill_data(b, LARGE, 0);
    if (!status) status = open_calls(b, &bare);
    if (!status) status = open_calls(b, &beside);
    if (!status) status = time_both(b, &bare, &beside);
    if (!status) status = report_calls(b, &bare, &beside);
    free(bare.small_s);
    free(bare.large_s);
    free(beside.small_s);
    free(beside.large_s);
    return status;
}

/* ---- ranks that share cores ---- */

/* The number of products that take --step-ms on this machine: the maximum over ranks, so that all
 * compute the same. */
static tutti_status plan(bench *b, int *products)
{
    enum { TRIAL = 50, TRIAL_STEPS = 5 };
    tutti_timeslices timeslices;
    double seconds, wanted;
    tutti_status status = tutti_timeslices_start(&b->session, TRIAL, &timeslices);
    if (status) return status;
    for (int r = 0; r < 2 && !status; r++)
        status = tutti_timeslices_run(
            &b->session, timeslices.alone, TRIAL_STEPS, b->o.timeout_s, &seconds);
    if (!status) tutti_training_session_clear(&b->session);
    wanted = TRIAL * 1e-3 * b->o.step_ms * TRIAL_STEPS / seconds;
    if (!status) status = worst(b, &wanted);
    *products = wanted < 1 ? 1 : wanted > 100000 ? 100000 : (int)wanted;
    return status;
}

/* Times each rank alone while the others sleep. Turns follow the clock, since a rank that waits in a
 * collective polls. *alone_s: of the slowest. */
static tutti_status time_alone(bench *b, int section, double *alone_s)
{
    double turn_s = 3e-3 * b->o.step_ms * (double)b->o.steps + 0.05;
    tutti_status status = tutti_exchange_agree(b->session.exchange, TUTTI_OK, NULL);
    double begun = tutti_clock_s();
    *alone_s = 0;
    for (int r = 0; r < b->world.boot.size && !status; r++) {
        tutti_clock_sleep(begun + r * turn_s - tutti_clock_s());
        if (r == b->world.boot.rank)
            status =
                tutti_timeslices_run(&b->session, section, b->o.steps, b->o.timeout_s, alone_s);
    }
    tutti_clock_sleep(begun + b->world.boot.size * turn_s - tutti_clock_s());
    return status ? status : worst(b, alone_s);
}

static tutti_status time_together(bench *b, int section, double *seconds)
{
    tutti_status status = tutti_exchange_agree(b->session.exchange, TUTTI_OK, NULL);
    if (!status)
        status = tutti_timeslices_run(&b->session, section, b->o.steps, b->o.timeout_s, seconds);
    return status ? status : worst(b, seconds);
}

/* How many ranks take turns on a core. Hosts of a tutti-box share the machine's cores. */
static tutti_status share_of(bench *b, double *ranks_a_core)
{
    tutti_cpus mine = tutti_cpus_allowed(), together = {{0}};
    int ranks, rank;
    void *all;
    tutti_status status =
        tutti_boot_gather_host(&b->world.boot, &mine, sizeof mine, &all, &ranks, &rank);
    if (status) return status;
    for (int r = 0; r < ranks; r++)
        for (int w = 0; w < TUTTI_CPUS / 64; w++)
            together.word[w] |= ((const tutti_cpus *)all)[r].word[w];
    free(all);
    int cores = tutti_cpus_count(&together);
    if (getenv("TUTTI_BOX")) ranks = b->world.boot.size;
    double share = (double)(ranks * b->o.workers) / (cores ? cores : 1);
    *ranks_a_core = share > 1 ? share : 1;
    return TUTTI_OK;
}

static tutti_status judge_slicing(bench *b, double ranks_a_core)
{
    int products;
    tutti_timeslices timeslices;
    double *ratio = calloc((size_t)b->o.blocks, sizeof *ratio);
    tutti_status status = ratio ? plan(b, &products) : TUTTI_ERR_NOMEM;
    if (!status) status = tutti_timeslices_start(&b->session, products, &timeslices);
    for (int64_t block = 0; block < b->o.blocks && !status; block++) {
        double alone, together;
        status = time_alone(b, timeslices.alone, &alone);
        if (!status) status = time_together(b, timeslices.together, &together);
        if (!status) ratio[block] = together / (alone * ranks_a_core);
    }
    if (!status) {
        char name[80];
        snprintf(
            name, sizeof name, "steps, all ranks / ideal (%.2g threads per core)", ranks_a_core);
        tutti_training_session_clear(&b->session);
        report_blocks(b, name, "", ratio, 1.15);
    }
    free(ratio);
    return status;
}

/* ---- all of it ---- */

static tutti_status measure_over_exchange(bench *b, double ranks_a_core)
{
    const tutti_training_session_options with = {.workers = (int)b->o.workers,
        .exchange = {.design = tutti_design_find("funneled"),
            .comm_core = b->o.comm_core,
            .timeout_s = b->o.timeout_s},
        .comm = b->world.boot.comm};
    tutti_status status = tutti_training_session_open(&with, &b->session);
    if (!status && b->result && tutti_exchange_comm_core(b->session.exchange) >= 0)
        printf("communication thread of rank 0 on processor %d\n",
            tutti_exchange_comm_core(b->session.exchange));
    if (!status) status = judge_idle(b);
    if (!status) status = judge_calls(b);
    if (!status && ranks_a_core > 1) status = judge_slicing(b, ranks_a_core);
    return status ? status : tutti_training_session_close(&b->session);
}

static tutti_status measure(bench *b)
{
    double ranks_a_core;
    tutti_status status = TUTTI_OK;
    if (b->world.boot.size < 2)
        return tutti_fail(TUTTI_ERR_USAGE, "one rank has nothing to sum: tutti-run -n 2 or more");
    if (b->world.boot.rank == 0) status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    if (!status && !(b->data = calloc(LARGE, sizeof *b->data)))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a buffer");
    status = tutti_world_agree(&b->world, status);
    if (!status) status = share_of(b, &ranks_a_core);
    if (!status && b->result)
        printf("%d ranks, %" PRId64 " worker%s each, medians of %" PRId64 " blocks\n",
            b->world.boot.size, b->o.workers, b->o.workers == 1 ? "" : "s", b->o.blocks);
    if (!status) status = judge_engine(b);
    if (!status) status = measure_over_exchange(b, ranks_a_core);
    free(b->data);
    tutti_status closed = tutti_result_close(b->result);
    return status ? status : closed;
}

static tutti_status run(int argc, char **argv)
{
    bench b = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    status = tutti_world_open(b.o.timeout_s, &b.world);
    if (status) return status;
    status = measure(&b);
    tutti_world_close(&b.world, status);
    return status;
}

const tutti_bench tutti_bench_interference = {
    "interference", "how Tutti behaves on cores that it shares", run};
