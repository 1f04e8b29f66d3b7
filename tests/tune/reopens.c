/* designs/exchange/exchange: closes and reopens over one MPI, as --design auto does. Under mpirun. */
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

static tutti_exchange_options with(const char *design, int lanes)
{
    return (tutti_exchange_options){.design = tutti_design_find(design),
        .lanes = lanes,
        .bucket_bytes = -1,
        .chunk_bytes = -1,
        .timeout_s = 20,
        .reopens = 1};
}

/* Every design after others, with sums over all ranks; a mistake ends the sequence. */
START_TEST(designs_follow_each_other)
{
    const tutti_design *order[32];
    int safe = 0;
    for (int i = 0; tutti_designs[i]; i++)
        if (!tutti_designs[i]->unsafe) order[safe++] = tutti_designs[i];
    tutti_exchange *exchange;
    tutti_exchange_options options = with(order[safe - 1]->name, 0);
    ck_assert_ok(tutti_exchange_open(&options, &exchange));
    for (int i = 0; i < 2 * safe - 1; i++) { /* there and back */
        double sum = 2;
        const tutti_design *design = order[i < safe ? i : 2 * safe - 2 - i];
        options = with(design->name, 0);
        ck_assert_ok(tutti_exchange_reopen(&exchange, &options));
        ck_assert_ptr_eq(tutti_exchange_design(exchange), design);
        ck_assert_int_ge(tutti_exchange_granted(exchange), TUTTI_THREAD_SERIALIZED);
        ck_assert_ok(tutti_exchange_call(exchange, "sum",
            &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                .dtype = TUTTI_F64,
                .op = TUTTI_SUM,
                .count = 1,
                .recv = &sum}));
        ck_assert(sum == 2 * tutti_exchange_size(exchange));
    }
    tutti_log_set_level(TUTTI_LOG_NONE);
    options = with("chained", 3); /* chained has one lane */
    ck_assert_int_eq(tutti_exchange_reopen(&exchange, &options), TUTTI_ERR_USAGE);
    ck_assert_ptr_null(exchange);
}
END_TEST

/* The first exchange consumes the caller's transport, so reopening leaves that exchange as it is. */
START_TEST(transports_are_used_once)
{
    tutti_loop_world *world;
    tutti_transport *transport;
    tutti_exchange *exchange;
    const tutti_exchange_options options = with("funneled", 1);
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_ok(tutti_loop_world_new(1, NULL, &world));
    ck_assert_ok(tutti_transport_loop(world, 0, 2, &transport));
    ck_assert_ok(tutti_exchange_open_over(transport, &options, &exchange));
    ck_assert_int_eq(tutti_exchange_reopen(&exchange, &options), TUTTI_ERR_INVAL);
    ck_assert_ok(tutti_exchange_agree(exchange, TUTTI_OK, NULL));
    tutti_exchange_close(exchange);
    tutti_loop_world_free(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reopen");
    TCase *test = testing_case(suite, "reopen");
    tcase_add_test(test, transports_are_used_once);
    tcase_add_test(test, designs_follow_each_other);
    return testing_run(suite);
}
