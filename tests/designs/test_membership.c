/* Memberships (designs/membership/membership.h): worlds of 2 to 6 ranks in random and, for small ones, in all orders,
 * with deaths at any moment, also between two messages of one rank, newcomers, suspicions, and networks in parts. In
 * each world an epoch has one list and one snapshot, no two lists of ranks train, all who live end in the same epoch
 * or stop with a sentence, and nobody waits for ever. Where ranks only die, all others go on. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/deadlock/seen.h"
#include "tests/designs/membership_world.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>

#define BIT(r) (1 << (r))

/* ---- what must hold in the end ---- */

static int count_bits(int set)
{
    return __builtin_popcount((unsigned)set);
}

static int expect(world *w, int holds, const char *what)
{
    if (!holds && !w->why[0]) snprintf(w->why, sizeof w->why, "%s", what);
    return holds;
}

/* Nothing happens any more. */
static int is_right(world *w)
{
    const int members = world_members(w);
    int stopped = 0, living = 0;
    for (int r = 0; r < w->ranks; r++) {
        const world_rank *k = &w->rank[r];
        stopped += k->stopped && (r < w->founders || (k->gave_up && k->machine.base.epoch));
        living += !k->dead && r < w->founders;
        if (!k->here) continue;
        if (!expect(w, k->epoch && k->inside && !k->leaves, "a rank waits for ever")) return 0;
        if (!expect(w, k->members == members, "a rank has other members")) return 0;
    }
    if (!w->suspicions && living >= w->least)
        expect(w, !stopped, "a rank stops, but none is silent");
    if (!w->suspicions && !w->deaths)
        expect(w, members == BIT(w->ranks) - 1, "a newcomer was not taken in");
    if (members) expect(w, count_bits(members) >= w->least, "fewer than the least go on");
    return !w->why[0];
}

/* ---- random worlds ---- */

typedef struct dice {
    uint64_t seed, draws;
} dice;

static int below(dice *d, int n)
{
    return (int)tutti_rng_below(d->seed, 0, d->draws++, (uint64_t)n);
}

typedef struct trouble {
    int deaths, newcomers, suspicions, parts, hurries; /* how many of each */
    int finishes;
} trouble;

static int draw_here(const world *w, dice *d)
{
    int here[WORLD_RANKS], count = 0;
    for (int r = 0; r < w->ranks; r++)
        if (w->rank[r].here) here[count++] = r;
    return count ? here[below(d, count)] : -1;
}

static void cut_network(world *w, dice *d)
{
    const int part = 1 + below(d, BIT(w->ranks) - 2);
    w->suspicions++;
    for (int r = 0; r < w->ranks; r++)
        w->apart[r] = (unsigned char)((part & BIT(r) ? ~part : part) & (BIT(w->ranks) - 1));
}

/* Trouble, now and then. Returns whether there was any. */
static int make_trouble(world *w, dice *d, trouble *t, int *arrived)
{
    const int r = draw_here(w, d), other = draw_here(w, d);
    if (r < 0) return 0;
    switch (below(d, 60)) {
    case 0:
        if (t->deaths-- > 0) world_kill(w, r);
        return 1;
    case 1:
    case 2:
        if (t->newcomers > 0 && w->rank[r].epoch && w->founders + *arrived < w->ranks) {
            t->newcomers--;
            world_take(
                w, &(world_step){WORLD_ARRIVE, w->founders + (*arrived)++, r}, WORLD_ALL_SENT);
        }
        return 1;
    case 3:
        if (r != other && t->suspicions-- > 0)
            world_take(w, &(world_step){WORLD_SILENT, r, other}, WORLD_ALL_SENT);
        return 1;
    case 4:
        if (t->parts-- > 0) cut_network(w, d);
        return 1;
    case 5:
        if (t->hurries-- > 0) world_hurry(w, r);
        return 1;
    default:
        return 0;
    }
}

