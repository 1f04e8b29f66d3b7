/* designs: priorities, on which ranks agree as they run: what rank 0 grants next, the queue's side of
 * it, and ranks of one thread that pass in turn. Random schedules and dependencies:
 * tests/deadlock/test_explore. */
#include "dag/base/log.h"
#include "designs/drive/grants.h"
#include "designs/exchange/exchange.h"
#include "designs/queue/queue.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is granted next ---- */

static void add(tutti_grants *g, int64_t sequence, int priority, int64_t bytes)
{
    ck_assert_ok(tutti_grants_add(
        g, &(tutti_candidate){.sequence = sequence, .bytes = bytes, .priority = priority}));
}

START_TEST(the_most_urgent_is_granted_first)
{
    tutti_grants g;
    int64_t next;
    ck_assert_ok(tutti_grants_open(&g, 0, 1, 0, 100));
    ck_assert(!tutti_grants_next(&g, &next));
    add(&g, 5, 0, 10);
    add(&g, 3, -2, 10);
    add(&g, 4, 7, 10);
    add(&g, 1, 0, 10);
    add(&g, 9, 7, 10);
    static const int64_t want[] = {4, 9, 1, 5, 3};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        ck_assert(tutti_grants_next(&g, &next));
        ck_assert_int_eq(next, want[i]);
    }
    ck_assert(!tutti_grants_next(&g, &next));
    tutti_grants_close(&g);
}
END_TEST

START_TEST(the_window_bounds_what_is_under_way)
{
    tutti_grants g;
    int64_t next;
    ck_assert_ok(tutti_grants_open(&g, 0, 1, 100, 3));
    for (int i = 0; i < 6; i++) add(&g, i, 0, i == 1 ? 1000 : 40);
    ck_assert(tutti_grants_next(&g, &next) && next == 0);
    ck_assert(!tutti_grants_next(&g, &next)); /* too large beside another, and none overtakes it */
    add(&g, 6, 1, 60);
    ck_assert(tutti_grants_next(&g, &next) && next == 6); /* more urgent, and it fits */
    tutti_grants_end(&g, 40);
    tutti_grants_end(&g, 60);
    ck_assert(tutti_grants_next(&g, &next) && next == 1); /* alone it may exceed the window */
    ck_assert(!tutti_grants_next(&g, &next));
    tutti_grants_end(&g, 1000);
    ck_assert(tutti_grants_next(&g, &next) && next == 2);
    ck_assert(tutti_grants_next(&g, &next) && next == 3);
    ck_assert(!tutti_grants_next(&g, &next));
    tutti_grants_close(&g);

    ck_assert_ok(tutti_grants_open(&g, 0, 1, 0, 3)); /* as many as this, whatever their size */
    for (int i = 0; i < 6; i++) add(&g, i, 0, 40);
    for (int i = 0; i < 3; i++) ck_assert(tutti_grants_next(&g, &next));
    ck_assert(!tutti_grants_next(&g, &next));
    tutti_grants_close(&g);
}
END_TEST

/* Against a list: reports of three parts in a random order, with many numbers open at a time. */
START_TEST(a_number_is_complete_with_its_last_report)
{
    enum { NUMBERS = 3000, PARTS = 3, FIRST = 17 };
    static int count[NUMBERS];
    unsigned long seed = testing_seed(1);
    uint64_t draws = 0;
    tutti_grants g;
    ck_assert_ok(tutti_grants_open(&g, FIRST, PARTS, 0, 1));
    for (int left = NUMBERS * PARTS, from = 0; left; left--) {
        while (count[from] == PARTS) from++;
        uint32_t drawn = (uint32_t)((seed + ++draws) * 0x9e3779b97f4a7c15u >> 33);
        int wide = from + 1000 < NUMBERS ? 1000 : NUMBERS - from;
        int n = from + (int)(drawn % (uint32_t)wide), complete;
        while (count[n] == PARTS) n = n + 1 < NUMBERS ? n + 1 : from;
        ck_assert_ok(tutti_grants_report(&g, FIRST + n, &complete));
        ck_assert_int_eq(complete, ++count[n] == PARTS);
    }
    ck_assert_int_eq(g.lowest, FIRST + NUMBERS);
    ck_assert(g.room <= 2048);
    int complete;
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    ck_assert_int_eq(tutti_grants_report(&g, FIRST + 5, &complete), TUTTI_ERR_INTERNAL);
    ck_assert_int_eq(tutti_grants_report(&g, FIRST - 1, &complete), TUTTI_ERR_INTERNAL);
    tutti_log_set_level(TUTTI_LOG_ERROR);
    tutti_grants_close(&g);
}
END_TEST

