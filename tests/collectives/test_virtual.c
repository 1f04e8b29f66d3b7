/* collectives/transport/virtual: the real comms and engines of all ranks in one thread, in virtual time. */
#include "collectives/choose.h"
#include "collectives/coll.h"
#include "collectives/links/topology_text.h"
#include "collectives/sched/price.h"
#include "collectives/transport/virtual.h"
#include "dag/base/clock.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, FLOATS = 1000 };

/* Comms of all ranks of a topology. */
typedef struct world {
    tutti_topology *topology;
    tutti_virtual_world *virtual;
    int P;
    tutti_comm *comm[MOST];
    tutti_coll_request *request[MOST];
} world;

static void open_world(world *w, const char *topology, int P, const char *algorithm)
{
    w->P = P;
    ck_assert_ok(tutti_topology_open(topology, &w->topology));
    ck_assert_ok(tutti_virtual_world_new(w->topology, P, &w->virtual));
    for (int r = 0; r < P; r++) {
        tutti_transport *t;
        ck_assert_ok(tutti_transport_virtual(w->virtual, r, 1, &t));
        ck_assert_ok(tutti_comm_new(t, &(tutti_comm_options){.algorithm = algorithm}, &w->comm[r]));
    }
}

static void close_world(world *w)
{
    for (int r = 0; r < w->P; r++) tutti_comm_free(w->comm[r]);
    tutti_virtual_world_free(w->virtual);
    tutti_topology_free(w->topology);
}

static void progress(world *w, int rank)
{
    int moved;
    do {
        ck_assert_ok(tutti_coll_progress(w->comm[rank], &moved));
    } while (moved);
}

/* Runs a collective of all ranks to its end. Returns how long it took. */
static double run(world *w, const tutti_coll_args args[])
{
    const int *rank;
    int ranks;
    const double began_s = tutti_virtual_now(w->virtual);
    for (int r = 0; r < w->P; r++)
        ck_assert_ok(tutti_coll_post(w->comm[r], 0, &args[r], &w->request[r]));
    for (int r = 0; r < w->P; r++) progress(w, r);
    for (int left = 1; left;) {
        ck_assert_ok(tutti_virtual_next(w->virtual, &rank, &ranks));
        for (int i = 0; i < ranks; i++) progress(w, rank[i]);
        left = 0;
        for (int r = 0; r < w->P; r++) left += !tutti_coll_done(w->request[r]);
        ck_assert_msg(ranks || !left, "%d of %d ranks wait for ever", left, w->P);
    }
    for (int r = 0; r < w->P; r++) tutti_coll_free(w->request[r]);
    return tutti_virtual_now(w->virtual) - began_s;
}

static double run_payload(world *w, tutti_coll_kind kind, int64_t count)
{
    tutti_coll_args args[MOST];
    for (int r = 0; r < w->P; r++)
        args[r] = (tutti_coll_args){.kind = kind,
            .dtype = TUTTI_F32,
            .op = TUTTI_SUM,
            .count = count,
            .memory = TUTTI_MEMORY_DEVICE,
            .recv = tutti_virtual_payload(w->virtual)};
    return run(w, args);
}

/* What is really there arrives: sums are right in every algorithm, and take time. */
START_TEST(data_arrive)
{
    static const int sizes[] = {1, 2, 5, 8};
    if (!tutti_algorithms[_i]->build[TUTTI_ALLREDUCE]) return;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int P = sizes[i];
        world w;
        open_world(&w, "two-level:4x2", P, tutti_algorithms[_i]->name);
        float(*x)[FLOATS] = malloc((size_t)P * sizeof *x);
        ck_assert_ptr_nonnull(x);
        tutti_coll_args args[MOST];
        for (int r = 0; r < P; r++) {
            args[r] = (tutti_coll_args){
                .dtype = TUTTI_F32, .op = TUTTI_SUM, .count = FLOATS, .recv = x[r]};
            for (int e = 0; e < FLOATS; e++) x[r][e] = (float)(r + e);
        }
        const double took_s = run(&w, args);
        ck_assert_msg(P == 1 || took_s > 0, "%d ranks: nothing takes time", P);
        for (int r = 0; r < P; r++)
            for (int e = 0; e < FLOATS; e++)
                ck_assert_float_eq(x[r][e], (float)(P * e + P * (P - 1) / 2));
        free(x);
        close_world(&w);
    }
}
END_TEST

