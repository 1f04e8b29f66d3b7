#include "apps/bench/allreduce.h"

#include "apps/bench/choices.h"
#include "apps/bench/counting.h"
#include "apps/bench/result.h"
#include "apps/bench/settings.h"
#include "apps/bench/world.h"
#include "apps/session/link.h"
#include "collectives/choose.h"
#include "config.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LANES = 64, MOST_BLOCKS = 1000, MOST_ROUNDS = 10000 };

typedef struct options {
    const char *algorithm, *json, *csv;
    int64_t from, to, factor, lanes, blocks;
    double block_s, timeout_s;
    tutti_conf_real link_mbit;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "algorithm", "NAME", .fallback = "auto", .choice = tutti_choice_algorithms,
        AT(algorithm), .help = "what to compare with mpi, the MPI library's own allreduce"},
    {TUTTI_CONF_INT, "from", "BYTES", .fallback = "4", .low = 4, .high = 4e9, AT(from),
        .help = "smallest size, a multiple of 4"},
    {TUTTI_CONF_INT, "to", "BYTES", .fallback = "268435456", .low = 4, .high = 4e9, AT(to),
        .help = "largest size"},
    {TUTTI_CONF_INT, "factor", "N", .fallback = "4", .low = 2, .high = 1024, AT(factor),
        .help = "factor from one size to the next"},
    {TUTTI_CONF_INT, "lanes", "K", .fallback = "1", .low = 1, .high = MOST_LANES, AT(lanes),
        .help = "allreduces in flight together, each on its own communicator (mpi, which blocks, "
                "runs them one by one)"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks per algorithm, in turns"},
    {TUTTI_CONF_REAL, "block-s", "S", .fallback = "0.2", .low = 1e-3, .high = 1e3, AT(block_s),
        .help = "duration of a block in seconds; a block has at least one round"},
    {TUTTI_CONF_REAL_OR, "link-mbit", "R", .fallback = "unknown", .low = 1e-3, .high = 1e6,
        .words = {"unknown"}, AT(link_mbit),
        .help = "rate of a host's link, to print what share of it is used"},
    TUTTI_BENCH_SETTING_TIMEOUT("120", AT(timeout_s)),
    TUTTI_BENCH_SETTING_JSON(AT(json)),
    TUTTI_BENCH_SETTING_CSV(AT(csv)),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench allreduce",
    .usage = "[OPTION]...",
    .summary = "Times sums over all ranks (tutti-run -n P tutti-bench allreduce ...) with Tutti's "
               "algorithms and with the MPI library's own, in turns, after checking every sum. "
               "Prints the time, bytes per second, and how many bytes a rank sends.",
    .version = PACKAGE_VERSION,
    .settings = settings,
};

/* One algorithm: its lanes, and its times at the current size. */
typedef struct contestant {
    const char *name;
    tutti_comm *comm;
    tutti_traffic sent;
    tutti_traffic each;    /* sent by one allreduce */
    int64_t rounds;        /* in a block */
    double *block_s;       /* [blocks] seconds of one allreduce on every lane */
    int blocks_its_caller; /* as the transport reports */
} contestant;

typedef struct bench {
    options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    int contestants;
    contestant contestant[16];
    float *data[MOST_LANES];
} bench;

static int P(const bench *b)
{
    return b->world.boot.size;
}

/* ---- one round ---- */

/* One allreduce on every lane. */
static tutti_status run_round(bench *b, contestant *c, int64_t count)
{
    tutti_coll_request *request[MOST_LANES] = {NULL};
    tutti_status status = TUTTI_OK;
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        status = tutti_coll_post(c->comm, c->blocks_its_caller ? 0 : lane,
            &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                .dtype = TUTTI_F32,
                .op = TUTTI_SUM,
                .count = count,
                .recv = b->data[lane]},
            &request[lane]);
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        status = tutti_world_spin(c->comm, request[lane], b->o.timeout_s);
    for (int lane = 0; lane < b->o.lanes; lane++) tutti_coll_free(request[lane]);
    return status;
}

/* Small integers, whose sums are exact in any order. */
static float value_of(int rank, int lane, int64_t i)
{
    return (float)((i * 7 + rank * 3 + lane) % 64);
}