static int run(world *w, dice *d, trouble *t)
{
    world_step steps[WORLD_STEPS];
    int arrived = 0;
    for (int i = 0; i < 20000 && !w->why[0]; i++) {
        if (make_trouble(w, d, t, &arrived)) continue;
        const int count = world_list(w, steps);
        const int dies = t->deaths > 0 && !below(d, 40);
        if (count) {
            t->deaths -= dies;
            world_take(w, &steps[below(d, count)], dies ? below(d, 7) : WORLD_ALL_SENT);
        } else if (t->newcomers > 0 && world_members(w))
            continue;
        else if (!world_wait(w))
            return is_right(w);
    }
    expect(w, 0, "it does not end");
    return 0;
}

/* All say that they are at the end, until they may go. */
static int finish(world *w, dice *d, trouble *t)
{
    world_step steps[WORLD_STEPS];
    int64_t said[WORLD_RANKS] = {0};
    for (int i = 0; i < 20000 && !w->why[0]; i++) {
        const int r = draw_here(w, d), count = world_list(w, steps);
        if (r < 0) return 1;
        if (said[r] < w->rank[r].epoch && !count) {
            said[r] = w->rank[r].epoch;
            world_take(w, &(world_step){WORLD_FINISH, r, 0}, WORLD_ALL_SENT);
        } else if (count && t->finishes > 0 && !below(d, 10)) {
            t->finishes--;
            world_take(w, &steps[below(d, count)], below(d, 4));
        } else if (count)
            world_take(w, &steps[below(d, count)], WORLD_ALL_SENT);
        else if (!world_wait(w))
            continue;
    }
    expect(w, 0, "ranks that have finished do not end");
    return 0;
}

static void run_all(uint64_t seed, int worlds, const trouble *most)
{
    static world w;
    int64_t epochs = 0, stopped = 0;
    for (int i = 0; i < (testing_fewer() ? worlds / 8 : worlds); i++) {
        dice d = {.seed = seed + 1000003 * (uint64_t)i};
        trouble t = {.deaths = below(&d, most->deaths + 1),
            .newcomers = below(&d, most->newcomers + 1),
            .suspicions = below(&d, most->suspicions + 1),
            .parts = below(&d, most->parts + 1),
            .hurries = below(&d, most->hurries + 1),
            .finishes = below(&d, most->finishes + 1)};
        const int founders = 2 + below(&d, 4);
        if (t.newcomers > WORLD_RANKS - founders) t.newcomers = WORLD_RANKS - founders;
        world_open(&w, founders, founders + t.newcomers, 1 + below(&d, 2));
        const int right = run(&w, &d, &t);
        ck_assert_msg(right, "world %d of seed %llu: %s", i, (unsigned long long)seed, w.why);
        for (int r = 0; r < w.ranks; r++) stopped += w.rank[r].stopped;
        epochs += w.worked;
        ck_assert_msg(
            finish(&w, &d, &t), "world %d of seed %llu: %s", i, (unsigned long long)seed, w.why);
    }
    printf("%d worlds, %lld epochs, %lld ranks stopped\n", worlds, (long long)epochs,
        (long long)stopped);
}

START_TEST(where_ranks_die_the_others_go_on)
{
    run_all(testing_seed(1), 6000, &(trouble){.deaths = 3, .finishes = 2});
}
END_TEST

START_TEST(newcomers_are_taken_in_while_others_die)
{
    run_all(testing_seed(5), 6000, &(trouble){.deaths = 2, .newcomers = 2, .finishes = 1});
}
END_TEST

START_TEST(suspicions_and_parts_never_make_two_runs)
{
    run_all(testing_seed(3), 12000,
        &(trouble){.deaths = 2, .newcomers = 2, .suspicions = 2, .parts = 2, .hurries = 3});
}
END_TEST

/* ---- all orders ---- */

typedef struct search {
    seen_states seen;
    int deaths, suspicions, hurries; /* at most */
    int64_t ends;
    char why[256];
} search;

static int explore(search *s, const world *w, int depth);

static int go_on(search *s, const world *next, int depth)
{
    if (next->why[0]) {
        snprintf(s->why, sizeof s->why, "%s", next->why);
        return 0;
    }
    const int fresh =
        seen_add(&s->seen, world_hash(next) ^ (uint64_t)(s->suspicions * 8 + s->hurries) << 7);
    if (fresh < 0 || depth > 400) snprintf(s->why, sizeof s->why, "the search has no end");
    return fresh <= 0 ? !s->why[0] : explore(s, next, depth + 1);
}

