#include "apps/bench/channel_way.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/median.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BLOCKS = 1000, MOST_ROUNDS = 100000, MOST_WAYS = TUTTI_CHANNEL_KINDS + 2, PATH = 4096 };

typedef struct options {
    const char *grpc, *json, *csv;
    int64_t from, to, factor, blocks;
    double block_s, timeout_s;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_INT, "from", "BYTES", .fallback = "4096", .low = 1, .high = 1 << 30, AT(from),
        .help = "smallest tensor"},
    {TUTTI_CONF_INT, "to", "BYTES", .fallback = "268435456", .low = 1, .high = 1 << 30, AT(to),
        .help = "largest tensor"},
    {TUTTI_CONF_INT, "factor", "N", .fallback = "4", .low = 2, .high = 1024, AT(factor),
        .help = "factor from one size to the next"},
    {TUTTI_CONF_TEXT, "grpc", "DIR", .fallback = "none", AT(grpc),
        .help = "gRPC too: a folder made by tutti-bench peers --package grpc; or none"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "9", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks of each way, in turns"},
    {TUTTI_CONF_REAL, "block-s", "S", .fallback = "0.05", .low = 1e-3, .high = 1e3, AT(block_s),
        .help = "duration of a block in seconds; a block has at least one round"},
    TUTTI_BENCH_SETTINGS_RUN("120", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench channel",
    .usage = "[OPTION]...",
    .summary =
        "Times how a tensor gets from one rank to another of the same host (tutti-run -n 2 "
        "tutti-bench channel ...): over Tutti's shared memory, TCP and libfabric, as a message of "
        "MPI, by "
        "an RPC that copies it on both sides, and by gRPC, in turns, after comparing all bytes. "
        "Rank 0 makes it anew before the clock starts, with \"shm, written there\" in rank 1's "
        "memory. "
        "Prints the time until it is handed over, and until its receiver has read it, too. On two "
        "hosts, over TCP, libfabric, MPI and gRPC, with the processor seconds of both ranks.",
    .settings = settings,
};

/* One of the ways, and its times at the current size. */
typedef struct contestant {
    tutti_channel_way way;
    int64_t rounds[TUTTI_CHANNEL_USES]; /* in a block */
    double block_s[TUTTI_CHANNEL_USES][MOST_BLOCKS];
    double cpu_s[MOST_BLOCKS]; /* of both ranks, in a round of handovers */
} contestant;

typedef struct bench {
    options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    int far;              /* the ranks are on two hosts */
    int contestants;
    contestant contestant[MOST_WAYS]; /* the first is shm; far: tcp */
} bench;

static const char *const titles[TUTTI_CHANNEL_USES] = {"handover", "read"};

/* ---- timing ---- */

/* Plans the rounds of a block from a trial, which also warms up. The times are the same on both ranks. */
static tutti_status plan_rounds(bench *b, contestant *c, size_t bytes, tutti_channel_use use)
{
    double round_s = 0;
    tutti_status status = TUTTI_OK;
    int64_t rounds = 1;
    while (!status) {
        status = tutti_channel_way_time(&b->world, &c->way, bytes, use, rounds, &round_s);
        if ((double)rounds * c->way.whole_s >= b->o.block_s / 4 || rounds >= MOST_ROUNDS) break;
        rounds *= 2;
    }
    const double fit = b->o.block_s / c->way.whole_s;
    c->rounds[use] = fit < 1 ? 1 : fit > MOST_ROUNDS ? MOST_ROUNDS : (int64_t)fit;
    return status;
}

static tutti_status measure(bench *b, size_t bytes)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->contestants && !status; i++) {
        status = tutti_channel_way_check(&b->world, &b->contestant[i].way, bytes);
        for (int use = 0; use < TUTTI_CHANNEL_USES && !status; use++)
            status = plan_rounds(b, &b->contestant[i], bytes, use);
    }
    for (int64_t block = 0; block < b->o.blocks && !status; block++)
        for (int use = 0; use < TUTTI_CHANNEL_USES; use++)
            for (int i = 0; i < b->contestants && !status; i++) {
                contestant *c = &b->contestant[i];
                status = tutti_channel_way_time(
                    &b->world, &c->way, bytes, use, c->rounds[use], &c->block_s[use][block]);
                if (use == TUTTI_CHANNEL_HAND) c->cpu_s[block] = c->way.cpu_s;
            }
    return status;
}

/* ---- telling ---- */

static void print_head(const bench *b)
{
    printf("medians of %" PRId64 " blocks; / %s: times as long as over %s\n", b->o.blocks,
        b->far ? "tcp" : "shm", b->far ? "TCP" : "shared memory");
    printf("%10s %-20s", "bytes", "way");
    for (int use = 0; use < TUTTI_CHANNEL_USES; use++)
        printf(" %10s us %10s %24s", titles[use], "MB/s", b->far ? "/ tcp" : "/ shm");
    puts(b->far ? "  CPU s/GB" : "");
}

