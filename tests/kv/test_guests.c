/* guests: who may come in, come back or join, and what one who may not is told; hello: what a greeting says survives
 * its bytes. */
#include "designs/kv/guests.h"
#include "tests/support/testing.h"

#include <math.h>
#include <string.h>

static tutti_guests guests;
static char why[TUTTI_GUEST_WHY];

static void open_guests(tutti_kv_type type, int clients)
{
    const tutti_hello self = {.servers = 1, .clients = clients, .rule = {.type = type}};
    ck_assert_ok(tutti_guests_open(&self, &guests));
    why[0] = 0;
}

/* Worker `worker` of 2 of a client's life. */
static tutti_hello hello_of(int client, int worker, int64_t life)
{
    tutti_hello h = {.servers = 1,
        .clients = guests.self.clients,
        .rule = guests.self.rule,
        .client = client,
        .worker = worker,
        .workers = 2,
        .life = life,
        .process = 100 + worker,
        .host = "there"};
    return h;
}

static tutti_guest_verdict greet(tutti_hello h, int *first)
{
    return tutti_guests_greet(&guests, &h, first, why);
}

static void comes_in(int client, int64_t life)
{
    int first = 0;
    ck_assert_int_eq(greet(hello_of(client, 0, life), &first), TUTTI_GUEST_WELCOME);
    ck_assert_int_eq(first, 1);
    ck_assert_int_eq(greet(hello_of(client, 1, life), &first), TUTTI_GUEST_WELCOME);
    ck_assert_int_eq(first, 0);
    ck_assert_int_eq(guests.guest[client].workers_here, 2);
}

static void is_told(tutti_guest_verdict verdict, tutti_hello h, const char *what)
{
    int first = 0;
    ck_assert_int_eq(greet(h, &first), verdict);
    ck_assert_msg(strstr(why, what), "\"%s\" does not say: %s", why, what);
}

START_TEST(workers_of_a_client_come_one_by_one)
{
    open_guests(TUTTI_KV_SYNC, 2);
    comes_in(1, 7);
    is_told(TUTTI_GUEST_REFUSED, hello_of(1, 1, 7), "worker 1 of client 1 is here already");
    is_told(TUTTI_GUEST_LATER, hello_of(1, 0, 8),
        "client 1 is connected already, from there, process 100");
    ck_assert_int_eq(guests.guest[0].state, TUTTI_GUEST_EXPECTED);
    tutti_guests_close(&guests);
}
END_TEST

/* A life is over before the next begins. */
START_TEST(one_that_is_lost_comes_back_when_it_is_gone)
{
    open_guests(TUTTI_KV_ASYNC, 2);
    comes_in(0, 7);
    guests.guest[0].state = TUTTI_GUEST_LOST;
    is_told(TUTTI_GUEST_LATER, hello_of(0, 0, 8), "client 0 is connected already");
    is_told(TUTTI_GUEST_LATER, hello_of(0, 1, 7), "client 0 is connected already");
    guests.guest[0].state = TUTTI_GUEST_GONE;
    comes_in(0, 8);
    tutti_guests_close(&guests);
}
END_TEST

/* While one is here all have as many workers; those of who is gone do not count. */
START_TEST(numbers_of_workers_are_forgotten_with_the_last)
{
    open_guests(TUTTI_KV_ASYNC, 2);
    comes_in(0, 7);
    comes_in(1, 8);
    tutti_hello h = hello_of(0, 0, 9);
    h.workers = 1;
    tutti_guests_leave(&guests, 0);
    ck_assert_int_eq(guests.guest[0].workers_here, 0);
    is_told(TUTTI_GUEST_REFUSED, h, "clients have 2 workers here, you have 1");
    guests.guest[1].state = TUTTI_GUEST_LOST;
    is_told(TUTTI_GUEST_REFUSED, h, "clients have 2 workers here, you have 1");
    tutti_guests_leave(&guests, 1);
    int first = 0;
    ck_assert_int_eq(greet(h, &first), TUTTI_GUEST_WELCOME);
    h = hello_of(1, 0, 10);
    is_told(TUTTI_GUEST_REFUSED, h, "clients have 1 workers here, you have 2");
    tutti_guests_close(&guests);
}
END_TEST

/* One that has read an earlier server's file is not refused for good: its own server may yet come. */
START_TEST(who_means_another_server_comes_later)
{
    open_guests(TUTTI_KV_ASYNC, 2);
    guests.self.meeting = 5;
    tutti_hello h = hello_of(0, 0, 7);
    h.meeting = 6;
    is_told(TUTTI_GUEST_LATER, h, "is left from an earlier server");
    h.meeting = 5;
    h.server = 1;
    is_told(TUTTI_GUEST_LATER, h, "is left from an earlier server");
    h.server = 0;
    int first = 0;
    ck_assert_int_eq(greet(h, &first), TUTTI_GUEST_WELCOME);
    tutti_guests_close(&guests);
}
END_TEST

START_TEST(none_comes_back_in_sync)
{
    open_guests(TUTTI_KV_SYNC, 2);
    comes_in(0, 7);
    guests.guest[0].state = TUTTI_GUEST_GONE;
    is_told(
        TUTTI_GUEST_REFUSED, hello_of(0, 0, 8), "client 0 has left, and with sync none can return");
    tutti_hello h = hello_of(0, 0, 8);
    h.any = 1;
    is_told(TUTTI_GUEST_REFUSED, h, "with sync no client can join: say which client you are");
    is_told(TUTTI_GUEST_REFUSED, hello_of(2, 0, 8), "client 2: there may be 2 clients here");
    tutti_guests_close(&guests);
}
END_TEST

