/* connections: closing waits for messages whose data other tasks still use. */
#include "designs/kv/connections.h"

#include "dag/base/clock.h"
#include "dag/run/init_starpu.h"
#include "tests/support/testing.h"

#include <starpu.h>
#include <stdatomic.h>
#include <stdlib.h>

static void ignore_message(void *ctx, const tutti_active_message *message)
{
    (void)ctx, (void)message;
}

static void ignore_loss(void *ctx, int peer, const char *why)
{
    (void)ctx, (void)peer, (void)why;
}

/* What it looks at may be gone after a close that gave up. */
static tutti_status count_questions(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
    return TUTTI_OK;
}

static void doze(void *arg, void *const buf[])
{
    (void)arg, (void)buf;
    tutti_clock_sleep(0.3);
}

START_TEST(closing_waits_for_what_is_not_ready)
{
    static float value[1];
    static atomic_int questions;
    struct starpu_conf conf;
    tutti_insert_handle data;
    tutti_status sent = TUTTI_OK, received = TUTTI_OK;
    tutti_connections *connections;
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    conf.catch_signals = 0;
    ck_assert_int_eq(tutti_run_init_starpu(&conf), 0);
    ck_assert_ok(tutti_datum_open_in(value, 1, TUTTI_F32, &data));
    const tutti_connections_user user = {.ctx = &questions,
        .on_message = ignore_message,
        .on_lost = ignore_loss,
        .failure = count_questions,
        .silence_s = 30,
        .tags = 4};
    ck_assert_ok(tutti_connections_open(&user, &connections));

    const tutti_datum_task busy = {
        .name = "doze", .work = doze, .count = 1, .data = {data}, .mode = {TUTTI_WRITE}};
    ck_assert_ok(tutti_datum_submit(&busy));
    const tutti_connections_data to = {
        .peer = 1, .tag = 2, .data = data, .count = 1, .dtype = TUTTI_F32, .result = &sent};
    tutti_connections_data from = to;
    from.result = &received;
    ck_assert_ok(tutti_connections_send(connections, &to));
    ck_assert_ok(tutti_connections_recv(connections, &from));
    ck_assert(!tutti_connections_idle(connections));
    tutti_connections_close(connections);
    tutti_datum_close(data); /* waits for all that uses it */
    ck_assert_int_eq(sent, TUTTI_ERR_COMM);
    ck_assert_int_eq(received, TUTTI_ERR_COMM);
    ck_assert_int_eq(atomic_load(&questions), 0); /* without a connection nothing is to be sent */
    starpu_shutdown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connections");
    TCase *tcase = testing_case(suite, "closing");
    tcase_add_test(tcase, closing_waits_for_what_is_not_ready);
    return testing_run(suite);
}