/* A message counts once, though both sides post it: a ring has 2 (P - 1) of each rank. */
START_TEST(messages_are_counted_once)
{
    for (int P = 1; P <= 8; P++) {
        world w;
        open_world(&w, "star:8", P, "ring");
        run_payload(&w, TUTTI_ALLREDUCE, (int64_t)P * FLOATS);
        const tutti_virtual_account sent = tutti_virtual_totals(w.virtual);
        ck_assert_int_eq(sent.messages, 2 * (P - 1) * P);
        ck_assert_double_eq_tol(
            sent.sent_bytes, (double)sent.messages * FLOATS * sizeof(float), 0.5);
        close_world(&w);
    }
}
END_TEST

/* The price of the same schedules. */
static double price(
    const world *w, const tutti_algorithm *algorithm, tutti_coll_kind kind, int64_t count)
{
    const tutti_choice_key key = {.kind = kind,
        .P = w->P,
        .count = count,
        .element = sizeof(float),
        .radix = tutti_algorithm_radix(algorithm->name)};
    const tutti_choice choice = tutti_coll_choose(algorithm, &key);
    const tutti_sched *ranks[MOST];
    int host[MOST];
    tutti_sched_price price;
    for (int r = 0; r < w->P; r++) host[r] = w->topology->point[w->topology->rank_point[r]].host;
    for (int r = 0; r < w->P; r++) {
        const tutti_sched_shape shape = {.kind = kind,
            .rank = r,
            .P = w->P,
            .count = count,
            .segment = choice.segment,
            .radix = choice.radix,
            .host = host,
            .in_place = 1};
        ck_assert_ok(choice.build(&shape, (tutti_sched **)&ranks[r]));
    }
    ck_assert_ok(
        tutti_sched_price_of(ranks, w->P, sizeof(float), sizeof(float), w->topology, &price));
    for (int r = 0; r < w->P; r++) tutti_sched_free((tutti_sched *)ranks[r]);
    return price.time_s;
}

static const char kinds[] = "kind node memory 5GB/s reduce 1GB/s copy 2GB/s send 3us recv 2us";

/* A text of two hosts with `each` ranks, messages of which ask the receiver if they are longer than `eager`. */
static void write_topology(const char *name, const char *eager)
{
    FILE *out = fopen(name, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out,
        "topology 1\n%s%s\nhost h[0-3] kind node\nswitch s\nlink h[0-3] s rate 1Gbit/s latency "
        "20us\n"
        "ranks 4 per host\n",
        kinds, eager);
    ck_assert_int_eq(fclose(out), 0);
}

/* A collective alone takes what it is priced at, where each message waits for its receive. Where it need not, it may
 * leave earlier than the price says, and the collective takes no longer. */
START_TEST(times_are_the_prices)
{
    static const char name[] = "tests/collectives/test_virtual.topology";
    static const int64_t counts[] = {100, 10000, 300000};
    const tutti_algorithm *a = tutti_algorithms[_i];
    if (a->chooses || !a->build[TUTTI_ALLREDUCE]) return;
    for (int early = 0; early < 2; early++)
        for (int c = 0; c < 3; c++) {
            write_topology(name, early ? "" : " eager 1B");
            world w;
            open_world(&w, name, 16, a->name);
            const double took_s = run_payload(&w, TUTTI_ALLREDUCE, counts[c]);
            const double price_s = price(&w, a, TUTTI_ALLREDUCE, counts[c]);
            ck_assert_msg(took_s < 1.01 * price_s && took_s > (early ? 0.6 : 0.99) * price_s,
                "%s, %lld elements: %g ms, priced at %g", a->name, (long long)counts[c],
                1e3 * took_s, 1e3 * price_s);
            close_world(&w);
            remove(name);
        }
}
END_TEST

