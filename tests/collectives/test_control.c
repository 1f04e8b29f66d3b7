/* control: messages of all ranks over the loop transport, polled on one thread: in order, each once,
 * whether sends are copied or wait for their receiver. */
#include "collectives/control.h"
#include "dag/base/log.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <stdlib.h>

enum { RANKS = 3, LANE = 1, MESSAGES = 20 };

typedef struct end {
    tutti_transport *transport;
    tutti_control *control;
    int64_t next[RANKS]; /* the number expected from each rank */
    int heard, echoes;
} end;

static void take_number(void *ctx, const tutti_control_message *message)
{
    end *e = ctx;
    ck_assert_int_eq(message->value[0], e->next[message->from]++);
    ck_assert_str_eq(message->text, "number");
    e->heard++;
    const tutti_control_message echo = {.kind = TUTTI_CONTROL_FINGERPRINT};
    ck_assert_ok(tutti_control_send(e->control, message->from, &echo));
}

static void count_echo(void *ctx, const tutti_control_message *message)
{
    (void)message;
    ((end *)ctx)->echoes++;
}

static void open_all(tutti_loop_world *world, end e[RANKS])
{
    for (int r = 0; r < RANKS; r++) {
        e[r] = (end){0};
        ck_assert_ok(tutti_transport_loop(world, r, LANE + 1, &e[r].transport));
        ck_assert_ok(tutti_control_open(e[r].transport, LANE, &e[r].control));
        ck_assert_int_eq(tutti_control_rank(e[r].control), r);
        ck_assert_int_eq(tutti_control_size(e[r].control), RANKS);
        tutti_control_handle(e[r].control, TUTTI_CONTROL_ASK, take_number, &e[r]);
        tutti_control_handle(e[r].control, TUTTI_CONTROL_FINGERPRINT, count_echo, &e[r]);
    }
}

static void close_all(end e[RANKS])
{
    for (int r = 0; r < RANKS; r++) {
        tutti_control_stop(e[r].control);
        e[r].transport->ops->close(e[r].transport);
        tutti_control_free(e[r].control);
    }
}

START_TEST(messages_arrive_in_order)
{
    tutti_loop_world *world;
    end e[RANKS];
    const tutti_loop_options options = {.eager_bytes = _i ? 4096 : 0};
    ck_assert_ok(tutti_loop_world_new(RANKS, &options, &world));
    open_all(world, e);
    for (int64_t n = 0; n < MESSAGES; n++)
        for (int r = 0; r < RANKS; r++) {
            const tutti_control_message message = {
                .kind = TUTTI_CONTROL_ASK, .value = {n}, .text = "number"};
            ck_assert_ok(tutti_control_broadcast(e[r].control, &message));
        }
    if (!_i) ck_assert_int_gt(tutti_control_sending(e[0].control), 0);
    for (int turn = 0; turn < 20 * MESSAGES; turn++)
        for (int r = 0, moved = 0; r < RANKS; r++)
            ck_assert_ok(tutti_control_poll(e[r].control, &moved));
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(e[r].heard, (RANKS - 1) * MESSAGES);
        ck_assert_int_eq(e[r].echoes, (RANKS - 1) * MESSAGES);
        ck_assert_int_eq(tutti_control_sending(e[r].control), 0);
    }
    close_all(e);
    tutti_loop_world_free(world);
}
END_TEST

/* Nobody listens any more: sent messages are dropped. */
START_TEST(a_message_without_a_receiver_is_let_go)
{
    tutti_loop_world *world;
    end e[RANKS];
    const tutti_loop_options options = {.eager_bytes = 0};
    const tutti_control_message message = {.kind = TUTTI_CONTROL_BYE};
    int moved = 0;
    ck_assert_ok(tutti_loop_world_new(RANKS, &options, &world));
    open_all(world, e);
    for (int i = 0; i < 3; i++) ck_assert_ok(tutti_control_send(e[0].control, 1, &message));
    ck_assert_ok(tutti_control_poll(e[1].control, &moved)); /* no handler: dropped */
    ck_assert_int_eq(moved, 1);
    tutti_control_stop(NULL);
    tutti_control_free(NULL);
    ck_assert_ok(tutti_control_send(e[0].control, 2, &message));
    ck_assert_ok(tutti_control_send(e[0].control, 2, &message));
    ck_assert_int_gt(tutti_control_sending(e[0].control), 0);
    close_all(e);
    tutti_loop_world_free(world);
}
END_TEST

