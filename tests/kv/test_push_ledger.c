/* ledger: in every order of arrivals, departures and pulls of a few clients, rounds of sync have one push of each
 * client in their order, none is lost or added twice, no pull is answered early, no client is further ahead than
 * the bound, and whoever may go on does: there is no dead end. Then a million random orders of more clients, which
 * may also die and return.
 *
 * TUTTI_EXPLORE_SCHEDULES=n: 50 n of these. */
#include "designs/kv/push_ledger.h"
#include "tests/support/testing.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLIENTS = 6 };

/* Check's own active messages down that it holds, every time. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) ck_abort_msg("%s", #condition);                                          \
    } while (0)

/* What a client does next: it pushes, pulls, waits for the answer, and so on; after its last answer it leaves. */
typedef struct client {
    int pushed, answered; /* in this life */
    int pulls;            /* it waits for an answer */
    int left, returns;    /* it may return so many times */
} client;

typedef struct world {
    tutti_push_ledger ledger;
    client c[MOST_CLIENTS];
    int clients, pushes[MOST_CLIENTS]; /* each pushes so many times */
    int rounds;                        /* of sync; of the others, pushes that were added */
    int arrivals;
    long orders;
} world;

/* A rank's counts as a world remembers them; the ledger's own are in arrays that it owns. */
typedef struct memory {
    client c[MOST_CLIENTS];
    int64_t arrived[MOST_CLIENTS], added[MOST_CLIENTS], ledger_rounds;
    char left[MOST_CLIENTS];
    int rounds;
} memory;

static void save(const world *w, memory *m)
{
    memset(m, 0, sizeof *m);
    memcpy(m->c, w->c, sizeof m->c);
    m->rounds = w->rounds;
    m->ledger_rounds = w->ledger.rounds;
    for (int c = 0; c < w->clients; c++) {
        m->arrived[c] = w->ledger.arrived[c];
        m->added[c] = w->ledger.added[c];
        m->left[c] = w->ledger.left[c];
    }
}

static void restore(world *w, const memory *m)
{
    memcpy(w->c, m->c, sizeof m->c);
    w->rounds = m->rounds;
    w->ledger.rounds = m->ledger_rounds;
    for (int c = 0; c < w->clients; c++) {
        w->ledger.arrived[c] = m->arrived[c];
        w->ledger.added[c] = m->added[c];
        w->ledger.left[c] = m->left[c];
    }
}

static int64_t slowest(const world *w)
{
    int64_t least = INT64_MAX;
    for (int c = 0; c < w->clients; c++)
        if (!w->c[c].left && w->ledger.added[c] < least) least = w->ledger.added[c];
    return least;
}

/* As a server does after every arrival. */
static void add_rounds(world *w)
{
    int of[MOST_CLIENTS], n;
    while ((n = tutti_push_ledger_round(&w->ledger, of))) {
        w->rounds++;
        for (int i = 1; i < n; i++) must(of[i - 1] < of[i]);
        if (w->ledger.rule.type != TUTTI_KV_SYNC) {
            must(n == 1);
            continue;
        }
        /* all of a round are each client's push of the same number */
        for (int i = 0; i < n; i++) must(w->ledger.added[of[i]] == w->rounds);
        for (int c = 0; c < w->clients; c++)
            if (!w->c[c].left) must(w->ledger.added[c] == w->rounds);
    }
}

static void answer(world *w)
{
    const tutti_push_ledger *b = &w->ledger;
    for (int c = 0; c < w->clients; c++) {
        int made =
            w->c[c].pushed; /* since it came; and what that makes of those who were there before: */
        int64_t pushed = made + b->base[c];
        if (!w->c[c].pulls) continue;
        int awaited = tutti_push_ledger_awaits(b, c, made);
        must(tutti_push_ledger_answers(b, c, made) == (awaited < 0));
        if (awaited >= 0) {
            must(!w->c[awaited].left);
            must(w->ledger.added[awaited] + (b->rule.type == TUTTI_KV_BOUNDED ? b->rule.bound : 0) <
                 pushed);
            continue;
        }
        must(b->added[c] >= pushed);
        if (b->rule.type == TUTTI_KV_BOUNDED) must(slowest(w) >= pushed - b->rule.bound);
        w->c[c].pulls = 0;
        w->c[c].answered++;
    }
}

/* Does the client's next deed. Returns 0 if it waits, or has left. */
static int go_on(world *w, int c)
{
    client *me = &w->c[c];
    if (me->left || me->pulls) return 0;
    if (me->answered < me->pushed) {
        me->pulls = 1;
    } else if (me->pushed < w->pushes[c]) {
        me->pushed++;
        w->arrivals++;
        tutti_push_ledger_arrive(&w->ledger, c);
    } else {
        me->left = 1;
        tutti_push_ledger_leave(&w->ledger, c);
    }
    add_rounds(w);
    answer(w);
    return 1;
}