/* ---- the queue ---- */

START_TEST(what_is_prior_starts_when_granted_after_what_is_not)
{
    static const int priority[] = {0, 0, 3, 0, 1};
    tutti_queue q;
    int64_t s;
    ck_assert_ok(tutti_queue_open(&q, 1, 1));
    for (int i = 0; i < 5; i++)
        ck_assert_ok(
            tutti_queue_reserve(&q, &(tutti_place){.index = i, .priority = priority[i]}, "c", &s));
    ck_assert_int_eq(q.prior_from, 2);
    for (int i = 4; i >= 1; i--) tutti_queue_ready(&q, tutti_queue_get(&q, i));
    ck_assert_int_eq(q.ungranted, 3);
    ck_assert(!tutti_queue_grant(&q, tutti_queue_get(&q, 1))); /* it is not prior */
    static const int reported[] = {4, 3, 2};
    for (int i = 0; i < 3; i++) ck_assert_int_eq(tutti_queue_report(&q)->sequence, reported[i]);
    ck_assert_ptr_null(tutti_queue_report(&q));
    ck_assert(tutti_queue_grant(&q, tutti_queue_get(&q, 3)));
    ck_assert(!tutti_queue_grant(&q, tutti_queue_get(&q, 3)));
    ck_assert(tutti_queue_grant(&q, tutti_queue_get(&q, 2)));
    ck_assert_ptr_null(tutti_queue_startable(&q, 0)); /* 0 is not ready, and goes first */
    tutti_queue_ready(&q, tutti_queue_get(&q, 0));
    static const int starts[] = {0, 1, 3, 2};
    for (int i = 0; i < 4; i++) {
        tutti_entry *entry = tutti_queue_startable(&q, 0);
        ck_assert_ptr_nonnull(entry);
        ck_assert_int_eq(entry->sequence, starts[i]);
        tutti_queue_start(&q, entry);
        if (i % 2) tutti_queue_forget(&q, entry);
    }
    ck_assert_ptr_null(tutti_queue_startable(&q, 0)); /* 4 is not granted */
    ck_assert_int_eq(q.ungranted, 1);
    ck_assert_int_eq(tutti_queue_first_ready(&q, 0)->sequence, 4);
    tutti_queue_forget(&q, tutti_queue_get(&q, 4)); /* as after a failure */
    ck_assert_int_eq(q.ungranted, 0);
    tutti_queue_forget(&q, tutti_queue_get(&q, 0));
    tutti_queue_forget(&q, tutti_queue_get(&q, 3));
    ck_assert_int_eq(q.lowest, 5);
    tutti_queue_close(&q);
}
END_TEST

/* ---- ranks ---- */

enum { MOST_RANKS = 64, MOST = 64, COUNT = 100 };

typedef struct sum {
    tutti_token token; /* first */
    struct ranks *ranks;
    int rank, number, ended, status;
    int64_t sequence;
    int32_t x[COUNT];
} sum;

/* Ranks that one thread drives. */
typedef struct ranks {
    int size, sums;
    tutti_loop_world *world;
    tutti_exchange *exchange[MOST_RANKS];
    sum sum[MOST_RANKS][MOST];
    int order[MOST_RANKS][MOST], ended[MOST_RANKS]; /* in which they have ended */
} ranks;

static ranks *the;

static void end(tutti_token *token, tutti_status status)
{
    sum *s = (sum *)token;
    s->ended = 1;
    s->status = (int)status;
    the->order[s->rank][the->ended[s->rank]++] = s->number;
}

