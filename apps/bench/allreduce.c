#include "apps/bench/choices.h"
#include "apps/bench/counting.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/world.h"
#include "collectives/choose.h"
#include "collectives/transport/transport.h"
#include "designs/exchange/settings.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/mem.h"
#include "dag/kernels/arith.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LANES = 64,
    MOST_BLOCKS = 1000,
    MOST_ROUNDS = 10000,
    MOST_VECTORS = 1 + TUTTI_MOST_EXTRAS,
    MOST_CONTESTANTS = 64
};

typedef struct options {
    const char *algorithm, *topology, *transport, *vectors, *json, *csv;
    int64_t from, to, factor, lanes, blocks;
    double block_s, timeout_s;
    tutti_conf_real link_mbit;
} options;

/* The transports that need no GPU. */
static const char *choose_transport(int i)
{
    const tutti_transport_about *about = tutti_transports;
    while (about->name && (!about->lacks || about->on_gpus || i--)) about++;
    return about->name;
}

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "algorithm", "NAME", .fallback = "auto", .choice = tutti_choice_algorithms,
        .takes = tutti_setting_is_algorithm, AT(algorithm),
        .help = "what to compare with MPI_Allreduce, the MPI library's own, which "
                "blocks (mpi: the library's own that does not; also k-nomial:K, forest:FILE)"},
    {TUTTI_CONF_CHOICE, "transport", "NAME", .fallback = "mpi", .choice = choose_transport,
        AT(transport),
        .help = "the algorithms over this transport too, in turns with mpi (shm: shared memory of "
                "one host; mesh: that, and TCP between hosts; fabric: that, and libfabric)"},
    TUTTI_BENCH_SETTINGS_SIZES("4", "268435456", options),
    {TUTTI_CONF_INT, "lanes", "K", .fallback = "1", .low = 1, .high = MOST_LANES, AT(lanes),
        .help = "allreduces in flight together, each on its own communicator (MPI_Allreduce runs "
                "them one by one)"},
    {TUTTI_CONF_TEXT, "vectors", "G,...", AT(vectors),
        .help = "each rank has G vectors, 2 to 16 of them: compares summing them before the "
                "allreduce with an allreduce of all of them as one object"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks per algorithm, in turns"},
    {TUTTI_CONF_REAL, "block-s", "S", .fallback = "0.2", .low = 1e-3, .high = 1e3, AT(block_s),
        .help = "duration of a block in seconds; a block has at least one round"},
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    TUTTI_BENCH_SETTINGS_RUN("120", options),
    {0},
};
static const tutti_conf_brief brief[] = {{"from", NULL}, {"to", NULL}, {"factor", NULL},
    {"algorithm", NULL}, {"transport", NULL}, {"link-mbit", NULL},
    {"blocks", NULL}, {"json", NULL}, {"csv", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-bench allreduce",
    .usage = "[OPTION]...",
    .summary = "Times sums over all ranks (tutti-run -n P tutti-bench allreduce ...) with Tutti's "
               "algorithms and with the MPI library's own, in turns, after checking every sum. "
               "Prints the time, bytes per second, and how many bytes a rank sends.",
    .settings = settings,
    .brief = brief,
};

/* One algorithm, or MPI_Allreduce: its lanes, and its times at the current size. */
typedef struct contestant {
    const char *name, *transport;
    char label[40];
    int vectors;                   /* of each rank */
    int sums_first;                /* before the allreduce, instead of in it */
    void *sum;                     /* its kernel, opened for the current size */
    const struct contestant *peer; /* whose time is divided by its own */
    tutti_comm *comm;              /* NULL: MPI_Allreduce */
    float *placed[MOST_LANES];     /* memory that its transport has; NULL: the bench's data */
    tutti_traffic sent;
    tutti_traffic each; /* sent by one allreduce */
    int64_t rounds;     /* in a block */
    double *block_s;    /* [blocks] seconds of one allreduce on every lane */
    int is_library;     /* it passes the transport's messages by */
} contestant;

typedef struct bench {
    options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    int contestants;
    contestant contestant[MOST_CONTESTANTS];
    int vector_counts[MOST_CONTESTANTS], most_vectors;
    float *data[MOST_LANES]; /* the allreduce's result and, of one vector, its input */
    float *vector[MOST_LANES][MOST_VECTORS];
} bench;

static int P(const bench *b)
{
    return b->world.boot.size;
}

/* ---- one round ---- */

/* As a run has it: the tensors that collectives write to are in the memory that the transport has for them. */
static float *data_of(const bench *b, const contestant *c, int lane)
{
    return c->placed[lane] ? c->placed[lane] : b->data[lane];
}

static const tutti_kernel *sum_kernel(void)
{
    return tutti_kernel_find(&tutti_op_sum, TUTTI_CPU, TUTTI_F32);
}

static tutti_status post(
    bench *b, contestant *c, int lane, int64_t count, tutti_coll_request **request)
{
    tutti_status status = TUTTI_OK;
    tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = count,
        .recv = data_of(b, c, lane)};
    if (c->sum) {
        void *buf[MOST_VECTORS + 1];
        for (int k = 0; k < c->vectors; k++) buf[k] = b->vector[lane][k];
        buf[c->vectors] = data_of(b, c, lane);
        status = sum_kernel()->fn(c->sum, buf, NULL);
    } else if (c->vectors > 1) {
        args.out_of_place = 1;
        args.send = b->vector[lane][0];
        for (int k = 1; k < c->vectors; k++) args.extra[args.extras++] = b->vector[lane][k];
    }
    return status ? status : tutti_coll_post(c->comm, lane, &args, request);
}