/* Two worlds in which the same is done take the same time, to the last bit. */
START_TEST(runs_repeat)
{
    double took_s[2];
    for (int i = 0; i < 2; i++) {
        world w;
        open_world(&w, "dragonfly:4x4,10Gbit/s", 16, NULL);
        took_s[i] =
            run_payload(&w, TUTTI_ALLREDUCE, 123457) + run_payload(&w, TUTTI_REDUCE_SCATTER, 99);
        close_world(&w);
    }
    ck_assert(took_s[0] == took_s[1]);
}
END_TEST

/* Ends of three ranks, without comms. */
typedef struct ends {
    tutti_topology *topology;
    tutti_virtual_world *world;
    tutti_transport *t[3];
} ends;

static void open_ends(ends *e)
{
    ck_assert_ok(tutti_topology_open("star:3,1Gbit/s", &e->topology));
    ck_assert_ok(tutti_virtual_world_new(e->topology, 3, &e->world));
    for (int r = 0; r < 3; r++) ck_assert_ok(tutti_transport_virtual(e->world, r, 2, &e->t[r]));
}

static void close_ends(ends *e)
{
    for (int r = 0; r < 3; r++) tutti_transport_close(e->t[r]);
    tutti_virtual_world_free(e->world);
    tutti_topology_free(e->topology);
}

static tutti_message *send(const ends *e, int from, int to, const void *data, size_t bytes)
{
    tutti_message *m;
    ck_assert_ok(e->t[from]->ops->isend(e->t[from], 1, to, 7, data, bytes, &m));
    return m;
}

static tutti_message *receive(const ends *e, int from, int to, void *data, size_t bytes)
{
    tutti_message *m;
    ck_assert_ok(e->t[to]->ops->irecv(e->t[to], 1, from, 7, data, bytes, &m));
    return m;
}

static void let_all_happen(const ends *e)
{
    const int *rank;
    int ranks;
    do {
        ck_assert_ok(tutti_virtual_next(e->world, &rank, &ranks));
    } while (ranks);
}

static tutti_status end(const ends *e, int rank, tutti_message *m)
{
    int done;
    tutti_status status = e->t[rank]->ops->test(e->t[rank], m, &done);
    ck_assert(done);
    return status;
}

/* A receive from any rank gets what was sent first, also before there was such a receive; the sender may change its
 * buffer once its send has ended. */
START_TEST(any_rank)
{
    ends e;
    int sent[3] = {10, 11, 12}, got[3];
    tutti_message *m[3], *r[3];
    open_ends(&e);
    for (int i = 0; i < 2; i++) m[i] = send(&e, i + 1, 0, &sent[i], sizeof *sent);
    let_all_happen(&e);
    for (int i = 0; i < 2; i++) ck_assert_ok(end(&e, i + 1, m[i]));
    sent[0] = sent[1] = 0;
    for (int i = 0; i < 3; i++) r[i] = receive(&e, TUTTI_ANY_RANK, 0, &got[i], sizeof *got);
    m[2] = send(&e, 1, 0, &sent[2], sizeof *sent);
    let_all_happen(&e);
    ck_assert_ok(end(&e, 1, m[2]));
    for (int i = 0; i < 3; i++) {
        ck_assert_ok(end(&e, 0, r[i]));
        ck_assert_int_eq(got[i], 10 + i);
    }
    close_ends(&e);
}
END_TEST