/* A step, whole, and cut short by death. `next` is scratch. */
static int explore_step(search *s, const world *w, const world_step *step, world *next, int depth)
{
    *next = *w;
    const int sends = world_take(next, step, WORLD_ALL_SENT);
    if (!go_on(s, next, depth)) return 0;
    for (int k = 0; k < sends && w->deaths < s->deaths; k++) {
        *next = *w;
        world_take(next, step, k);
        if (!go_on(s, next, depth)) return 0;
    }
    return 1;
}

static int explore_suspicions(search *s, const world *w, int r, world *next, int depth)
{
    int right = 1;
    for (int q = 0; q < w->ranks && s->suspicions && right; q++) {
        if (q == r) continue;
        s->suspicions--;
        *next = *w;
        world_take(next, &(world_step){WORLD_SILENT, r, q}, WORLD_ALL_SENT);
        right = go_on(s, next, depth);
        s->suspicions++;
    }
    *next = *w;
    if (!right || !s->hurries || !world_hurry(next, r)) return right;
    s->hurries--;
    right = go_on(s, next, depth);
    s->hurries++;
    return right;
}

static int explore_losses(search *s, const world *w, world *next, int depth)
{
    for (int r = 0; r < w->ranks; r++) {
        if (!w->rank[r].here) continue;
        *next = *w;
        world_kill(next, r);
        if (w->deaths < s->deaths && !go_on(s, next, depth)) return 0;
        if (!explore_suspicions(s, w, r, next, depth)) return 0;
    }
    return 1;
}

static int explore_with(search *s, const world *w, world *next, int depth)
{
    world_step steps[WORLD_STEPS];
    const int count = world_list(w, steps);
    for (int i = 0; i < count; i++)
        if (!explore_step(s, w, &steps[i], next, depth)) return 0;
    if (!explore_losses(s, w, next, depth)) return 0;
    if (count) return 1;
    *next = *w;
    if (world_wait(next)) return go_on(s, next, depth);
    s->ends++;
    if (!is_right(next)) snprintf(s->why, sizeof s->why, "%s", next->why);
    return !s->why[0];
}

static int explore(search *s, const world *w, int depth)
{
    world *next = malloc(sizeof *next);
    ck_assert_ptr_nonnull(next);
    const int right = explore_with(s, w, next, depth);
    free(next);
    return right;
}

/* Some have made snapshot 4, others have still 2. */
static void train_apart(world *w)
{
    for (int step = 0; step < 3; step++)
        for (int r = 0; r < w->founders; r++)
            world_take(w, &(world_step){WORLD_TRAIN, r, 0}, WORLD_ALL_SENT);
    for (int r = 1; r < w->founders; r += 2)
        world_take(w, &(world_step){WORLD_TRAIN, r, 0}, WORLD_ALL_SENT);
    w->trains = w->trains_more = 0;
}

/* The last newcomer has said hello to rank 0; those before it wait for a snapshot. */
static void let_arrive(world *w)
{
    world_step steps[WORLD_STEPS];
    for (int r = w->founders; r < w->ranks; r++) {
        while (world_list(w, steps)) world_take(w, &steps[0], WORLD_ALL_SENT);
        world_take(w, &(world_step){WORLD_ARRIVE, r, 0}, WORLD_ALL_SENT);
    }
    w->trains = 4; /* rank 0 makes a snapshot */
}

static void explore_all(const char *title, int founders, int newcomers, search *s)
{
    world *w = calloc(1, sizeof *w);
    ck_assert_ptr_nonnull(w);
    world_open(w, founders, founders + newcomers, 1);
    train_apart(w);
    if (newcomers) let_arrive(w);
    go_on(s, w, 0);
    printf("%s: %zu states, %lld ends\n", title, s->seen.used, (long long)s->ends);
    ck_assert_msg(!s->why[0], "%s: %s", title, s->why);
    free(s->seen.slot);
    free(w);
}

