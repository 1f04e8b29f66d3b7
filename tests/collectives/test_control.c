/* control: messages of all ranks over the loop transport, polled on one thread: in order, each once,
 * whether sends are copied or wait for their receiver. */
#include "dag/base/log.h"
#include "collectives/control.h"
#include "tests/support/testing.h"

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
    const tutti_control_message echo = {.kind = TUTTI_CONTROL_TELL};
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
        tutti_control_handle(e[r].control, TUTTI_CONTROL_TELL, count_echo, &e[r]);
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
            ck_assert_ok(tutti_control_tell(e[r].control, &message));
        }
    if (!_i) ck_assert_int_gt(tutti_control_sending(e[0].control), 0);
    for (int turn = 0; turn < 20 * MESSAGES; turn++)
        for (int r = 0, moved = 0; r < RANKS; r++)
            ck_assert_ok(tutti_control_poll(e[r].control, r == 0, &moved));
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
    ck_assert_ok(tutti_control_poll(e[1].control, 1, &moved)); /* no handler: dropped */
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

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("control");
    TCase *tcase = testing_case(suite, "control");
    tcase_add_loop_test(tcase, messages_arrive_in_order, 0, 2);
    tcase_add_test(tcase, a_message_without_a_receiver_is_let_go);
    return testing_run(suite);
}