/* algorithm, chunk_bytes, window: as in tutti_exchange_options. */
static void open_by(int size, const char *design, int lanes, const char *algorithm,
    int64_t chunk_bytes, int64_t window, tutti_verify_mode mode)
{
    the = calloc(1, sizeof *the);
    ck_assert_ptr_nonnull(the);
    the->size = size;
    ck_assert_ok(tutti_loop_world_new(size, NULL, &the->world));
    for (int r = 0; r < size; r++) {
        tutti_transport *transport;
        const tutti_exchange_options options = {.design = tutti_design_find(design),
            .lanes = lanes,
            .algorithm = algorithm,
            .chunk_bytes = chunk_bytes,
            .verify = mode,
            .priorities = {.on = 1, .window = window},
            .manual = 1};
        ck_assert_ok(tutti_transport_loop(the->world, r, lanes + 1, &transport));
        ck_assert_ok(tutti_exchange_open_over(transport, &options, &the->exchange[r]));
    }
}

static void open_with(
    int size, const char *design, int lanes, int64_t window, tutti_verify_mode mode)
{
    open_by(size, design, lanes, NULL, 0, window, mode);
}

static void close_all(void)
{
    for (int r = 0; r < the->size; r++) tutti_exchange_close(the->exchange[r]);
    tutti_loop_world_free(the->world);
    free(the);
}

static const tutti_coll_args args = {
    .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_I32, .op = TUTTI_SUM, .count = COUNT};

static tutti_node node_of(int number, int priority)
{
    static char name[MOST][8];
    snprintf(name[number], sizeof name[number], "s%d", number);
    return (tutti_node){.name = name[number],
        .kind = TUTTI_NODE_COLLECTIVE,
        .desc = &args,
        .desc_bytes = sizeof args,
        .place = {.priority = priority}};
}

/* As a program that attaches inserts it. */
static void insert(int rank, int number, int priority)
{
    tutti_run_hooks hooks = tutti_exchange_insert_hooks(the->exchange[rank]);
    const tutti_node node = node_of(number, priority);
    sum *s = &the->sum[rank][number];
    *s = (sum){.token.finish = end, .rank = rank, .number = number};
    for (int i = 0; i < COUNT; i++) s->x[i] = number + i + rank;
    s->sequence = hooks.reserve(hooks.ctx, &node);
}

static void make_ready(int rank, int number)
{
    tutti_run_hooks hooks = tutti_exchange_insert_hooks(the->exchange[rank]);
    const tutti_node node = node_of(number, 0);
    sum *s = &the->sum[rank][number];
    const tutti_buffer buf[] = {{.pointer = s->x, .bytes = sizeof s->x}};
    hooks.start(hooks.ctx, &node, s->sequence, buf, &s->token);
}

/* Until nothing moves any more. */
static void pass_all(void)
{
    for (int idle = 0; idle < 4 * the->size + 4;) {
        int moved = 0;
        for (int r = 0; r < the->size; r++) moved |= tutti_exchange_pass(the->exchange[r]);
        idle = moved ? 0 : idle + 1;
    }
}

static void check_sum(int rank, int number)
{
    const sum *s = &the->sum[rank][number];
    ck_assert(s->ended && !s->status);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(s->x[i], the->size * (number + i) + the->size * (the->size - 1) / 2);
}

START_TEST(what_waits_starts_by_priority)
{
    static const int priority[] = {0, 0, 0, 1, 5, 0, -1, 5};
    static const int want[] = {4, 7, 3, 0, 1, 2, 5, 6};
    enum { N = sizeof want / sizeof *want };
    /* many ranks report and grant through a deeper tree; the order is the same */
    static const int sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 33, MOST_RANKS};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int size = sizes[i];
        open_with(size, "funneled", 1, 1, TUTTI_VERIFY_ON);
        for (int r = 0; r < size; r++)
            for (int n = 0; n < N; n++) insert(r, n, priority[n]);
        for (int r = 0; r < size; r++)
            for (int n = 0; n < N; n++) make_ready(r, (n * 3 + r) % N);
        pass_all();
        /* the first priority is of number 3: those before it go in program order */
        static const int with_prefix[] = {0, 1, 2, 4, 7, 3, 5, 6};
        for (int r = 0; r < size; r++)
            for (int n = 0; n < N; n++) {
                ck_assert_int_eq(the->order[r][n], with_prefix[n]);
                check_sum(r, n);
            }
        /* and from there on all, whether they have a priority or not */
        for (int r = 0; r < size; r++)
            for (int n = 0; n < N; n++) insert(r, N + n, priority[n]);
        for (int r = 0; r < size; r++)
            for (int n = 0; n < N; n++) make_ready(r, N + (n * 5 + r) % N);
        pass_all();
        for (int r = 0; r < size; r++)
            for (int n = 0; n < N; n++) {
                ck_assert_int_eq(the->order[r][N + n], N + want[n]);
                check_sum(r, N + n);
            }
        close_all();
    }
}
END_TEST

