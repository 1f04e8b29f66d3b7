/* A rank's work in a collective, counted and compared with formulas: messages and bytes sent, copies
 * and reductions made. Every kind and algorithm on 2, 3 and 4 ranks, and the exchange of a graph's
 * gradients with and without buckets. Times are noise; these numbers are exact.
 *
 * An intended change of these numbers must update the formulas here, and the pictures in the schedules'
 * headers. */
#include "apps/bench/counting.h"
#include "collectives/coll.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 4, SEGMENT = 15360 /* elements, of 4 bytes */ };
static const double patience_s = 60;

/* The work of one rank; amounts in elements. */
typedef struct work {
    int64_t messages, sent, copies, copied, reductions, reduced;
} work;

/* ---- the formulas ---- */

static int64_t block(int64_t count, int P, int r)
{
    return count / P + ((r + P) % P < count % P);
}

static int64_t segments(int64_t length)
{
    return (length + SEGMENT - 1) / SEGMENT;
}

static void sends(work *w, int64_t length)
{
    w->messages += segments(length);
    w->sent += length;
}

static void reduces(work *w, int64_t length)
{
    w->reductions += segments(length);
    w->reduced += length;
}

/* The fold and the barrier do not pipeline: one message, one reduction. */
static void sends_whole(work *w, int64_t length)
{
    w->messages++;
    w->sent += length;
}

static void reduces_whole(work *w, int64_t length)
{
    w->reductions++;
    w->reduced += length;
}

/* Each rank sends every block but its own, and reduces every block but its left neighbour's. */
static void ring_reduce_scatter(work *w, int rank, int P, int64_t count)
{
    for (int b = 0; b < P; b++) {
        if (b != rank) sends(w, block(count, P, b));
        if (b != (rank + P - 1) % P) reduces(w, block(count, P, b));
    }
}

/* Each rank sends every block but its right neighbour's. */
static void ring_allgather(work *w, int rank, int P, int64_t count)
{
    for (int b = 0; b < P; b++)
        if (b != (rank + 1) % P) sends(w, block(count, P, b));
}

static void ring(work *w, int rank, int P, int64_t count)
{
    ring_reduce_scatter(w, rank, P, count);
    ring_allgather(w, rank, P, count);
}

/* The parent of v is v without its lowest bit. */
static int children(int v, int P)
{
    int n = 0;
    for (int c = 1; c < P; c++) n += (c & (c - 1)) == v;
    return n;
}

static void tree_reduce(work *w, int v, int P, int64_t count)
{
    for (int c = 0; c < children(v, P); c++) reduces(w, count);
    if (v) sends(w, count);
}

static void tree_broadcast(work *w, int v, int P, int64_t count)
{
    for (int c = 0; c < children(v, P); c++) sends(w, count);
}

static void tree(work *w, int rank, int P, int64_t count)
{
    tree_reduce(w, rank, P, count);
    tree_broadcast(w, rank, P, count);
}

/* P = 3: rank 0 sends its input to rank 1, sits out, and gets the result. Returns this rank's number
 * among those that stay, or -1. */
static int fold(work *w, int rank, int P, int64_t count, int *stay)
{
    *stay = P == 3 ? 2 : P;
    if (P != 3) return rank;
    if (rank == 0) sends_whole(w, count);
    if (rank == 1) {
        reduces_whole(w, count);
        sends_whole(w, count); /* the result, at the end */
    }
    return rank - 1;
}

static void doubling(work *w, int rank, int P, int64_t count)
{
    int stay, number = fold(w, rank, P, count, &stay);
    for (int bit = 1; number >= 0 && bit < stay; bit *= 2) {
        sends(w, count);
        reduces(w, count);
    }
}

/* Elements in the aligned group of `half` blocks that contains block b. */
static int64_t group(int64_t count, int stay, int b, int half)
{
    int64_t sum = 0;
    for (int i = b / half * half; i < b / half * half + half; i++) sum += block(count, stay, i);
    return sum;
}

static void rsag(work *w, int rank, int P, int64_t count)
{
    int stay, number = fold(w, rank, P, count, &stay);
    for (int half = stay / 2; number >= 0 && half >= 1; half /= 2) {
        sends(w, group(count, stay, number ^ half, half));
        reduces(w, group(count, stay, number, half));
        sends(w, group(count, stay, number, half)); /* on the way back */
    }
}