START_TEST(all_orders_of_small_worlds_are_right)
{
    explore_all("2 ranks, 1 death", 2, 0, &(search){.deaths = 1});
    explore_all("3 ranks, 1 death", 3, 0, &(search){.deaths = 1});
    explore_all("3 ranks, 2 deaths", 3, 0, &(search){.deaths = 2});
    explore_all("1 rank, a newcomer, 1 death", 1, 1, &(search){.deaths = 1});
    explore_all("2 ranks, a newcomer, 1 death", 2, 1, &(search){.deaths = 1});
    explore_all("3 ranks, 1 suspicion, 1 death", 3, 0, &(search){.suspicions = 1, .deaths = 1});
    explore_all("3 ranks, 1 suspicion, 1 deadline", 3, 0, &(search){.suspicions = 1, .hurries = 1});
    explore_all("4 ranks, 2 deaths", 4, 0, &(search){.deaths = 2});
    explore_all("2 ranks, a newcomer, 2 deaths", 2, 1, &(search){.deaths = 2});
    explore_all("1 rank, 2 newcomers, 1 death", 1, 2, &(search){.deaths = 1});
    explore_all("1 rank, 2 newcomers, 1 suspicion", 1, 2, &(search){.suspicions = 1});
    explore_all("1 rank, 2 newcomers, 1 deadline", 1, 2, &(search){.hurries = 1});
}
END_TEST

/* ---- the door, and options ---- */

static void let_go_on(world *w)
{
    world_step steps[WORLD_STEPS];
    w->trains = w->trains_more = 0;
    do
        while (world_list(w, steps)) world_take(w, &steps[0], WORLD_ALL_SENT);
    while (world_wait(w));
}

START_TEST(two_that_do_not_hear_each_other_both_stop)
{
    static world w;
    world_open(&w, 2, 2, 1);
    world_take(&w, &(world_step){WORLD_SILENT, 0, 1}, WORLD_ALL_SENT);
    w.apart[0] = BIT(1);
    w.apart[1] = BIT(0);
    let_go_on(&w);
    ck_assert(w.rank[0].stopped && w.rank[1].stopped);
    world_open(&w, 2, 2, 1); /* a death is another matter */
    world_kill(&w, 1);
    let_go_on(&w);
    ck_assert_int_eq(w.rank[0].members, BIT(0));
}
END_TEST

START_TEST(below_the_least_all_stop)
{
    static world w;
    world_open(&w, 4, 4, 3);
    world_kill(&w, 0);
    let_go_on(&w);
    ck_assert_int_eq(world_members(&w), BIT(1) | BIT(2) | BIT(3));
    world_kill(&w, 2);
    let_go_on(&w);
    ck_assert_int_eq(world_members(&w), 0);
    ck_assert(w.rank[1].stopped && w.rank[3].stopped);
}
END_TEST

START_TEST(the_larger_part_goes_on)
{
    static world w;
    world_open(&w, 5, 5, 1);
    for (int r = 0; r < 5; r++) w.apart[r] = r < 2 ? BIT(2) | BIT(3) | BIT(4) : BIT(0) | BIT(1);
    let_go_on(&w);
    ck_assert_int_eq(world_members(&w), BIT(2) | BIT(3) | BIT(4));
    ck_assert(w.rank[0].stopped && w.rank[1].stopped);
}
END_TEST

START_TEST(the_door_refuses_who_does_not_belong)
{
    static const struct {
        tutti_membership_hello hello;
        tutti_membership_verdict verdict;
        const char *why;
    } rows[] = {{{1, 5, 7, 8, "a:1"}, TUTTI_MEMBERSHIP_WELCOME, ""},
        {{1, 5, 7, 8, "a:1"}, TUTTI_MEMBERSHIP_REFUSED, "the number 5 is, or was"},
        {{2, 6, 7, 8, "a:1"}, TUTTI_MEMBERSHIP_REFUSED, "its version is 2"},
        {{1, 6, 9, 8, "a:1"}, TUTTI_MEMBERSHIP_REFUSED, "another run"},
        {{1, 6, 7, 9, "a:1"}, TUTTI_MEMBERSHIP_REFUSED, "its options"},
        {{1, 1, 7, 8, "a:1"}, TUTTI_MEMBERSHIP_REFUSED, "the number 1 is, or was"},
        {{1, 2, 7, 8, "a:1"}, TUTTI_MEMBERSHIP_REFUSED, "the number 2 is, or was"},
        {{1, 3, 7, 8, "a:1"}, TUTTI_MEMBERSHIP_WELCOME, ""}};
    static world w;
    char why[TUTTI_MEMBERSHIP_WHY];
    world_open(&w, 3, WORLD_RANKS, 1);
    world_kill(&w, 2);
    let_go_on(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        why[0] = '\0';
        ck_assert_int_eq(
            tutti_membership_admit(&w.rank[0].machine, &rows[i].hello, why), rows[i].verdict);
        ck_assert_msg(strstr(why, rows[i].why) != NULL, "row %zu: %s", i, why);
    }
    ck_assert_int_eq(world_members(&w), BIT(0) | BIT(1));
}
END_TEST

