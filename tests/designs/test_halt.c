/* halt: ranks that run ahead of each other as far as their steps permit stop before the same step, whichever
 * rank is asked, whenever, and however late messages come; none waits forever, and none stops unasked.
 * Ranks on one thread, over the loop transport. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "designs/thread/halt.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

enum { MOST_RANKS = 5, LANE = 0, STEPS = 2000, ASKED = 40 };

typedef struct end {
    tutti_transport *transport;
    tutti_control *control;
    tutti_halt *halt;
    int64_t submitted; /* all steps below this one */
    int64_t asked_at;  /* wishes to stop from this step on */
    int stopped;
} end;

typedef struct world {
    end e[MOST_RANKS];
    int ranks, ahead;
    int early; /* a step ends once all ranks have submitted the one before it: clients of a store of keys */
    uint64_t seed, draws;
} world;

static int below(world *w, int n)
{
    return (int)tutti_rng_below(w->seed, 0, w->draws++, (uint64_t)n);
}

static void open_all(tutti_loop_world *loop, world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        end *e = &w->e[r];
        ck_assert_ok(tutti_transport_loop(loop, r, LANE + 1, &e->transport));
        ck_assert_ok(tutti_control_open(e->transport, LANE, &e->control));
        ck_assert_ok(tutti_halt_open(e->control, &e->halt));
    }
}

static void close_all(world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        end *e = &w->e[r];
        tutti_control_stop(e->control);
        e->transport->ops->close(e->transport);
        tutti_control_free(e->control);
        tutti_halt_close(e->halt);
    }
}

/* Whether a step has ended. It ends as early as possible: when all ranks have submitted it, or the one before it. */
static int has_ended(const world *w, int64_t step)
{
    for (int r = 0; r < w->ranks; r++)
        if (w->e[r].submitted <= step - w->early) return 0;
    return 1;
}

/* A rank's main thread advances by one step, if it can. */
static void go_on(world *w, end *e)
{
    tutti_halt_answer answer;
    const int flights = w->ahead - w->early;
    int64_t step = e->submitted;
    if (e->stopped || step == STEPS || (step >= flights && !has_ended(w, step - flights))) return;
    ck_assert_ok(tutti_halt_ask(e->halt, step, w->ahead, step >= e->asked_at, &answer));
    e->submitted += answer == TUTTI_HALT_GO;
    e->stopped = answer == TUTTI_HALT_STOP;
}

static void pass(end *e)
{
    int moved = 0;
    ck_assert_ok(tutti_control_poll(e->control, &moved));
    tutti_halt_pass(e->halt);
}

static int is_over(const world *w)
{
    for (int r = 0; r < w->ranks; r++)
        if (!w->e[r].stopped && w->e[r].submitted < STEPS) return 0;
    return 1;
}

/* One world: a random rank advances or passes. Some pass only every 40th time. */
static void run(world *w)
{
    tutti_loop_world *loop;
    double until_s = tutti_clock_s() + 30;
    const tutti_loop_options options = {
        .eager_bytes = 4096, .delay_s = below(w, 3) ? 0 : 1e-5, .seed = w->seed};
    ck_assert_ok(tutti_loop_world_new(w->ranks, &options, &loop));
    open_all(loop, w);
    int slow = below(w, w->ranks);
    while (!is_over(w)) {
        int r = below(w, w->ranks);
        if (below(w, 2))
            go_on(w, &w->e[r]);
        else if (r != slow || !below(w, 40))
            pass(&w->e[r]);
        ck_assert_msg(tutti_clock_s() < until_s, "seed %llu: ranks wait for ever",
            (unsigned long long)w->seed);
    }
    close_all(w);
    tutti_loop_world_free(loop);
}

START_TEST(all_stop_before_the_same_step)
{
    for (int trial = 0; trial < 150; trial++) {
        world w = {.seed = testing_seed(11) + 1000 * (uint64_t)trial};
        int64_t first = STEPS;
        w.ranks = 2 + below(&w, MOST_RANKS - 1);
        w.early = trial % 2;
        w.ahead = w.early + 1 + below(&w, 3);
        for (int r = 0; r < w.ranks; r++) {
            w.e[r].asked_at = below(&w, 2) ? STEPS : below(&w, ASKED);
            if (w.e[r].asked_at < first) first = w.e[r].asked_at;
        }
        run(&w);
        for (int r = 0; r < w.ranks; r++) {
            ck_assert_msg(w.e[r].submitted == w.e[0].submitted, "seed %llu: %ld and %ld steps",
                (unsigned long long)w.seed, (long)w.e[r].submitted, (long)w.e[0].submitted);
            ck_assert_int_ge(w.e[r].submitted, first);
            ck_assert_msg((w.e[r].submitted == STEPS) == (first == STEPS), "seed %llu: %ld steps",
                (unsigned long long)w.seed, (long)w.e[r].submitted);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("halt");
    TCase *tcase = testing_case(suite, "halt");
    tcase_add_test(tcase, all_stop_before_the_same_step);
    return testing_run(suite);
}