/* One allreduce on every lane. */
static tutti_status run_round(bench *b, contestant *c, int64_t count)
{
    tutti_coll_request *request[MOST_LANES] = {NULL};
    tutti_status status = TUTTI_OK;
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        status = c->comm ? post(b, c, lane, count, &request[lane])
                         : tutti_boot_sum(&b->world.boot, data_of(b, c, lane), count);
    for (int lane = 0; c->comm && lane < b->o.lanes && !status; lane++)
        status = tutti_world_spin(c->comm, request[lane], b->o.timeout_s);
    for (int lane = 0; lane < b->o.lanes; lane++) tutti_coll_free(request[lane]);
    return status;
}

/* Small integers, whose sums are exact in any order. */
static float value_of(int rank, int lane, int vector, int64_t i)
{
    return (float)((i * 7 + rank * 3 + lane + vector * 5) % 64);
}

static void fill_vectors(bench *b, const contestant *c, int lane, int64_t count)
{
    for (int k = 0; k < c->vectors; k++) {
        float *to = c->vectors > 1 ? b->vector[lane][k] : data_of(b, c, lane);
        for (int64_t i = 0; i < count; i++) to[i] = value_of(b->world.boot.rank, lane, k, i);
    }
}

static tutti_status verify(bench *b, contestant *c, int64_t count)
{
    for (int lane = 0; lane < b->o.lanes; lane++) fill_vectors(b, c, lane, count);
    tutti_traffic before = c->sent;
    tutti_status status = run_round(b, c, count);
    c->each.bytes = (c->sent.bytes - before.bytes) / b->o.lanes;
    c->each.messages = (c->sent.messages - before.messages) / b->o.lanes;
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        for (int64_t i = 0; i < count && !status; i++) {
            float sum = 0;
            for (int n = 0; n < P(b) * c->vectors; n++)
                sum += value_of(n / c->vectors, lane, n % c->vectors, i);
            if (data_of(b, c, lane)[i] != sum)
                status = tutti_fail(TUTTI_ERR_INTERNAL,
                    "%s: element %" PRId64 " of %" PRId64 " on lane %d is %g, not %g", c->label, i,
                    count, lane, (double)data_of(b, c, lane)[i], (double)sum);
        }
    /* Zeros: repeated sums of sums do not grow to infinity. */
    for (int lane = 0; lane < b->o.lanes; lane++)
        memset(data_of(b, c, lane), 0, (size_t)count * sizeof(float));
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

static tutti_status open_sum(contestant *c, int64_t count)
{
    const tutti_sum_desc desc = {.count = count, .inputs = c->vectors};
    return c->sums_first ? sum_kernel()->open(&desc, &c->sum) : TUTTI_OK;
}

static void close_sums(bench *b)
{
    for (int i = 0; i < b->contestants; i++) {
        if (b->contestant[i].sum) sum_kernel()->close(b->contestant[i].sum);
        b->contestant[i].sum = NULL;
    }
}

static tutti_status measure(bench *b, int64_t count)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->contestants && !status; i++) {
        status = tutti_world_agree(&b->world, open_sum(&b->contestant[i], count));
        if (!status) status = verify(b, &b->contestant[i], count);
        if (!status) status = plan_rounds(b, &b->contestant[i], count);
    }
    for (int64_t block = 0; block < b->o.blocks && !status; block++)
        for (int i = 0; i < b->contestants && !status; i++) {
            contestant *c = &b->contestant[i];
            status = time_rounds(b, c, count, c->rounds, &c->block_s[block]);
            c->block_s[block] /= (double)c->rounds;
        }
    close_sums(b);
    return status;
}