/* Each rank sends every block but its own, and combines its own of all ranks. */
static void direct_reduce_scatter(work *w, int rank, int P, int64_t count)
{
    for (int b = 0; b < P; b++) {
        if (b == rank) continue;
        sends(w, block(count, P, b));
        reduces(w, block(count, P, rank));
    }
}

static void direct(work *w, int rank, int P, int64_t count)
{
    direct_reduce_scatter(w, rank, P, count);
    for (int b = 1; b < P; b++) sends(w, block(count, P, rank));
}

/* ceil(log2 P) messages of one byte, after a copy of the input. */
static void barrier(work *w, int P)
{
    *w = (work){.copies = 1, .copied = 1};
    for (int d = 1; d < P; d *= 2) {
        sends_whole(w, 1);
        reduces_whole(w, 1);
    }
}

static void send_parts(work *w, int P, int64_t count)
{
    for (int r = 1; r < P; r++) sends(w, count);
}

static void scan(work *w, int rank, int P, int64_t count)
{
    for (int far = 1; far < P; far *= 2) {
        if (rank + far < P) sends(w, count);
        if (rank >= far) reduces(w, count);
    }
}

typedef void (*allreduce_work)(work *w, int rank, int P, int64_t count);

static const struct algorithm {
    const char *name;
    allreduce_work allreduce; /* NULL: by size */
} algorithms[] = {
    {"auto", NULL},
    {"ring", ring},
    {"recursive-doubling", doubling},
    {"tree", tree},
    {"rsag", rsag},
    {"direct", direct},
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* The algorithm that auto chooses. */
static allreduce_work by_size(int P, int64_t count)
{
    int64_t bytes = 4 * count;
    if (bytes <= (P == 2 ? 256 << 10 : 16 << 10)) return doubling;
    return bytes <= 128 << 10 && P != 3 ? rsag : ring;
}

/* A ring, and direct, take their input block by block. */
static int64_t pieces(int P, int64_t count, int by_blocks)
{
    int64_t n = by_blocks ? 0 : segments(count);
    for (int b = 0; by_blocks && b < P; b++) n += segments(block(count, P, b));
    return n;
}

static work expected(const struct algorithm *a, const tutti_coll_args *args, int rank, int P)
{
    work w = {0};
    int64_t count = args->count;
    int v = (rank - args->root + P) % P;
    int one_sends = args->kind == TUTTI_BROADCAST || args->kind == TUTTI_MESSAGE;
    int whole =
        args->kind == TUTTI_ALLTOALL && !args->out_of_place ? P - 1 : 1; /* parts that are copied */
    int copies = args->kind == TUTTI_ALLTOALL || (args->out_of_place && !one_sends);
    allreduce_work allreduce = a->allreduce ? a->allreduce : by_size(P, count);
    int straight = a->allreduce == direct &&
                   (args->kind == TUTTI_ALLREDUCE || args->kind == TUTTI_REDUCE_SCATTER);
    int by_blocks = straight || args->kind == TUTTI_REDUCE_SCATTER ||
                    (args->kind == TUTTI_ALLREDUCE && allreduce == ring);
    if (v && (args->kind == TUTTI_GATHER || args->kind == TUTTI_SCATTER)) copies = 0;
    if (copies) {
        /* of one vector, the rest is sent as it lies */
        int own = straight && !args->extras;
        int64_t copied = own ? block(count, P, rank) : count;
        w.copies = whole * (own ? segments(copied) : pieces(P, count, by_blocks));
        w.copied = whole * copied;
    }
    w.reductions = args->extras * pieces(P, count, by_blocks);
    w.reduced = args->extras * count;
    if (args->kind == TUTTI_ALLREDUCE) allreduce(&w, rank, P, count);
    if (one_sends) tree_broadcast(&w, v, P, count);
    if (args->kind == TUTTI_REDUCE) tree_reduce(&w, v, P, count);
    if (args->kind == TUTTI_ALLGATHER) ring_allgather(&w, rank, P, P * count);
    if (args->kind == TUTTI_REDUCE_SCATTER)
        (straight ? direct_reduce_scatter : ring_reduce_scatter)(&w, rank, P, count);
    if (args->kind == TUTTI_BARRIER) barrier(&w, P);
    if (args->kind == TUTTI_GATHER && v) sends(&w, count);
    if (args->kind == TUTTI_SCATTER && !v) send_parts(&w, P, count);
    if (args->kind == TUTTI_ALLTOALL) send_parts(&w, P, count);
    if (args->kind == TUTTI_SCAN) scan(&w, rank, P, count);
    return w;
}

/* ---- counting ---- */

typedef struct rank_job {
    tutti_loop_world *world;
    const struct algorithm *algorithm;
    int rank, P;
    int64_t bucket_bytes;
    tutti_dtype dtype; /* of an exchange */
    int failures;
    work did; /* of an exchange */
} rank_job;

static work counted(
    const tutti_traffic *before, const tutti_traffic *after, tutti_coll_work a, tutti_coll_work b)
{
    return (work){after->messages - before->messages, after->bytes - before->bytes,
        b.copies - a.copies, b.copied_bytes - a.copied_bytes, b.reductions - a.reductions,
        b.reduced_bytes - a.reduced_bytes};
}

static work in_bytes(work w, int64_t element)
{
    w.sent *= element;
    w.copied *= element;
    w.reduced *= element;
    return w;
}

static int differs(const char *what, int rank, int P, int64_t count, work did, work should)
{
    if (!memcmp(&did, &should, sizeof did)) return 0;
    printf("%s of %" PRId64 " on rank %d of %d: %" PRId64 " messages, %" PRId64 " bytes, %" PRId64
           " copies of %" PRId64 " bytes, %" PRId64 " reductions of %" PRId64 "; expected %" PRId64
           ", %" PRId64 ", %" PRId64 " of %" PRId64 ", %" PRId64 " of %" PRId64 "\n",
        what, count, rank, P, did.messages, did.sent, did.copies, did.copied, did.reductions,
        did.reduced, should.messages, should.sent, should.copies, should.copied, should.reductions,
        should.reduced);
    return 1;
}

/* Returns failures, because ranks are threads. */
static int run_one(rank_job *job, tutti_comm *comm, tutti_traffic *sent, tutti_coll_args args)
{
    tutti_coll_request *request;
    tutti_coll_work before = tutti_comm_work(comm);
    tutti_traffic sent_before = *sent;
    char what[80];
    if (tutti_coll_post(comm, 0, &args, &request)) abort();
    if (tutti_coll_wait(comm, request, patience_s)) abort();
    tutti_coll_free(request);
    work did = counted(&sent_before, sent, before, tutti_comm_work(comm));
    work should = expected(job->algorithm, &args, job->rank, job->P);
    snprintf(what, sizeof what, "%s, %s%s, %d extra,", job->algorithm->name,
        tutti_coll_kind_name(args.kind), args.out_of_place ? "" : " in place", args.extras);
    return differs(what, job->rank, job->P, args.count, did,
        args.kind == TUTTI_BARRIER ? should : in_bytes(should, sizeof(float)));
}

/* A message, the last kind, is of two ranks. */
static int kinds_of(int P)
{
    return P == 2 ? TUTTI_COLL_KINDS : TUTTI_MESSAGE;
}

static void *run_kinds(void *arg)
{
    static const int64_t counts[] = {12, 4099, 30000, 60000, 300001};
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_traffic sent = {0};
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = job->algorithm->name};
    float *send = calloc(300001, MOST_RANKS * sizeof *send);
    float *recv = calloc(300001, MOST_RANKS * sizeof *recv), *extra = calloc(300001, sizeof *extra);
    if (!send || !recv || !extra) abort();
    if (tutti_transport_loop(job->world, job->rank, 1, &transport)) abort();
    if (tutti_transport_counting(transport, &sent, &transport)) abort();
    if (tutti_comm_new(transport, &options, &comm)) abort();
    for (int kind = 0; kind < kinds_of(job->P); kind++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int form = 0; form < 4; form++) {
                int reduces = tutti_coll_trait_of((tutti_coll_kind)kind)->reduces;
                job->failures += run_one(job, comm, &sent,
                    (tutti_coll_args){.kind = (tutti_coll_kind)kind,
                        .dtype = TUTTI_F32,
                        .op = TUTTI_SUM,
                        .root = kind == TUTTI_MESSAGE ? 0 : (int)c % job->P,
                        .count = counts[c],
                        .out_of_place = form % 2 == 0,
                        .send = form % 2 ? NULL : send,
                        .recv = recv,
                        .extras = reduces ? form / 2 * (1 + job->rank) : 0,
                        .extra = {extra, extra, extra, extra}});
            }
    tutti_comm_free(comm);
    free(send);
    free(recv);
    free(extra);
    return NULL;
}