static void knock(world *w, int64_t id)
{
    const tutti_membership_hello hello = {1, id, 7, 8, "a:1"};
    char why[TUTTI_MEMBERSHIP_WHY];
    ck_assert_int_eq(
        tutti_membership_admit(&w->rank[0].machine, &hello, why), TUTTI_MEMBERSHIP_WELCOME);
}

/* Newcomer 4 is connected to ranks 0 and 1; rank 1 dies, and newcomer 5 has its place in the table of rank 0. */
START_TEST(a_place_that_is_used_again)
{
    const tutti_membership_message ready = {
        .kind = TUTTI_MEMBERSHIP_READY, .epoch = 1, .n = 2, .entry = {{.id = 0}, {.id = 1}}};
    static world w;
    world_open(&w, 3, WORLD_RANKS, 1);
    const tutti_membership_machine *m = &w.rank[0].machine;
    knock(&w, 4);
    tutti_membership_receive(&w.rank[0].machine, 4, &ready);
    ck_assert_uint_eq(m->reach[3], BIT(0) | BIT(1));
    world_kill(&w, 1);
    let_go_on(&w);
    ck_assert_int_eq(world_members(&w), BIT(0) | BIT(2));
    knock(&w, 5);
    ck_assert_int_eq(m->id[1], 5);
    ck_assert_uint_eq(m->reach[3], BIT(0));
}
END_TEST

/* What a newcomer is told to do. */
typedef struct newcomer {
    tutti_membership_machine machine;
    int ready, stopped;
} newcomer;

static void send_from(void *ctx, int64_t to, const tutti_membership_message *what)
{
    newcomer *n = ctx;
    (void)to;
    n->ready += what->kind == TUTTI_MEMBERSHIP_READY;
}

static void connect_to(void *ctx, const tutti_membership_entry *to)
{
    (void)ctx;
    (void)to;
}

static void stop_it(void *ctx, const char *why)
{
    newcomer *n = ctx;
    (void)why;
    n->stopped = 1;
}

/* Into a run of ranks 0 and 1; with another newcomer, rank 5, it is to connect to that one, too. */
static void let_come(newcomer *n, int another)
{
    const tutti_membership_options o = {
        .self = {.id = 9}, .least = 1, .most = 4, .ack_s = 1, .join_s = 10};
    const tutti_membership_acts acts = {
        .ctx = n, .send = send_from, .connect = connect_to, .stop = stop_it};
    const tutti_membership_message view = {.kind = TUTTI_MEMBERSHIP_VIEW,
        .epoch = 3,
        .n = 2 + another,
        .entry = {{.id = 0}, {.id = 1}, {.id = 5, .fresh = another}}};
    memset(n, 0, sizeof *n);
    ck_assert_ok(tutti_membership_open(&n->machine, &o, &acts, 0));
    tutti_membership_connected(&n->machine, &view.entry[0]);
    tutti_membership_receive(&n->machine, 0, &view);
}