/* A transport that fails while its messages are under way. */
static int fails, abandoned;
static tutti_status (*test_really)(tutti_transport *t, tutti_message *message, int *done);
static void (*abandon_really)(tutti_transport *t, tutti_message *message);

static tutti_status fail_first(tutti_transport *t, tutti_message *message, int *done)
{
    return fails ? TUTTI_ERR_COMM : test_really(t, message, done);
}

static void count_abandoned(tutti_transport *t, tutti_message *message)
{
    abandoned++;
    abandon_really(t, message);
}

/* What has failed and not ended stays under way: the transport may still use its memory. */
START_TEST(a_failure_is_no_end)
{
    tutti_loop_world *world;
    end e[RANKS];
    const tutti_loop_options options = {.eager_bytes = 0};
    const tutti_control_message message = {.kind = TUTTI_CONTROL_BYE};
    int moved = 0;
    ck_assert_ok(tutti_loop_world_new(RANKS, &options, &world));
    open_all(world, e);
    tutti_transport_ops ops = *e[0].transport->ops;
    test_really = ops.test;
    abandon_really = ops.abandon;
    ops.test = fail_first;
    ops.abandon = count_abandoned;
    e[0].transport->ops = &ops;
    for (int i = 0; i < RANKS; i++) /* more than there are receives */
        ck_assert_ok(tutti_control_send(e[0].control, 1, &message));
    const int sending = tutti_control_sending(e[0].control);
    ck_assert_int_gt(sending, 0);
    fails = 1;
    ck_assert_int_eq(tutti_control_poll(e[0].control, &moved), TUTTI_ERR_COMM);
    ck_assert_int_eq(tutti_control_sending(e[0].control), sending);
    fails = _i;
    ck_assert_ok(tutti_control_poll(e[1].control, &moved));
    ck_assert_int_eq(tutti_control_poll(e[0].control, &moved), _i ? TUTTI_ERR_COMM : TUTTI_OK);
    ck_assert_int_eq(tutti_control_sending(e[0].control), _i ? sending : 0);
    if (!_i) { /* and a receive */
        fails = 1;
        ck_assert_int_eq(tutti_control_poll(e[0].control, &moved), TUTTI_ERR_COMM);
    }
    abandoned = 0;
    close_all(e);
    ck_assert_int_eq(abandoned, RANKS - 1 + (_i ? sending : 0));
    tutti_loop_world_free(world);
}
END_TEST

static void count_message(void *ctx, const tutti_control_message *message)
{
    end *e = ctx;
    e->next[message->from] += message->value[0];
    e->heard++;
}

static tutti_control *part_of(end *e, int self, int64_t key)
{
    tutti_control *part;
    tutti_members members;
    ck_assert_ok(tutti_members_of_edge(key, self, &members));
    ck_assert_ok(tutti_control_part(e->control, &members, &part));
    tutti_members_free(&members);
    tutti_control_handle(part, TUTTI_CONTROL_ASK, count_message, e);
    return part;
}

typedef struct opener {
    end *e;
    int64_t key;
    tutti_control *part;
} opener;

static void open_part(void *ctx, int64_t key)
{
    opener *o = ctx;
    o->key = key;
    o->part = part_of(o->e, 0, key);
}

