/* active messages: each arrives, in the order in which its rank has written, also when they come before the other
 * rank listens, and a rank's active messages to itself. Ranks on one thread, over the loop transport. */
#include "dag/base/clock.h"
#include "dag/base/rng.h"
#include "designs/thread/active_messages.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

enum { MOST_RANKS = 4, LANE = 0, NOTES = 200 };

typedef struct end {
    tutti_transport *transport;
    tutti_control *control;
    tutti_active_messages *messages;
    int written[MOST_RANKS], heard[MOST_RANKS]; /* to and from each rank */
    int listens;
} end;

typedef struct world {
    end e[MOST_RANKS];
    int ranks;
    uint64_t seed, draws;
} world;

static int below(world *w, int n)
{
    return (int)tutti_rng_below(w->seed, 0, w->draws++, (uint64_t)n);
}

static void hear(void *ctx, const tutti_active_message *message)
{
    end *e = ctx;
    ck_assert_int_eq(message->value[0], e->heard[message->rank]++);
    ck_assert_int_eq(message->value[TUTTI_ACTIVE_MESSAGE_VALUES - 1], message->rank);
}

static void open_all(tutti_loop_world *loop, world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        end *e = &w->e[r];
        ck_assert_ok(tutti_transport_loop(loop, r, LANE + 1, &e->transport));
        ck_assert_ok(tutti_control_open(e->transport, LANE, &e->control));
        ck_assert_ok(tutti_active_messages_open(e->control, &e->messages));
    }
}

static void close_all(world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        end *e = &w->e[r];
        tutti_control_stop(e->control);
        e->transport->ops->close(e->transport);
        tutti_control_free(e->control);
        tutti_active_messages_close(e->messages);
    }
}

static void write_one(world *w, int from)
{
    end *e = &w->e[from];
    int to = below(w, w->ranks);
    if (e->written[to] == NOTES) return;
    tutti_active_message message = {.rank = to, .value = {e->written[to]++}};
    message.value[TUTTI_ACTIVE_MESSAGE_VALUES - 1] = from;
    ck_assert_ok(tutti_active_messages_send(e->messages, &message));
    ck_assert_int_eq(tutti_active_messages_busy(e->messages), 1);
}

static void pass(end *e)
{
    int moved = 0;
    ck_assert_ok(tutti_control_poll(e->control, &moved));
    tutti_active_messages_pass(e->messages);
    ck_assert_int_eq(tutti_active_messages_busy(e->messages), e->listens);
}

static int is_over(const world *w)
{
    for (int r = 0; r < w->ranks; r++)
        for (int from = 0; from < w->ranks; from++)
            if (w->e[r].heard[from] < NOTES) return 0;
    return 1;
}

/* One world: a random rank writes, passes, or begins or ceases to listen. */
static void run(world *w)
{
    tutti_loop_world *loop;
    double until_s = tutti_clock_s() + 30;
    const tutti_loop_options options = {
        .eager_bytes = 4096, .delay_s = below(w, 3) ? 0 : 1e-6, .seed = w->seed};
    ck_assert_ok(tutti_loop_world_new(w->ranks, &options, &loop));
    open_all(loop, w);
    while (!is_over(w)) {
        int r = below(w, w->ranks), what = below(w, 20);
        end *e = &w->e[r];
        if (what == 0) {
            e->listens = !e->listens;
            tutti_active_messages_listen(e->messages, e->listens ? hear : NULL, e);
        } else if (what < 10) {
            write_one(w, r);
        } else {
            pass(e);
        }
        ck_assert_msg(tutti_clock_s() < until_s, "seed %llu: active messages are lost",
            (unsigned long long)w->seed);
    }
    close_all(w);
    tutti_loop_world_free(loop);
}

START_TEST(each_arrives_in_order)
{
    for (int trial = 0; trial < 60; trial++) {
        world w = {.seed = testing_seed(21) + 1000 * (uint64_t)trial};
        w.ranks = 2 + below(&w, MOST_RANKS - 1);
        run(&w);
    }
}
END_TEST

START_TEST(a_rank_alone_hears_itself)
{
    end e = {0};
    const tutti_active_message message = {.rank = 0};
    ck_assert_ok(tutti_active_messages_open(NULL, &e.messages));
    ck_assert_ok(tutti_active_messages_send(e.messages, &message));
    tutti_active_messages_pass(e.messages);
    ck_assert_int_eq(e.heard[0], 0);
    tutti_active_messages_listen(e.messages, hear, &e);
    tutti_active_messages_pass(e.messages);
    ck_assert_int_eq(e.heard[0], 1);
    tutti_active_messages_close(e.messages);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("active messages");
    TCase *tcase = testing_case(suite, "active messages");
    tcase_add_test(tcase, each_arrives_in_order);
    tcase_add_test(tcase, a_rank_alone_hears_itself);
    return testing_run(suite);
}