/* ---- telling ---- */

static int label_width(const bench *b)
{
    return b->most_vectors > 1 ? 35 : 18;
}

static void print_head(const bench *b)
{
    printf("%d ranks, %" PRId64 " allreduces in flight, medians of %" PRId64 " blocks\n", P(b),
        b->o.lanes, b->o.blocks);
    printf("%10s %-*s %12s %11s %11s %7s %8s %12s %7s\n", "bytes", label_width(b), "algorithm",
        "us", "algbw MB/s", "busbw MB/s", "line", b->most_vectors > 1 ? "x apart" : "x mpi",
        "sent/rank", "sent/S");
}

/* Reports the time of one allreduce of `bytes`: columns as in the head, "-" for unknown values. */
static void report_contestant(bench *b, contestant *c, int64_t bytes)
{
    double ratio[MOST_BLOCKS], seconds[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++) {
        ratio[k] = c->peer->block_s[k] / c->block_s[k];
        seconds[k] = c->block_s[k];
    }
    double took = tutti_median((int)b->o.blocks, seconds);
    double times = tutti_median((int)b->o.blocks, ratio);
    double algbw = (double)(bytes * b->o.lanes) / took, busbw = algbw * 2 * (P(b) - 1) / P(b);
    const double link = b->world.link_bytes_per_s;
    double line = link > 0 ? 100 * busbw / link : 0;
    char share[16] = "-", sent[24] = "-", part[16] = "-";
    if (line > 0) snprintf(share, sizeof share, "%.1f %%", line);
    if (!c->is_library) {
        snprintf(sent, sizeof sent, "%" PRId64, c->each.bytes);
        snprintf(part, sizeof part, "%.4f", (double)c->each.bytes / (double)bytes);
    }
    printf("%10" PRId64 " %-*s %12.1f %11.2f %11.2f %7s %8.2f %12s %7s\n", bytes, label_width(b),
        c->label, 1e6 * took, algbw / 1e6, busbw / 1e6, share, times, sent, part);
    fflush(stdout);
    json_t *event =
        json_pack("{s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:s, s:I, s:s, s:o}", "event",
            "allreduce", "algorithm", c->name, "ranks", P(b), "lanes", (json_int_t)b->o.lanes,
            "bytes", (json_int_t)bytes, "us", 1e6 * took, "algbw_mb_s", algbw / 1e6, "busbw_mb_s",
            busbw / 1e6, "line_pct", line, c->vectors > 1 ? "times_apart" : "times_mpi", times,
            "ratio", "median of paired ratios", "count", (json_int_t)b->o.blocks, "unit", "us",
            "samples", tutti_result_samples(b->o.blocks, c->block_s, 1e6));
    json_object_set_new(event, "transport", json_string(c->transport));
    if (c->vectors > 1) {
        json_object_set_new(event, "vectors", json_integer(c->vectors));
        json_object_set_new(event, "name", json_string(c->label));
    }
    if (!c->is_library) {
        json_object_set_new(event, "sent_bytes", json_integer(c->each.bytes));
        json_object_set_new(event, "sent_messages", json_integer(c->each.messages));
    }
    tutti_result_event(b->result, event);
}