/* Every order from here on, depth first. */
static void explore(world *w)
{
    memory before;
    int any = 0;
    save(w, &before);
    for (int c = 0; c < w->clients; c++) {
        if (!go_on(w, c)) continue;
        any = 1;
        explore(w);
        restore(w, &before);
    }
    if (any) return;
    w->orders++;
    for (int c = 0; c < w->clients; c++) {
        ck_assert_msg(w->c[c].left, "client %d waits for ever", c);
        ck_assert_int_eq(w->ledger.added[c], w->pushes[c]);
    }
}

static long explore_rule(const tutti_consistency *rule, int clients, const int pushes[])
{
    world w = {.clients = clients};
    memcpy(w.pushes, pushes, (size_t)clients * sizeof *pushes);
    ck_assert_ok(tutti_push_ledger_open(rule, clients, &w.ledger));
    explore(&w);
    tutti_push_ledger_close(&w.ledger);
    return w.orders;
}

/* ---- at random, with clients that die and return ---- */

static void die(world *w, int c)
{
    w->c[c].left = 1;
    w->c[c].pulls = 0; /* a server drops what has not been answered */
    tutti_push_ledger_leave(&w->ledger, c);
    add_rounds(w);
    answer(w);
}

/* It begins where the slowest is, so that nobody waits for what was before it came. */
static void come_back(world *w, int c)
{
    int64_t least = slowest(w);
    int waiting[MOST_CLIENTS];
    for (int d = 0; d < w->clients; d++) waiting[d] = w->c[d].pulls;
    w->c[c] = (client){.returns = w->c[c].returns - 1};
    tutti_push_ledger_join(&w->ledger, c);
    if (least < INT64_MAX) must(w->ledger.added[c] == least);
    must(w->ledger.arrived[c] == w->ledger.added[c]);
    must(w->ledger.base[c] == w->ledger.added[c]);
    answer(w);
    for (int d = 0; d < w->clients; d++) must(waiting[d] == w->c[d].pulls);
}