/* What a collective of zeros sends. */
static int64_t sent_by(tutti_comm *comm, tutti_traffic *sent, tutti_coll_args args)
{
    tutti_coll_request *request;
    int64_t before = sent->bytes;
    if (tutti_coll_post(comm, 0, &args, &request)) abort();
    if (tutti_coll_wait(comm, request, patience_s)) abort();
    tutti_coll_free(request);
    return sent->bytes - before;
}

static void *run_halved(void *arg)
{
    static const int64_t counts[] = {12, 4099, 300001};
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_traffic sent = {0};
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = job->algorithm->name};
    float *data = calloc(300001, MOST_RANKS * sizeof *data);
    if (!data) abort();
    if (tutti_transport_loop(job->world, job->rank, 1, &transport)) abort();
    if (tutti_transport_counting(transport, &sent, &transport)) abort();
    if (tutti_comm_new(transport, &options, &comm)) abort();
    for (int kind = 0; kind < kinds_of(job->P); kind++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            tutti_coll_args args = {
                .kind = (tutti_coll_kind)kind, .count = counts[c], .recv = data};
            if (kind == TUTTI_BARRIER) continue;
            int64_t full = sent_by(comm, &sent, args);
            args.dtype = TUTTI_BF16;
            int64_t half = sent_by(comm, &sent, args);
            if (2 * half == full) continue;
            printf("%s, %s of %" PRId64 " on rank %d of %d: %" PRId64 " bytes of F32, %" PRId64
                   " of BF16\n",
                job->algorithm->name, tutti_coll_kind_name(args.kind), args.count, job->rank,
                job->P, full, half);
            job->failures++;
        }
    }
    tutti_comm_free(comm);
    free(data);
    return NULL;
}