/* An urgent collective that one rank does not have ready yet leaves the link to the others, and then goes first. */
START_TEST(what_is_not_ready_everywhere_holds_up_nothing)
{
    enum { N = 6, URGENT = 1 };
    open_with(3, "funneled", 1, 1, TUTTI_VERIFY_OFF);
    for (int r = 0; r < 3; r++)
        for (int n = 0; n < N; n++) insert(r, n, n == URGENT ? 9 : n == 0);
    for (int r = 0; r < 3; r++)
        for (int n = 0; n < 3; n++)
            if (r != 2 || n != URGENT) make_ready(r, n);
    pass_all();
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(the->ended[r], 2);
        ck_assert_int_eq(the->order[r][0], 0);
        ck_assert_int_eq(the->order[r][1], 2);
    }
    for (int r = 0; r < 3; r++)
        for (int n = 3; n < N; n++) make_ready(r, n);
    make_ready(2, URGENT);
    pass_all();
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(the->order[r][2], URGENT);
        for (int n = 0; n < N; n++) check_sum(r, n);
    }
    close_all();
}
END_TEST

START_TEST(lanes_have_one_window)
{
    enum { N = 12 };
    open_with(4, "concurrent", 3, 1, TUTTI_VERIFY_FULL);
    for (int r = 0; r < 4; r++)
        for (int n = 0; n < N; n++) insert(r, n, n + 1);
    for (int r = 0; r < 4; r++)
        for (int n = 0; n < N; n++) make_ready(r, n);
    pass_all();
    for (int n = 0; n < N; n++) ck_assert_int_eq(the->order[0][n], N - 1 - n);
    for (int r = 0; r < 4; r++)
        for (int n = 0; n < N; n++) check_sum(r, n);
    close_all();
}
END_TEST

/* Where in the order of ends an urgent sum is that becomes ready when the first of N others has ended. */
static int place_of_urgent(const char *algorithm, int64_t chunk_bytes)
{
    enum { N = 40 };
    int place = 0;
    open_by(2, "funneled", 1, algorithm, chunk_bytes, 0, TUTTI_VERIFY_OFF);
    for (int r = 0; r < 2; r++)
        for (int n = 0; n <= N; n++) insert(r, n, n == N ? 9 : 1);
    for (int r = 0; r < 2; r++)
        for (int n = 0; n < N; n++) make_ready(r, n);
    while (!the->ended[0])
        for (int r = 0; r < 2; r++) tutti_exchange_pass(the->exchange[r]);
    for (int r = 0; r < 2; r++) make_ready(r, N);
    pass_all();
    while (the->order[0][place] != N) place++;
    for (int r = 0; r < 2; r++)
        for (int n = 0; n <= N; n++) check_sum(r, n);
    close_all();
    return place;
}

/* Four chunks are under way, also where rules say how long a chunk is. */
START_TEST(the_window_is_of_the_chunks_in_use)
{
    char path[] = "/tmp/tutti-test-priority-XXXXXX", algorithm[64];
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    dprintf(file, "rules 1\nallreduce P 2 -> chunk %dB\n", (int)sizeof(int32_t) * COUNT);
    close(file);
    snprintf(algorithm, sizeof algorithm, "rules:%s", path);
    const int all = place_of_urgent(NULL, -1), few = place_of_urgent(NULL, sizeof(int32_t) * COUNT);
    ck_assert_int_gt(all, 2 * few);
    ck_assert_int_eq(place_of_urgent(algorithm, -1), few);
    ck_assert_int_eq(place_of_urgent(algorithm, 0), all);
    unlink(path);
}
END_TEST