/* SplitMix64: any seed will do. */
static uint64_t draw(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One more deed of somebody. Returns 0 when nobody can do anything any more. */
static int stir(world *w, uint64_t *seed, int mortal)
{
    int first = (int)(draw(seed) % (uint64_t)w->clients), dies = mortal && draw(seed) % 16 == 0;
    for (int i = 0; i < w->clients; i++) {
        int c = (first + i) % w->clients;
        client *me = &w->c[c];
        if (!me->left && dies)
            die(w, c);
        else if (me->left && me->returns && draw(seed) % 4 == 0)
            come_back(w, c);
        else if (!go_on(w, c))
            continue;
        return 1;
    }
    for (int c = 0; c < w->clients; c++)
        if (w->c[c].left && w->c[c].returns) return 1; /* it will be drawn */
    return 0;
}

static void try_at_random(uint64_t *seed, int64_t bound)
{
    static const tutti_kv_type kinds[] = {TUTTI_KV_SYNC, TUTTI_KV_ASYNC, TUTTI_KV_BOUNDED};
    const tutti_consistency rule = {
        .type = kinds[bound < 0 ? bound + 2 : 2], .bound = bound < 0 ? 0 : bound};
    int mortal = rule.type != TUTTI_KV_SYNC;
    world w = {.clients = 1 + (int)(draw(seed) % MOST_CLIENTS)};
    ck_assert_ok(tutti_push_ledger_open(&rule, w.clients, &w.ledger));
    for (int c = 0; c < w.clients; c++) {
        w.pushes[c] = (int)(draw(seed) % 6);
        w.c[c].returns = mortal ? (int)(draw(seed) % 3) : 0;
    }
    while (stir(&w, seed, mortal)) continue;
    for (int c = 0; c < w.clients; c++) must(w.c[c].left); /* nobody waits for ever */
    if (mortal) must(w.rounds == w.arrivals);              /* nothing lost, nothing added twice */
    tutti_push_ledger_close(&w.ledger);
}

START_TEST(a_million_orders_keep_the_bound)
{
    enum { LEAST = -2, MOST_BOUND = 4, EACH = 50 }; /* -2, -1: sync, async */
    const char *text = getenv("TUTTI_EXPLORE_SCHEDULES");
    const int64_t orders = EACH * (text ? strtoll(text, NULL, 0) : 20000);
    uint64_t seed = testing_seed(19);
    for (int64_t i = 0; i < orders; i++)
        try_at_random(&seed, LEAST + (int)(i % (MOST_BOUND - LEAST + 1)));
}
END_TEST

static const char *const types[] = {
    "sync", "async", "bounded:0", "bounded:1", "bounded:2", "elastic:period=2,alpha=0.5"};
enum { TYPES = sizeof types / sizeof *types };

START_TEST(every_order_ends_right)
{
    enum { ALL = 3 };
    static const int pushes[][ALL] = {{2, 2, 1}, {3, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    tutti_consistency rule;
    long orders = 0;
    ck_assert_ok(tutti_consistency_read(types[_i], &rule));
    for (size_t p = 0; p < sizeof pushes / sizeof *pushes; p++)
        for (int clients = 1; clients <= ALL; clients++)
            orders += explore_rule(&rule, clients, pushes[p]);
    ck_assert_int_gt(orders, 100);
    printf("%s: %ld orders\n", types[_i], orders);
}
END_TEST

/* A server counts barriers so (tutti_kv_barrier): those that the others have passed are over for one that comes. */
START_TEST(the_first_barrier_of_one_that_joins_is_the_others_next)
{
    const tutti_consistency rule = {.type = TUTTI_KV_SYNC};
    tutti_push_ledger barriers;
    int client[3];
    ck_assert_ok(tutti_push_ledger_open(&rule, 3, &barriers));
    tutti_push_ledger_leave(&barriers, 2);
    for (int passed = 0; passed < 2; passed++) {
        tutti_push_ledger_arrive(&barriers, 0);
        tutti_push_ledger_arrive(&barriers, 1);
        ck_assert_int_eq(tutti_push_ledger_round(&barriers, client), 2);
    }
    tutti_push_ledger_arrive(&barriers, 0); /* waits already */
    tutti_push_ledger_join(&barriers, 2);
    tutti_push_ledger_arrive(&barriers, 2);
    ck_assert_int_eq(tutti_push_ledger_round(&barriers, client), 0);
    tutti_push_ledger_arrive(&barriers, 1);
    ck_assert_int_eq(tutti_push_ledger_round(&barriers, client), 3);
    tutti_push_ledger_close(&barriers);
}
END_TEST

START_TEST(types_are_read)
{
    tutti_consistency rule;
    ck_assert_ok(tutti_consistency_read(NULL, &rule));
    ck_assert_int_eq(rule.type, TUTTI_KV_SYNC);
    ck_assert_ok(tutti_consistency_read("bounded:12", &rule));
    ck_assert_int_eq(rule.type, TUTTI_KV_BOUNDED);
    ck_assert_int_eq(rule.bound, 12);
    ck_assert_ok(tutti_consistency_read("bounded:0", &rule));
    ck_assert_int_eq(rule.type, TUTTI_KV_SYNC);
    ck_assert_ok(tutti_consistency_read("elastic:alpha=1,period=4", &rule));
    ck_assert_int_eq(rule.type, TUTTI_KV_ELASTIC);
    ck_assert_int_eq(rule.period, 4);
    ck_assert(rule.alpha >= 1);
    ck_assert_ok(tutti_consistency_read("elastic", &rule));
    static const char *const wrong[] = {"", "bounded", "bounded:", "bounded:-1", "bounded:1x",
        "Sync", "sync:", "async:1", "elastic:", "elastic:period=0", "elastic:period=1.5",
        "elastic:alpha=0", "elastic:alpha=1.1", "elastic:alpha=-0.1", "elastic:alpha=nan",
        "elastic:alpha", "elastic:beta=1", "elastic:period=1,period=2",
        "elastic:period=1,alpha=0.5,period=1", "elastic:period=1,",
        "elastic:period=1,alpha=0."
        "50000000000000000000000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(tutti_consistency_read(wrong[i], &rule), TUTTI_ERR_USAGE);
}
END_TEST

START_TEST(a_type_is_written_as_it_is_read)
{
    static const char *const text[] = {
        "sync", "async", "bounded:12", "elastic:period=8,alpha=0.1", "elastic:period=1,alpha=1"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char written[TUTTI_CONSISTENCY_TEXT];
        tutti_consistency rule;
        ck_assert_ok(tutti_consistency_read(text[i], &rule));
        ck_assert_str_eq(tutti_consistency_write(&rule, written), text[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("push ledger");
    TCase *tcase = testing_case(suite, "ledger");
    tcase_add_loop_test(tcase, every_order_ends_right, 0, TYPES);
    tcase_add_test(tcase, a_million_orders_keep_the_bound);
    tcase_add_test(tcase, the_first_barrier_of_one_that_joins_is_the_others_next);
    tcase_add_test(tcase, types_are_read);
    tcase_add_test(tcase, a_type_is_written_as_it_is_read);
    return testing_run(suite);
}