/* ---- setting up ---- */

/* What algorithms are compared with. */
static const char plain[] = "MPI_Allreduce";

static tutti_status open_transport(const bench *b, const char *name, tutti_transport **transport)
{
    const tutti_transport_about *about = tutti_transport_find(name);
    const tutti_transport_options waits = {.timeout_s = b->o.timeout_s};
    tutti_status status = tutti_transport_mpi(b->world.boot.comm, (int)b->o.lanes, transport);
    if (status || !about->replace) return status;
    status =
        about->on_one_host && !(*transport)->near
            ? tutti_fail(TUTTI_ERR_USAGE, "--transport %s: the ranks are on several hosts", name)
            : about->replace(transport, &waits);
    if (status) tutti_transport_close(*transport);
    return status;
}

/* vectors: of each rank. Without a peer, it is its own. */
static tutti_status add_over(bench *b, const char *name, const char *over, int vectors,
    int sums_first, const contestant *peer)
{
    contestant *c = &b->contestant[b->contestants];
    tutti_transport *transport;
    *c = (contestant){.name = name,
        .transport = over,
        .vectors = vectors,
        .sums_first = sums_first,
        .peer = peer ? peer : c,
        .is_library = tutti_algorithm_is_library(name)};
    const char *form = vectors == 1 ? "%s" : sums_first ? "%s, %d summed first" : "%s, %d as one";
    snprintf(c->label, sizeof c->label, form, name, vectors);
    const size_t used = strlen(c->label);
    if (strcmp(over, "mpi") != 0) snprintf(c->label + used, sizeof c->label - used, ", %s", over);
    c->block_s = calloc((size_t)b->o.blocks, sizeof *c->block_s);
    if (!c->block_s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    b->contestants++;
    if (strcmp(name, plain) == 0) {
        c->is_library = 1;
        return TUTTI_OK;
    }
    tutti_status status = open_transport(b, over, &transport);
    if (!status) status = tutti_transport_counting(transport, &c->sent, &transport);
    if (!status)
        status = tutti_comm_new(transport,
            &(tutti_comm_options){
                .algorithm = name, .rules = b->world.rules, .topology = b->world.topology},
            &c->comm);
    for (int lane = 0; lane < b->o.lanes && !status; lane++)
        c->placed[lane] = tutti_comm_take_memory(c->comm, (size_t)b->o.to);
    return status;
}

static tutti_status add(
    bench *b, const char *name, int vectors, int sums_first, const contestant *peer)
{
    return add_over(b, name, "mpi", vectors, sums_first, peer);
}

/* The i-th algorithm to compare, or NULL after the last: all of the table, or the given one. */
static const char *chosen(const bench *b, int i)
{
    if (strcmp(b->o.algorithm, "all") != 0) return i ? NULL : b->o.algorithm;
    return tutti_algorithms[i] ? tutti_algorithms[i]->name : NULL;
}

static tutti_status add_algorithms(bench *b)
{
    tutti_status status = add(b, plain, 1, 0, NULL);
    for (int i = 0; chosen(b, i) && !status; i++) {
        const char *name = chosen(b, i);
        status = add(b, name, 1, 0, &b->contestant[0]);
        if (!status && strcmp(b->o.transport, "mpi") != 0 && !tutti_algorithm_is_library(name))
            status = add_over(b, name, b->o.transport, 1, 0, &b->contestant[0]);
    }
    return status;
}

/* For each algorithm and number of vectors a pair: the second is compared with the first. */
static tutti_status add_vectors(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; chosen(b, i) && !status; i++) {
        const char *name = chosen(b, i);
        for (int n = 0; b->vector_counts[n] && !status; n++) {
            const contestant *apart = &b->contestant[b->contestants];
            if (b->contestants + 2 > MOST_CONTESTANTS)
                return tutti_fail(TUTTI_ERR_USAGE, "--vectors: too many to compare at once");
            status = add(b, name, b->vector_counts[n], 1, NULL);
            if (!status) status = add(b, name, b->vector_counts[n], 0, apart);
        }
    }
    return status;
}