/* A snapshot may be a long way off: who is connected to all waits for it, as long as one of them is left. */
START_TEST(a_newcomer_waits_for_the_next_snapshot)
{
    static newcomer n;
    let_come(&n, 0);
    tutti_membership_tick(&n.machine, 11);
    ck_assert_int_eq(n.stopped, 1); /* not connected to rank 1 */
    let_come(&n, 0);
    tutti_membership_connected(&n.machine, &(tutti_membership_entry){.id = 1});
    ck_assert_int_gt(n.ready, 0);
    for (int s = 11; s < 1000; s++) tutti_membership_tick(&n.machine, s);
    ck_assert_int_eq(n.stopped, 0);
    ck_assert(tutti_membership_due(&n.machine) > 999);
    tutti_membership_lost(&n.machine, 0, 1);
    ck_assert_int_eq(n.stopped, 0);
    tutti_membership_lost(&n.machine, 1, 1);
    ck_assert_int_eq(n.stopped, 1);
}
END_TEST

/* Whether it was connected to the other one (row 1), or never (row 0). */
START_TEST(a_newcomer_waits_for_none_that_is_lost)
{
    static newcomer n;
    let_come(&n, 1);
    tutti_membership_connected(&n.machine, &(tutti_membership_entry){.id = 1});
    ck_assert_int_eq(n.ready, 0);
    if (_i) tutti_membership_connected(&n.machine, &(tutti_membership_entry){.id = 5});
    const int ready = n.ready;
    ck_assert_int_eq(ready > 0, _i);
    tutti_membership_lost(&n.machine, 5, _i);
    ck_assert_int_gt(n.ready, ready);
    for (int s = 11; s < 100; s++) tutti_membership_tick(&n.machine, s);
    ck_assert_int_eq(n.stopped, 0);
}
END_TEST

/* It was connected to all until a member died (row 0), or another rank was taken in (row 1): then it has 10 s again to
 * be connected to all of the next list. */
START_TEST(a_newcomer_waits_for_the_next_list)
{
    const tutti_membership_message view = {.kind = TUTTI_MEMBERSHIP_VIEW,
        .epoch = 4,
        .n = 3,
        .entry = {{.id = 0}, {.id = 1}, {.id = 5}}};
    static newcomer n;
    let_come(&n, 0);
    tutti_membership_connected(&n.machine, &(tutti_membership_entry){.id = 1});
    for (int s = 1; s < 20; s++) tutti_membership_tick(&n.machine, s);
    if (_i)
        tutti_membership_receive(&n.machine, 0, &view);
    else
        tutti_membership_lost(&n.machine, 0, 1);
    tutti_membership_tick(&n.machine, 28);
    ck_assert_int_eq(n.stopped, 0);
    tutti_membership_tick(&n.machine, 30);
    ck_assert_int_eq(n.stopped, 1);
}
END_TEST

/* What a member sends. */
static void keep_view(void *ctx, int64_t to, const tutti_membership_message *what)
{
    tutti_membership_message *view = ctx;
    if (to == 5 && what->kind == TUTTI_MEMBERSHIP_VIEW) *view = *what;
}

/* Newcomer 5 has been shown newcomer 4, which is lost before the two are connected: it is shown that it need not
 * wait. */
START_TEST(a_newcomer_is_shown_who_is_lost)
{
    static world w;
    tutti_membership_message view = {.n = 0};
    world_open(&w, 3, WORLD_RANKS, 1);
    tutti_membership_machine *m = &w.rank[0].machine;
    m->acts.ctx = &view;
    m->acts.send = keep_view;
    knock(&w, 4);
    knock(&w, 5);
    ck_assert_int_eq(view.n, 4);
    tutti_membership_lost(m, 4, _i);
    ck_assert_int_eq(view.n, 3);
    for (int i = 0; i < view.n; i++) ck_assert_int_ne(view.entry[i].id, 4);
}
END_TEST

static void enter_it(void *ctx, const tutti_membership *next)
{
    (void)ctx;
    (void)next;
}

static tutti_membership_verdict say_hello(tutti_membership_machine *m, int64_t id)
{
    const tutti_membership_hello hello = {.version = 1, .id = id, .address = "a:1"};
    char why[TUTTI_MEMBERSHIP_WHY];
    return tutti_membership_admit(m, &hello, why);
}

/* However many newcomers have died while the ranks stay the same, there is a place for another one; who lives keeps its
 * own. */