static tutti_status verify(bench *b, contestant *c, int64_t count)
{
    for (int lane = 0; lane < b->o.lanes; lane++)
        for (int64_t i = 0; i < count; i++)
            b->data[lane][i] = value_of(b->world.boot.rank, lane, i);
    tutti_traffic before = c->sent;
    tutti_status status = run_round(b, c, count);
    c->each.bytes = (c->sent.bytes - before.bytes) / b->o.lanes;
    c->each.messages = (c->sent.messages - before.messages) / b->o.lanes;
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        for (int64_t i = 0; i < count && !status; i++) {
            float sum = 0;
            for (int r = 0; r < P(b); r++) sum += value_of(r, lane, i);
            if (b->data[lane][i] != sum)
                status = tutti_fail(TUTTI_ERR_INTERNAL,
                    "%s: element %" PRId64 " of %" PRId64 " on lane %d is %g, not %g", c->name, i,
                    count, lane, (double)b->data[lane][i], (double)sum);
        }
    /* Zeros: repeated sums of sums do not grow to infinity. */
    for (int lane = 0; lane < b->o.lanes; lane++)
        memset(b->data[lane], 0, (size_t)count * sizeof(float));
    return tutti_world_agree(&b->world, status);
}

/* ---- timing ---- */

/* Seconds for `rounds` rounds on the slowest rank. */
static tutti_status time_rounds(
    bench *b, contestant *c, int64_t count, int64_t rounds, double *seconds)
{
    tutti_status status = tutti_world_barrier(&b->world);
    double begun = tutti_clock_s();
    for (int64_t i = 0; i < rounds && !status; i++) status = run_round(b, c, count);
    *seconds = tutti_clock_s() - begun;
    return status ? status : tutti_world_max(&b->world, 1, seconds);
}

/* Plans the rounds of a block from a trial, which also warms up. */
static tutti_status plan_rounds(bench *b, contestant *c, int64_t count)
{
    double seconds = 0;
    tutti_status status = TUTTI_OK;
    c->rounds = 1;
    while (!status) {
        status = time_rounds(b, c, count, c->rounds, &seconds);
        if (seconds >= b->o.block_s / 4 || c->rounds >= MOST_ROUNDS) break;
        c->rounds *= 2;
    }
    double rounds = (double)c->rounds * b->o.block_s / seconds;
    c->rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : (int64_t)rounds;
    return status; /* seconds is the same on all ranks, and so is this */
}

static tutti_status measure(bench *b, int64_t count)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->contestants && !status; i++) {
        status = verify(b, &b->contestant[i], count);
        if (!status) status = plan_rounds(b, &b->contestant[i], count);
    }
    for (int64_t block = 0; block < b->o.blocks && !status; block++)
        for (int i = 0; i < b->contestants && !status; i++) {
            contestant *c = &b->contestant[i];
            status = time_rounds(b, c, count, c->rounds, &c->block_s[block]);
            c->block_s[block] /= (double)c->rounds;
        }
    return status;
}

/* ---- telling ---- */

static void print_head(const bench *b)
{
    printf("%d ranks, %" PRId64 " allreduces in flight, medians of %" PRId64 " blocks\n", P(b),
        b->o.lanes, b->o.blocks);
    printf("%10s %-18s %12s %11s %11s %7s %8s %12s %7s\n", "bytes", "algorithm", "us", "algbw MB/s",
        "busbw MB/s", "line", "x mpi", "sent/rank", "sent/S");
}