static void run_ranks(rank_job job[], int P, const rank_job *like, void *(*body)(void *))
{
    tutti_loop_world *world;
    pthread_t thread[MOST_RANKS];
    ck_assert_ok(tutti_loop_world_new(P, NULL, &world));
    for (int r = 0; r < P; r++) {
        job[r] = *like;
        job[r].world = world;
        job[r].rank = r;
        job[r].P = P;
        ck_assert_int_eq(pthread_create(&thread[r], NULL, body, &job[r]), 0);
    }
    for (int r = 0; r < P; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(world);
    for (int r = 0; r < P; r++)
        ck_assert_msg(!job[r].failures, "rank %d of %d: %d failures", r, P, job[r].failures);
}

START_TEST(collectives_do_what_the_formulas_say)
{
    rank_job job[MOST_RANKS];
    for (int P = 2; P <= MOST_RANKS; P++)
        run_ranks(job, P, &(rank_job){.algorithm = &algorithms[_i]}, run_kinds);
}
END_TEST

/* Elements of half the size are half the bytes, in every algorithm. */
START_TEST(bf16_halves_the_bytes)
{
    rank_job job[MOST_RANKS];
    for (int P = 2; P <= MOST_RANKS; P++)
        run_ranks(job, P, &(rank_job){.algorithm = &algorithms[_i]}, run_halved);
}
END_TEST

/* A ring and direct send 2(P-1)/P of the payload, and so does Rabenseifner's algorithm on powers of two. */
START_TEST(formulas_have_the_least_bytes)
{
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE, .count = 12000};
    for (int P = 2; P <= MOST_RANKS; P++)
        for (int r = 0; r < P; r++) {
            work by_ring = expected(&algorithms[1], &args, r, P);
            work by_rsag = expected(&algorithms[4], &args, r, P);
            work directly = expected(&algorithms[5], &args, r, P);
            ck_assert_int_eq(directly.sent, by_ring.sent);
            ck_assert_int_eq(directly.messages, by_ring.messages);
            ck_assert_int_eq(directly.reduced, by_ring.reduced);
            ck_assert_int_eq(by_ring.sent * P, 2 * (P - 1) * args.count);
            ck_assert_int_eq(by_ring.messages, 2 * (P - 1));
            ck_assert_int_eq(by_ring.reduced * P, (P - 1) * args.count);
            if (P != 3) ck_assert_int_eq(by_rsag.sent * P, 2 * (P - 1) * args.count);
        }
}
END_TEST