/* One that joins gets a number beyond those that are expected, also when one of these has left. */
START_TEST(those_who_join_get_numbers_as_long_as_there_is_room)
{
    open_guests(TUTTI_KV_BOUNDED, 2);
    comes_in(0, 7);
    guests.guest[0].state = TUTTI_GUEST_GONE;
    for (int n = 0; n < TUTTI_GUESTS_MORE; n++) {
        tutti_hello h = hello_of(0, 0, 100 + n);
        int first = 0;
        h.any = 1;
        ck_assert_int_eq(tutti_guests_greet(&guests, &h, &first, why), TUTTI_GUEST_WELCOME);
        ck_assert_int_eq(h.client, 2 + n);
        ck_assert_int_eq(first, 1);
    }
    tutti_hello h = hello_of(0, 0, 99);
    h.any = 1;
    is_told(TUTTI_GUEST_REFUSED, h, "there is no room for one more client");
    guests.guest[5].state = TUTTI_GUEST_GONE;
    int first = 0;
    ck_assert_int_eq(tutti_guests_greet(&guests, &h, &first, why), TUTTI_GUEST_WELCOME);
    ck_assert_int_eq(h.client, 5);
    tutti_guests_close(&guests);
}
END_TEST

START_TEST(options_are_everybodys)
{
    open_guests(TUTTI_KV_BOUNDED, 2);
    comes_in(0, 7);
    tutti_hello h = hello_of(1, 0, 8);
    h.rule.bound = 3;
    is_told(TUTTI_GUEST_REFUSED, h,
        "for 2 clients, type bounded:0; you want server 0 of 1 for 2 clients, type bounded:3");
    h = hello_of(1, 0, 8);
    h.server = 1;
    is_told(TUTTI_GUEST_REFUSED, h, "this is server 0 of 1");
    h = hello_of(1, 0, 8);
    h.copies = 2;
    is_told(TUTTI_GUEST_REFUSED, h, "keys have 0 copies here, you want 2");
    h = hello_of(1, 0, 8);
    h.workers = 3;
    is_told(TUTTI_GUEST_REFUSED, h, "clients have 2 workers here, you have 3");
    tutti_guests_close(&guests);
}
END_TEST

START_TEST(a_greeting_survives_its_bytes)
{
    unsigned char bytes[TUTTI_HELLO_BYTES];
    const tutti_hello h = {.server = 1,
        .servers = 2,
        .clients = 3,
        .copies = 2,
        .rule = {.type = TUTTI_KV_ELASTIC, .period = INT64_MAX, .alpha = 0.1},
        .client = 2,
        .worker = 5,
        .workers = 6,
        .life = INT64_MAX,
        .meeting = INT64_MAX - 1,
        .process = 77,
        .host = "somewhere"};
    tutti_hello read;
    tutti_hello_write(&h, bytes);
    ck_assert(tutti_hello_read(bytes, &read));
    ck_assert_int_eq(read.server, 1);
    ck_assert_int_eq(read.copies, 2);
    ck_assert(tutti_book_rule_is_same(&read.rule, &h.rule));
    ck_assert_int_eq(read.worker, 5);
    ck_assert(read.life == INT64_MAX);
    ck_assert(read.meeting == INT64_MAX - 1);
    ck_assert_str_eq(read.host, "somewhere");
}
END_TEST

/* Whoever has the token may still write any numbers. */
START_TEST(a_greeting_is_no_index_out_of_range)
{
    unsigned char bytes[TUTTI_HELLO_BYTES];
    tutti_hello read;
    static const tutti_hello wrong[] = {{.servers = 1, .clients = 1, .worker = 2, .workers = 2},
        {.servers = 1, .clients = 1, .workers = 0},
        {.servers = 1, .clients = 1, .workers = TUTTI_HELLO_WORKERS + 1},
        {.servers = 1, .clients = 1, .workers = 1, .client = -1},
        {.servers = 1, .clients = 1, .workers = 1, .client = 1 << 21},
        {.servers = 1, .clients = 1, .workers = 1, .rule = {.type = (tutti_kv_type)9}},
        {.servers = 1, .clients = 1, .workers = 1, .rule = {.period = 2}},
        {.servers = 1, .clients = 1, .workers = 1, .rule = {.type = TUTTI_KV_ELASTIC}},
        {.servers = 1,
            .clients = 1,
            .workers = 1,
            .rule = {.type = TUTTI_KV_ELASTIC, .period = 1, .alpha = NAN}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_hello_write(&wrong[i], bytes);
        ck_assert(!tutti_hello_read(bytes, &read));
    }
    memset(bytes, 0xff, sizeof bytes);
    ck_assert(!tutti_hello_read(bytes, &read));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guests");
    TCase *tcase = testing_case(suite, "guests");
    tcase_add_test(tcase, workers_of_a_client_come_one_by_one);
    tcase_add_test(tcase, one_that_is_lost_comes_back_when_it_is_gone);
    tcase_add_test(tcase, numbers_of_workers_are_forgotten_with_the_last);
    tcase_add_test(tcase, who_means_another_server_comes_later);
    tcase_add_test(tcase, none_comes_back_in_sync);
    tcase_add_test(tcase, those_who_join_get_numbers_as_long_as_there_is_room);
    tcase_add_test(tcase, options_are_everybodys);
    tcase_add_test(tcase, a_greeting_survives_its_bytes);
    tcase_add_test(tcase, a_greeting_is_no_index_out_of_range);
    return testing_run(suite);
}