/* Reports the time of one allreduce of `bytes`: columns as in the head, "-" for unknown values. */
static void tell(bench *b, contestant *c, const contestant *mpi, int64_t bytes)
{
    double ratio[MOST_BLOCKS], seconds[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++) {
        ratio[k] = mpi->block_s[k] / c->block_s[k];
        seconds[k] = c->block_s[k];
    }
    double took = tutti_median((int)b->o.blocks, seconds);
    double times = tutti_median((int)b->o.blocks, ratio);
    double algbw = (double)(bytes * b->o.lanes) / took, busbw = algbw * 2 * (P(b) - 1) / P(b);
    const tutti_conf_real *link = &b->o.link_mbit;
    double line = link->word ? 0 : 100 * busbw / tutti_link_goodput(link->value);
    char share[16] = "-", sent[24] = "-", part[16] = "-";
    if (line > 0) snprintf(share, sizeof share, "%.1f %%", line);
    if (!c->blocks_its_caller) {
        snprintf(sent, sizeof sent, "%" PRId64, c->each.bytes);
        snprintf(part, sizeof part, "%.4f", (double)c->each.bytes / (double)bytes);
    }
    printf("%10" PRId64 " %-18s %12.1f %11.2f %11.2f %7s %8.2f %12s %7s\n", bytes, c->name,
        1e6 * took, algbw / 1e6, busbw / 1e6, share, times, sent, part);
    fflush(stdout);
    json_t *event =
        json_pack("{s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:s, s:I, s:s, s:o}", "event",
            "allreduce", "algorithm", c->name, "ranks", P(b), "lanes", (json_int_t)b->o.lanes,
            "bytes", (json_int_t)bytes, "us", 1e6 * took, "algbw_mb_s", algbw / 1e6, "busbw_mb_s",
            busbw / 1e6, "line_pct", line, "times_mpi", times, "ratio", "median of paired ratios",
            "count", (json_int_t)b->o.blocks, "unit", "us", "samples",
            tutti_result_samples(b->o.blocks, c->block_s, 1e6));
    if (!c->blocks_its_caller) {
        json_object_set_new(event, "sent_bytes", json_integer(c->each.bytes));
        json_object_set_new(event, "sent_messages", json_integer(c->each.messages));
    }
    tutti_result_event(b->result, event);
}

/* ---- setting up ---- */

static tutti_status add(bench *b, const char *name)
{
    contestant *c = &b->contestant[b->contestants];
    tutti_transport *transport;
    *c = (contestant){.name = name, .blocks_its_caller = tutti_algorithm_blocks(name)};
    c->block_s = calloc((size_t)b->o.blocks, sizeof *c->block_s);
    if (!c->block_s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    b->contestants++;
    int lanes = c->blocks_its_caller ? 1 : (int)b->o.lanes;
    tutti_status status = tutti_transport_mpi(b->world.boot.comm, lanes, &transport);
    if (!status) status = tutti_transport_counting(transport, &c->sent, &transport);
    if (!status)
        status = tutti_comm_new(transport, &(tutti_comm_options){.algorithm = name}, &c->comm);
    return status;
}

static tutti_status set_up(bench *b)
{
    int all = strcmp(b->o.algorithm, "all") == 0;
    tutti_status status = TUTTI_OK;
    size_t bytes = (size_t)b->o.to;
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        if (!(b->data[lane] = tutti_mem_aligned(bytes)))
            status = tutti_fail(
                TUTTI_ERR_NOMEM, "no memory for %d buffers of %zu bytes", (int)b->o.lanes, bytes);
    if (!status && b->world.boot.rank == 0)
        status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    if (!status) status = add(b, "mpi");
    for (int i = 0; tutti_algorithms[i] && !status; i++) {
        const char *name = tutti_algorithms[i]->name;
        if (strcmp(name, "mpi") != 0 && (all || strcmp(name, b->o.algorithm) == 0))
            status = add(b, name);
    }
    return status;
}

static tutti_status take_down(bench *b)
{
    for (int i = 0; i < b->contestants; i++) {
        tutti_comm_free(b->contestant[i].comm);
        free(b->contestant[i].block_s);
    }
    for (int lane = 0; lane < MOST_LANES; lane++) free(b->data[lane]);
    return tutti_result_close(b->result);
}

static tutti_status measure_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    if (b->result) print_head(b);
    for (int64_t bytes = b->o.from / 4 * 4; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        status = measure(b, bytes / 4);
        for (int i = 0; i < b->contestants && !status && b->result; i++)
            tell(b, &b->contestant[i], &b->contestant[0], bytes);
    }
    return status;
}

static tutti_status run(int argc, char **argv)
{
    bench b = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    if (b.o.from > b.o.to) return tutti_conf_refuse(&conf, "from", NULL, "is above --to");
    status = tutti_world_open(b.o.timeout_s, &b.world);
    if (status) return status;
    status = set_up(&b);
    if (!status) status = measure_all(&b);
    tutti_status closed = take_down(&b);
    tutti_world_close(&b.world, status);
    return status ? status : closed;
}

const tutti_bench tutti_bench_allreduce = {"allreduce", "sums over all ranks, by size", run};