/* ---- a graph's gradients ---- */

static const int64_t gradients[] = {1, 38, 75, 112, 149, 186, 223};
enum { GRADIENTS = sizeof gradients / sizeof *gradients, STEPS = 2 };

static void *run_exchange(void *arg)
{
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange;
    tutti_graph *graph;
    tutti_run *run;
    tutti_traffic sent = {0};
    tutti_exchange_options options = {.design = tutti_design_find("sequential"),
        .algorithm = "ring",
        .bucket_bytes = job->bucket_bytes,
        .timeout_s = patience_s};
    const tutti_runner *runner = tutti_runner_find("inline");
    if (tutti_transport_loop(job->world, job->rank, 1, &transport)) abort();
    if (tutti_transport_counting(transport, &sent, &transport)) abort();
    if (tutti_exchange_open_over(transport, &options, &exchange)) abort();
    if (tutti_graph_new(&graph)) abort();
    for (int g = 0, tensor; g < GRADIENTS; g++) {
        char name[16];
        snprintf(name, sizeof name, "gradient%d", g);
        if (tutti_graph_tensor(graph, name, TUTTI_ROLE_GRADIENT, job->dtype,
                tutti_shape_of(gradients[g]), &tensor))
            abort();
        if (tutti_graph_mark(graph, &(tutti_mark){.tensor = tensor}, NULL)) abort();
    }
    if (tutti_exchange_apply(exchange, graph)) abort();
    for (int n = 0; n < tutti_graph_nodes(graph); n++) /* a copy would be a node */
        job->failures += tutti_graph_get_node(graph, n)->kind == TUTTI_NODE_KERNEL;
    const tutti_run_options run_options = {.workers = 1, .hooks = tutti_exchange_hooks(exchange)};
    if (runner->open(graph, &run_options, &run)) abort();
    for (int s = 0; s < STEPS; s++)
        if (runner->submit(run, 0)) abort();
    if (runner->wait(run, 0, runner->point(run), patience_s)) abort();
    job->did = (work){.messages = sent.messages, .sent = sent.bytes};
    runner->close(run);
    tutti_graph_free(graph);
    tutti_exchange_close(exchange);
    return NULL;
}

/* Each bucket, or each gradient without buckets, is one ring. Gradients lie in their bucket at
 * multiples of 16 elements (dag/graph/graph.h), and the gaps are summed, too: so bf16 halves the
 * bytes exactly. */
START_TEST(an_exchange_sends_what_its_buckets_say)
{
    static const struct {
        int64_t bytes, count[GRADIENTS]; /* elements that are summed together */
    } rows[] = {
        {0, {1, 38, 75, 112, 149, 186, 223}},
        {600, {16 + 48 + 75, 112, 149, 186, 223}},
        {1000000, {16 + 48 + 80 + 112 + 160 + 192 + 223}},
    };
    rank_job job[MOST_RANKS];
    int failures = 0;
    const int row = _i / 2;
    const tutti_dtype dtype = _i % 2 ? TUTTI_BF16 : TUTTI_F32;
    const int64_t element = (int64_t)tutti_dtype_bytes(dtype),
                  bytes = rows[row].bytes / 4 * element;
    for (int P = 2; P <= MOST_RANKS; P++) {
        run_ranks(job, P, &(rank_job){.bucket_bytes = bytes, .dtype = dtype}, run_exchange);
        for (int r = 0; r < P; r++) {
            work should = {0};
            int64_t all = 0;
            for (int b = 0; b < GRADIENTS; b++) {
                ring(&should, r, P, rows[row].count[b]);
                all += rows[row].count[b];
            }
            should =
                (work){.messages = STEPS * should.messages, .sent = STEPS * should.sent * element};
            failures += differs("exchange", r, P, all, job[r].did, should);
        }
    }
    ck_assert_int_eq(failures, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("traffic");
    TCase *tcase = testing_case(suite, "traffic");
    tcase_add_loop_test(tcase, collectives_do_what_the_formulas_say, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, bf16_halves_the_bytes, 1, ALGORITHMS);
    tcase_add_test(tcase, formulas_have_the_least_bytes);
    tcase_add_loop_test(tcase, an_exchange_sends_what_its_buckets_say, 0, 6);
    return testing_run(suite);
}