/* The ranks of a part are its own; a message for a part that is not open yet opens it. */
START_TEST(parts_have_their_own_ranks_and_handlers)
{
    tutti_loop_world *world;
    end e[RANKS];
    const int64_t key = tutti_edge_key(2, 0, 5), other = tutti_edge_key(2, 0, 6);
    const tutti_control_message message = {.kind = TUTTI_CONTROL_ASK, .value = {3}};
    int moved = 0;
    ck_assert_ok(tutti_loop_world_new(RANKS, NULL, &world));
    open_all(world, e);
    opener late = {.e = &e[0]};
    tutti_control_unknown(e[0].control, open_part, &late);
    tutti_control *sender = part_of(&e[2], 2, key), *stranger = part_of(&e[2], 2, other);
    ck_assert_int_eq(tutti_control_rank(sender), 0);
    ck_assert_int_eq(tutti_control_whole_rank(sender, 1), 0);
    ck_assert_ok(tutti_control_broadcast(sender, &message));
    ck_assert_ok(tutti_control_poll(e[0].control, &moved));
    ck_assert(late.key == key);
    ck_assert_int_eq(e[0].heard, 1);
    ck_assert_int_eq(e[0].next[0], 3); /* from the part's rank 0 */
    ck_assert_int_eq(e[1].heard, 0);
    tutti_control_unknown(e[0].control, NULL, NULL);
    ck_assert_ok(tutti_control_broadcast(stranger, &message)); /* dropped */
    ck_assert_ok(tutti_control_poll(e[0].control, &moved));
    ck_assert_int_eq(e[0].heard, 1);
    tutti_control *parts[] = {sender, stranger, late.part};
    for (int i = 0; i < 3; i++) {
        tutti_control_stop(parts[i]);
        tutti_control_free(parts[i]);
    }
    close_all(e);
    tutti_loop_world_free(world);
}
END_TEST

static void count_sender(void *ctx, const tutti_control_message *message)
{
    int *received = ctx;
    ck_assert_int_eq(message->value[0], received[message->from]++);
}

/* A thousand ranks: the memory of each does not grow with them, and a poll takes what comes from any. */
START_TEST(many_ranks_cost_no_more_than_a_few)
{
    enum { MANY = 1024, TO = 5, EACH = 2 };
    static int received[MANY];
    tutti_loop_world *world;
    tutti_transport **transport = calloc(MANY, sizeof *transport);
    tutti_control **control = calloc(MANY, sizeof *control);
    int moved = 1, polls = 0;
    ck_assert(transport && control);
    ck_assert_ok(tutti_loop_world_new(MANY, NULL, &world));
    for (int r = 0; r < MANY; r++) {
        ck_assert_ok(tutti_transport_loop(world, r, LANE + 1, &transport[r]));
        ck_assert_ok(tutti_control_open(transport[r], LANE, &control[r]));
    }
    tutti_control_handle(control[TO], TUTTI_CONTROL_ASK, count_sender, received);
    for (int64_t n = 0; n < EACH; n++)
        for (int r = 0; r < MANY; r++) {
            const tutti_control_message message = {.kind = TUTTI_CONTROL_ASK, .value = {n}};
            if (r != TO) ck_assert_ok(tutti_control_send(control[r], TO, &message));
        }
    for (; moved; polls++) {
        moved = 0;
        ck_assert_ok(tutti_control_poll(control[TO], &moved));
    }
    ck_assert_int_lt(polls, EACH * MANY / 32);
    for (int r = 0; r < MANY; r++) ck_assert_int_eq(received[r], r == TO ? 0 : EACH);
    for (int r = 0; r < MANY; r++) {
        tutti_control_stop(control[r]);
        transport[r]->ops->close(transport[r]);
        tutti_control_free(control[r]);
    }
    tutti_loop_world_free(world);
    free(transport);
    free(control);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("control");
    TCase *tcase = testing_case(suite, "control");
    tcase_add_loop_test(tcase, messages_arrive_in_order, 0, 2);
    tcase_add_test(tcase, a_message_without_a_receiver_is_let_go);
    tcase_add_loop_test(tcase, a_failure_is_no_end, 0, 2);
    tcase_add_test(tcase, parts_have_their_own_ranks_and_handlers);
    tcase_add_test(tcase, many_ranks_cost_no_more_than_a_few);
    return testing_run(suite);
}