static tutti_status take_memory(float **data, size_t bytes)
{
    *data = tutti_mem_aligned(bytes);
    return *data ? TUTTI_OK
                 : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a buffer of %zu bytes", bytes);
}

static tutti_status set_up(bench *b)
{
    tutti_status status = TUTTI_OK;
    size_t bytes = (size_t)b->o.to;
    for (int lane = 0; lane < b->o.lanes && !status; lane++) {
        status = take_memory(&b->data[lane], bytes);
        for (int k = 0; k < b->most_vectors && !status; k++)
            status = take_memory(&b->vector[lane][k], bytes);
    }
    if (!status && b->world.boot.rank == 0)
        status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    if (status) return status;
    return b->most_vectors ? add_vectors(b) : add_algorithms(b);
}

static tutti_status take_down(bench *b)
{
    for (int i = 0; i < b->contestants; i++) {
        const contestant *c = &b->contestant[i];
        for (int lane = 0; lane < MOST_LANES; lane++)
            if (c->placed[lane]) tutti_comm_give_memory(c->comm, c->placed[lane]);
        tutti_comm_free(c->comm);
        free(b->contestant[i].block_s);
    }
    for (int lane = 0; lane < MOST_LANES; lane++) {
        free(b->data[lane]);
        for (int k = 0; k < MOST_VECTORS; k++) free(b->vector[lane][k]);
    }
    return tutti_result_close(b->result);
}

static tutti_status measure_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    if (b->result) print_head(b);
    for (int64_t bytes = b->o.from / 4 * 4; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        status = measure(b, bytes / 4);
        for (int i = 0; i < b->contestants && !status && b->result; i++)
            report_contestant(b, &b->contestant[i], bytes);
    }
    return status;
}

/* "2,4" */
static tutti_status read_vectors(bench *b)
{
    int n = 0;
    for (const char *at = b->o.vectors; at && *at; n++) {
        char *end;
        long vectors = strtol(at, &end, 10);
        int fits = end != at && vectors >= 2 && vectors <= MOST_VECTORS && n < MOST_VECTORS;
        if (!fits || (*end && !(*end == ',' && end[1])))
            return tutti_conf_refuse(&conf, "vectors", b->o.vectors,
                "must be numbers from 2 to 16, separated by commas, such as 2,4");
        b->vector_counts[n] = (int)vectors;
        if (b->most_vectors < vectors) b->most_vectors = (int)vectors;
        at = end + (*end == ',');
    }
    return TUTTI_OK;
}

static tutti_status run(int argc, char **argv)
{
    bench b = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    if (b.o.from > b.o.to) return tutti_conf_refuse(&conf, "from", NULL, "is above --to");
    if (b.o.vectors && strcmp(b.o.transport, "mpi") != 0)
        return tutti_conf_refuse(&conf, "transport", b.o.transport, "not with --vectors");
    status = read_vectors(&b);
    if (status) return status;
    status = tutti_world_open(b.o.timeout_s, &b.world);
    if (!status) status = tutti_world_links(&b.world, b.o.topology, b.o.link_mbit, b.o.algorithm);
    if (status) return status;
    status = set_up(&b);
    if (!status) status = measure_all(&b);
    tutti_status closed = take_down(&b);
    tutti_world_close(&b.world, status);
    return status ? status : closed;
}

const tutti_bench tutti_bench_allreduce = {"allreduce", "sums over all ranks, by size", run};