/* Sizes that differ, and payload that is expected as data, are told on both sides; what is cancelled ends. */
START_TEST(mistakes)
{
    ends e;
    char data[8] = "";
    tutti_message *m, *r;
    open_ends(&e);
    m = send(&e, 0, 1, data, 8);
    r = receive(&e, 0, 1, data, 4);
    let_all_happen(&e);
    ck_assert_int_eq(end(&e, 0, m), TUTTI_ERR_MISMATCH);
    ck_assert_int_eq(end(&e, 1, r), TUTTI_ERR_MISMATCH);
    r = receive(&e, 2, 1, data, 8);
    m = send(&e, 2, 1, tutti_virtual_payload(e.world), 8);
    let_all_happen(&e);
    ck_assert_int_eq(end(&e, 2, m), TUTTI_ERR_INTERNAL);
    ck_assert_int_eq(end(&e, 1, r), TUTTI_ERR_INTERNAL);
    r = receive(&e, 1, 0, data, 8);
    e.t[0]->ops->cancel(e.t[0], r);
    ck_assert_ok(end(&e, 0, r));
    m = send(&e, 1, 0, data, 8); /* nobody receives it: it is freed with the world */
    let_all_happen(&e);
    ck_assert_ok(end(&e, 1, m));
    close_ends(&e);
}
END_TEST

/* Ranks are woken in order, at their times, by a clock that does not go back. */
START_TEST(time_passes)
{
    ends e;
    const int *rank;
    int ranks;
    double at_s;
    open_ends(&e);
    ck_assert_ok(tutti_virtual_wake_at(e.world, 2, 1));
    ck_assert_ok(tutti_virtual_wake_at(e.world, 1, 2));
    ck_assert_ok(tutti_virtual_wake_at(e.world, 2, 0));
    ck_assert_ok(tutti_virtual_next(e.world, &rank, &ranks));
    ck_assert(ranks == 1 && rank[0] == 2 && tutti_virtual_now(e.world) == 1);
    ck_assert_ok(tutti_virtual_wake_at(e.world, 0.5, 2)); /* now */
    ck_assert_ok(tutti_virtual_next(e.world, &rank, &ranks));
    ck_assert(ranks == 1 && rank[0] == 2 && tutti_virtual_now(e.world) == 1);
    ck_assert_ok(tutti_virtual_when(e.world, &at_s));
    ck_assert_double_eq(at_s, 2);
    ck_assert_ok(tutti_virtual_next(e.world, &rank, &ranks));
    ck_assert(ranks == 2 && rank[0] == 0 && rank[1] == 1);
    ck_assert_ok(tutti_virtual_next(e.world, &rank, &ranks));
    ck_assert(!ranks);
    close_ends(&e);
}
END_TEST

static double fixed_now(void *ctx)
{
    return *(const double *)ctx;
}

static void pass_time(void *ctx, double delay_s)
{
    *(double *)ctx += delay_s;
}

/* A thread's own clock. */
START_TEST(clocks)
{
    double now_s = 5;
    const tutti_clock_source source = {fixed_now, pass_time, &now_s};
    ck_assert_ptr_null(tutti_clock_use(&source));
    ck_assert_double_eq(tutti_clock_s(), 5);
    tutti_clock_sleep(100);
    ck_assert_double_eq(tutti_clock_s(), 105);
    ck_assert_ptr_eq(tutti_clock_use(NULL), &source);
    ck_assert(tutti_clock_s() != 105);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("virtual");
    TCase *tcase = testing_case(suite, "virtual");
    int algorithms = 0;
    while (tutti_algorithms[algorithms]) algorithms++;
    tcase_add_loop_test(tcase, data_arrive, 0, algorithms);
    tcase_add_loop_test(tcase, times_are_the_prices, 0, algorithms);
    tcase_add_test(tcase, messages_are_counted_once);
    tcase_add_test(tcase, runs_repeat);
    tcase_add_test(tcase, any_rank);
    tcase_add_test(tcase, mistakes);
    tcase_add_test(tcase, time_passes);
    tcase_add_test(tcase, clocks);
    return testing_run(suite);
}