static void tell_use(bench *b, const contestant *c, int64_t bytes, int use)
{
    const contestant *first = &b->contestant[0];
    const int blocks = (int)b->o.blocks;
    double ratio[MOST_BLOCKS], seconds[MOST_BLOCKS];
    for (int k = 0; k < blocks; k++) {
        seconds[k] = c->block_s[use][k];
        ratio[k] = seconds[k] / first->block_s[use][k];
    }
    const double took = tutti_median(blocks, seconds), times = tutti_median(blocks, ratio);
    char spread[40];
    snprintf(spread, sizeof spread, "%.2f (%.2f .. %.2f)", times, ratio[0], ratio[blocks - 1]);
    printf(" %13.1f %10.0f %24s", 1e6 * took, (double)bytes / took / 1e6, spread);
    tutti_result_event(b->result,
        json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:f, s:s, s:i, s:s, s:o}", "event",
            "channel", "name", c->way.name, "kind", titles[use], "bytes", (json_int_t)bytes, "us",
            1e6 * took, "over_shm", times, "over_shm_lowest", ratio[0], "over_shm_highest",
            ratio[blocks - 1], "ratio", "median of paired ratios", "count", blocks, "unit", "us",
            "samples", tutti_result_samples(blocks, c->block_s[use], 1e6)));
}

/* Within a host both ranks poll, which says nothing. */
static void tell_cpu(bench *b, const contestant *c, int64_t bytes)
{
    const int blocks = (int)b->o.blocks;
    double used_s[MOST_BLOCKS];
    if (!b->far) return;
    for (int k = 0; k < blocks; k++) used_s[k] = c->cpu_s[k];
    const double per_gb_s = tutti_median(blocks, used_s) / (double)bytes * 1e9;
    printf(" %9.2f", per_gb_s);
    tutti_result_event(
        b->result, json_pack("{s:s, s:s, s:I, s:f}", "event", "channel_cpu", "name", c->way.name,
                       "bytes", (json_int_t)bytes, "cpu_s_per_gb", per_gb_s));
}

static void report_size(bench *b, int64_t bytes)
{
    for (int i = 0; i < b->contestants; i++) {
        printf("%10" PRId64 " %-20s", bytes, b->contestant[i].way.name);
        for (int use = 0; use < TUTTI_CHANNEL_USES; use++)
            tell_use(b, &b->contestant[i], bytes, use);
        tell_cpu(b, &b->contestant[i], bytes);
        puts("");
    }
    fflush(stdout);
}

/* ---- setting up ---- */

static tutti_status check_ranks(bench *b)
{
    tutti_transport *mpi;
    if (b->world.boot.size != 2)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti-bench channel: %d rank%s: start it on two ranks, with tutti-run -n 2",
            b->world.boot.size, b->world.boot.size > 1 ? "s" : "");
    tutti_status status = tutti_transport_mpi(b->world.boot.comm, 1, &mpi);
    b->far = !status && !mpi->near;
    if (mpi) tutti_transport_close(mpi);
    return status;
}

/* Over TCP and, within a host, over a Unix socket: which is faster depends on the size. */
static tutti_status add_grpc(bench *b)
{
    static const char *const over[] = {"tcp", "unix"};
    char path[PATH], command[PATH + 64];
    tutti_status status = TUTTI_OK;
    if (strcmp(b->o.grpc, "none") == 0) {
        if (b->result)
            tutti_log(TUTTI_LOG_INFO, "no gRPC: tutti-bench peers --package grpc --install DIR "
                                      "builds it, for --grpc DIR");
        return TUTTI_OK;
    }
    snprintf(path, sizeof path, "%.4000s/channel_grpc", b->o.grpc);
    if ((b->far || b->world.boot.rank == 0) && (access(path, X_OK) != 0 || strchr(path, '\'')))
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--grpc %s: the folder has no channel_grpc: tutti-bench peers --package grpc --install "
            "makes one that has",
            b->o.grpc);
    status = tutti_world_agree(&b->world, status);
    if (b->far && !status)
        return tutti_channel_way_start_far(&b->world, path, &b->contestant[b->contestants++].way);
    for (int i = 0; i < 2 && !status; i++) {
        snprintf(command, sizeof command, "exec '%s' %s", path, over[i]);
        status = tutti_channel_way_start(&b->world, command, &b->contestant[b->contestants++].way);
    }
    return status;
}

static tutti_status set_up(bench *b)
{
    tutti_status status = check_ranks(b);
    if (status) return status; /* the same on both */
    if (b->world.boot.rank == 0) status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    for (int kind = 0; kind < TUTTI_CHANNEL_KINDS && !status; kind++) {
        const char *why = tutti_channel_way_lacks(kind, b->far);
        if (!why)
            status = tutti_channel_way_open(
                &b->world, kind, b->far, (size_t)b->o.to, &b->contestant[b->contestants++].way);
        else if (!b->far && b->result)
            tutti_log(TUTTI_LOG_INFO, "%s", why);
    }
    return status ? status : add_grpc(b);
}

static tutti_status measure_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    if (b->result) print_head(b);
    for (int64_t bytes = b->o.from; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        status = measure(b, (size_t)bytes);
        if (!status && b->result) report_size(b, bytes);
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
    if (status == TUTTI_ERR_USAGE)
        status = tutti_world_give_up(&b.world, status); /* the same on both */
    if (!status) status = measure_all(&b);
    for (int i = 0; i < b.contestants; i++) tutti_channel_way_close(&b.contestant[i].way);
    tutti_status closed = tutti_result_close(b.result);
    tutti_world_close(&b.world, status);
    return status ? status : closed;
}

const tutti_bench tutti_bench_channel = {
    "channel", "a tensor from one rank to another, by size", run};