/* Designs whose order is in the graph, or in the program: priorities change nothing. */
START_TEST(other_designs_ignore_them)
{
    static const char *const designs[] = {"chained", "sequential"};
    open_with(2, designs[_i], 1, 1, TUTTI_VERIFY_ON);
    for (int r = 0; r < 2; r++)
        for (int n = 0; n < 4; n++) insert(r, n, n);
    for (int r = 0; r < 2; r++)
        for (int n = 0; n < 4; n++) make_ready(r, n);
    pass_all();
    for (int r = 0; r < 2; r++)
        for (int n = 0; n < 4; n++) {
            ck_assert_int_eq(the->order[r][n], n);
            check_sum(r, n);
        }
    close_all();
}
END_TEST

/* ---- ranks that differ ---- */

static char said[8][512];
static int lines;

static void take_line(void *ctx, tutti_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    if (lines < 8) snprintf(said[lines++], sizeof *said, "%s", text);
}

/* Priorities of three collectives on each rank, and what some rank says. */
static const struct difference {
    int priority[3][3];
    tutti_verify_mode mode;
    const char *tells;
} differences[] = {
    {{{0, 2, 1}, {0, 2, 1}, {0, 2, 3}}, TUTTI_VERIFY_ON, "allreduce of 100 I32 (sum), priority 3"},
    {{{0, 2, 1}, {0, 2, 1}, {0, 0, 1}}, TUTTI_VERIFY_OFF,
        "rank 0 gives them from collective #1 on, rank 2 from #2 on"},
    {{{1, 0, 0}, {1, 0, 0}, {0, 0, 0}}, TUTTI_VERIFY_OFF,
        "gives them from collective #0 on, rank 2 has inserted #0"},
    {{{0, 0, 0}, {0, 0, 1}, {0, 0, 0}}, TUTTI_VERIFY_OFF,
        "rank 1 gives them from collective #2 on, rank 0 has inserted #2 \"s2\" without one"},
    {{{0, 1, 1}, {0, 1, 1}, {1, 1, 1}}, TUTTI_VERIFY_ON, "rank 2 from #0 on"},
};

START_TEST(ranks_that_differ_are_told_how)
{
    const struct difference *d = &differences[_i];
    lines = 0;
    tutti_log_to(take_line, NULL);
    open_with(3, "funneled", 1, 0, d->mode);
    for (int r = 0; r < 3; r++)
        for (int n = 0; n < 3; n++) insert(r, n, d->priority[r][n]);
    for (int r = 0; r < 3; r++)
        for (int n = 0; n < 3; n++) make_ready(r, n);
    pass_all();
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(the->ended[r], 3);
        ck_assert_int_eq(the->sum[r][2].status, TUTTI_ERR_MISMATCH);
    }
    close_all();
    tutti_log_to(NULL, NULL);
    int found = 0;
    for (int i = 0; i < lines; i++) found |= strstr(said[i], d->tells) != NULL;
    ck_assert_msg(found, "nobody says '%s', but '%s'", d->tells, said[0]);
}
END_TEST

START_TEST(an_order_and_priorities_exclude_each_other)
{
    const tutti_exchange_options options = {
        .design = tutti_design_find("funneled"), .order = {.on = 1}, .priorities = {.on = 1}};
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    ck_assert_int_eq(tutti_exchange_check_options(&options), TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_ERROR);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("priority");
    TCase *tcase = testing_case(suite, "priority");
    tcase_add_test(tcase, the_most_urgent_is_granted_first);
    tcase_add_test(tcase, the_window_bounds_what_is_under_way);
    tcase_add_test(tcase, a_number_is_complete_with_its_last_report);
    tcase_add_test(tcase, what_is_prior_starts_when_granted_after_what_is_not);
    tcase_add_test(tcase, what_waits_starts_by_priority);
    tcase_add_test(tcase, what_is_not_ready_everywhere_holds_up_nothing);
    tcase_add_test(tcase, lanes_have_one_window);
    tcase_add_test(tcase, the_window_is_of_the_chunks_in_use);
    tcase_add_loop_test(tcase, other_designs_ignore_them, 0, 2);
    tcase_add_loop_test(
        tcase, ranks_that_differ_are_told_how, 0, sizeof differences / sizeof *differences);
    tcase_add_test(tcase, an_order_and_priorities_exclude_each_other);
    return testing_run(suite);
}