START_TEST(places_of_dead_newcomers)
{
    static newcomer n;
    static const tutti_membership first = {.n = 1};
    const tutti_membership_options o = {
        .first = &first, .least = 1, .most = 4, .ack_s = 1, .join_s = 10};
    const tutti_membership_acts acts = {.ctx = &n, .send = send_from, .enter = enter_it};
    tutti_membership_machine *m = &n.machine;
    ck_assert_ok(tutti_membership_open(m, &o, &acts, 0));
    ck_assert_int_eq(say_hello(m, 4), TUTTI_MEMBERSHIP_WELCOME);
    for (int64_t id = 5; id < 200; id++) {
        ck_assert_int_eq(say_hello(m, id), TUTTI_MEMBERSHIP_WELCOME);
        tutti_membership_lost(m, id, 1);
    }
    for (int64_t id = 200; id < 200 + TUTTI_MEMBERSHIP_MOST - 2; id++)
        ck_assert_int_eq(say_hello(m, id), TUTTI_MEMBERSHIP_WELCOME);
    ck_assert_int_eq(say_hello(m, 500), TUTTI_MEMBERSHIP_LATER);
    ck_assert_int_eq(m->id[1], 4);
    ck_assert_uint_eq(m->base.members, 1);
}
END_TEST

START_TEST(options_are_checked)
{
    static const struct {
        int least, most, n;
        int64_t self;
        double ack_s;
        tutti_status status;
    } rows[] = {{1, 4, 3, 0, 1, TUTTI_OK}, {0, 4, 3, 0, 1, TUTTI_ERR_USAGE},
        {4, 3, 3, 0, 1, TUTTI_ERR_USAGE}, {1, TUTTI_MEMBERSHIP_MOST + 1, 3, 0, 1, TUTTI_ERR_USAGE},
        {4, 5, 3, 0, 1, TUTTI_ERR_USAGE}, {1, 2, 3, 0, 1, TUTTI_ERR_USAGE},
        {1, 4, 3, 3, 1, TUTTI_ERR_INVAL}, {1, 4, 3, 0, 0, TUTTI_ERR_INVAL}};
    static world w;
    static tutti_membership_machine m;
    world_open(&w, 1, 1, 1);
    const tutti_membership_acts acts = w.rank[0].machine.acts;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_membership first = {.n = rows[i].n};
        for (int id = 0; id < first.n; id++) first.entry[id].id = id;
        const tutti_membership_options o = {.first = &first,
            .self = {.id = rows[i].self},
            .least = rows[i].least,
            .most = rows[i].most,
            .ack_s = rows[i].ack_s,
            .join_s = 1};
        memset(&w.rank[0], 0, sizeof w.rank[0]); /* enters again */
        w.ranks = 3;
        ck_assert_msg(tutti_membership_open(&m, &o, &acts, 0) == rows[i].status, "row %zu", i);
    }
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("membership");
    TCase *tcase = testing_case(suite, "membership");
    tcase_add_test(tcase, two_that_do_not_hear_each_other_both_stop);
    tcase_add_test(tcase, below_the_least_all_stop);
    tcase_add_test(tcase, the_larger_part_goes_on);
    tcase_add_test(tcase, the_door_refuses_who_does_not_belong);
    tcase_add_test(tcase, a_place_that_is_used_again);
    tcase_add_test(tcase, places_of_dead_newcomers);
    tcase_add_test(tcase, a_newcomer_waits_for_the_next_snapshot);
    tcase_add_loop_test(tcase, a_newcomer_waits_for_none_that_is_lost, 0, 2);
    tcase_add_loop_test(tcase, a_newcomer_is_shown_who_is_lost, 0, 2);
    tcase_add_loop_test(tcase, a_newcomer_waits_for_the_next_list, 0, 2);
    tcase_add_test(tcase, options_are_checked);
    tcase_add_test(tcase, where_ranks_die_the_others_go_on);
    tcase_add_test(tcase, newcomers_are_taken_in_while_others_die);
    tcase_add_test(tcase, suspicions_and_parts_never_make_two_runs);
    tcase_add_test(tcase, all_orders_of_small_worlds_are_right);
    return testing_run(suite);
}
