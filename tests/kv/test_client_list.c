/* clients: who may come in, come back or join, and what one who may not is told; hello: what a greeting says survives
 * its bytes. */
#include "designs/kv/client_list.h"
#include "tests/support/testing.h"

#include <math.h>
#include <string.h>

static tutti_client_list client_list;
static char why[TUTTI_CLIENT_WHY];

static void open_client_list(tutti_kv_type type, int clients)
{
    const tutti_hello self = {.servers = 1, .clients = clients, .rule = {.type = type}};
    ck_assert_ok(tutti_client_list_open(&self, &client_list));
    why[0] = 0;
}

/* Worker `worker` of 2 of a client's life. */
static tutti_hello hello_of(int client, int worker, int64_t life)
{
    tutti_hello h = {.servers = 1,
        .clients = client_list.self.clients,
        .rule = client_list.self.rule,
        .client = client,
        .worker = worker,
        .workers = 2,
        .life = life,
        .process = 100 + worker,
        .host = "there"};
    return h;
}

static tutti_client_verdict greet(tutti_hello h, int *first)
{
    return tutti_client_list_admit(&client_list, &h, first, why);
}

static void comes_in(int client, int64_t life)
{
    int first = 0;
    ck_assert_int_eq(greet(hello_of(client, 0, life), &first), TUTTI_CLIENT_WELCOME);
    ck_assert_int_eq(first, 1);
    ck_assert_int_eq(greet(hello_of(client, 1, life), &first), TUTTI_CLIENT_WELCOME);
    ck_assert_int_eq(first, 0);
}

static void is_told(tutti_client_verdict verdict, tutti_hello h, const char *what)
{
    int first = 0;
    ck_assert_int_eq(greet(h, &first), verdict);
    ck_assert_msg(strstr(why, what), "\"%s\" does not say: %s", why, what);
}

START_TEST(workers_of_a_client_come_one_by_one)
{
    open_client_list(TUTTI_KV_SYNC, 2);
    comes_in(1, 7);
    is_told(TUTTI_CLIENT_REFUSED, hello_of(1, 1, 7), "worker 1 of client 1 is here already");
    is_told(TUTTI_CLIENT_LATER, hello_of(1, 0, 8),
        "client 1 is connected already, from there, process 100");
    ck_assert_int_eq(client_list.client_entry[0].state, TUTTI_CLIENT_EXPECTED);
    tutti_client_list_close(&client_list);
}
END_TEST

/* A life is over before the next begins. */
START_TEST(one_that_is_lost_comes_back_when_it_is_gone)
{
    open_client_list(TUTTI_KV_ASYNC, 2);
    comes_in(0, 7);
    client_list.client_entry[0].state = TUTTI_CLIENT_LOST;
    is_told(TUTTI_CLIENT_LATER, hello_of(0, 0, 8), "client 0 is connected already");
    is_told(TUTTI_CLIENT_LATER, hello_of(0, 1, 7), "client 0 is connected already");
    client_list.client_entry[0].state = TUTTI_CLIENT_GONE;
    comes_in(0, 8);
    tutti_client_list_close(&client_list);
}
END_TEST

/* While one is here all have as many workers; those of who is gone do not count. */
START_TEST(numbers_of_workers_are_forgotten_with_the_last)
{
    open_client_list(TUTTI_KV_ASYNC, 2);
    comes_in(0, 7);
    comes_in(1, 8);
    tutti_hello h = hello_of(0, 0, 9);
    h.workers = 1;
    tutti_client_list_leave(&client_list, 0);
    is_told(TUTTI_CLIENT_REFUSED, h, "clients have 2 workers here, you have 1");
    client_list.client_entry[1].state = TUTTI_CLIENT_LOST;
    is_told(TUTTI_CLIENT_REFUSED, h, "clients have 2 workers here, you have 1");
    tutti_client_list_leave(&client_list, 1);
    int first = 0;
    ck_assert_int_eq(greet(h, &first), TUTTI_CLIENT_WELCOME);
    h = hello_of(1, 0, 10);
    is_told(TUTTI_CLIENT_REFUSED, h, "clients have 1 workers here, you have 2");
    tutti_client_list_close(&client_list);
}
END_TEST

/* One that has read an earlier server's file is not refused for good: its own server may yet come. */
START_TEST(who_means_another_server_comes_later)
{
    open_client_list(TUTTI_KV_ASYNC, 2);
    client_list.self.address_number = 5;
    tutti_hello h = hello_of(0, 0, 7);
    h.address_number = 6;
    is_told(TUTTI_CLIENT_LATER, h, "is left from an earlier server");
    h.address_number = 5;
    h.server = 1;
    is_told(TUTTI_CLIENT_LATER, h, "is left from an earlier server");
    h.server = 0;
    int first = 0;
    ck_assert_int_eq(greet(h, &first), TUTTI_CLIENT_WELCOME);
    tutti_client_list_close(&client_list);
}
END_TEST

START_TEST(none_comes_back_in_sync)
{
    open_client_list(TUTTI_KV_SYNC, 2);
    comes_in(0, 7);
    client_list.client_entry[0].state = TUTTI_CLIENT_GONE;
    is_told(TUTTI_CLIENT_REFUSED, hello_of(0, 0, 8),
        "client 0 has left, and with sync none can return");
    tutti_hello h = hello_of(0, 0, 8);
    h.any = 1;
    is_told(TUTTI_CLIENT_REFUSED, h, "with sync no client can join: say which client you are");
    is_told(TUTTI_CLIENT_REFUSED, hello_of(2, 0, 8), "client 2: there may be 2 clients here");
    tutti_client_list_close(&client_list);
}
END_TEST

/* One that joins gets a number beyond those that are expected, also when one of these has left. */
START_TEST(those_who_join_get_numbers_as_long_as_there_is_room)
{
    open_client_list(TUTTI_KV_BOUNDED, 2);
    comes_in(0, 7);
    client_list.client_entry[0].state = TUTTI_CLIENT_GONE;
    for (int n = 0; n < TUTTI_CLIENTS_EXTRA; n++) {
        tutti_hello h = hello_of(0, 0, 100 + n);
        int first = 0;
        h.any = 1;
        ck_assert_int_eq(
            tutti_client_list_admit(&client_list, &h, &first, why), TUTTI_CLIENT_WELCOME);
        ck_assert_int_eq(h.client, 2 + n);
        ck_assert_int_eq(first, 1);
    }
    tutti_hello h = hello_of(0, 0, 99);
    h.any = 1;
    is_told(TUTTI_CLIENT_REFUSED, h, "there is no room for one more client");
    client_list.client_entry[5].state = TUTTI_CLIENT_GONE;
    int first = 0;
    ck_assert_int_eq(tutti_client_list_admit(&client_list, &h, &first, why), TUTTI_CLIENT_WELCOME);
    ck_assert_int_eq(h.client, 5);
    tutti_client_list_close(&client_list);
}
END_TEST

START_TEST(options_are_everybodys)
{
    open_client_list(TUTTI_KV_BOUNDED, 2);
    comes_in(0, 7);
    tutti_hello h = hello_of(1, 0, 8);
    h.rule.bound = 3;
    is_told(TUTTI_CLIENT_REFUSED, h,
        "for 2 clients, type bounded:0; you want server 0 of 1 for 2 clients, type bounded:3");
    h = hello_of(1, 0, 8);
    h.server = 1;
    is_told(TUTTI_CLIENT_REFUSED, h, "this is server 0 of 1");
    h = hello_of(1, 0, 8);
    h.copies = 2;
    is_told(TUTTI_CLIENT_REFUSED, h, "keys have 0 copies here, you want 2");
    h = hello_of(1, 0, 8);
    h.workers = 3;
    is_told(TUTTI_CLIENT_REFUSED, h, "clients have 2 workers here, you have 3");
    tutti_client_list_close(&client_list);
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
        .address_number = INT64_MAX - 1,
        .process = 77,
        .host = "somewhere"};
    tutti_hello read;
    tutti_hello_write(&h, bytes);
    ck_assert(tutti_hello_read(bytes, &read));
    ck_assert_int_eq(read.server, 1);
    ck_assert_int_eq(read.copies, 2);
    ck_assert(tutti_consistency_is_same(&read.rule, &h.rule));
    ck_assert_int_eq(read.worker, 5);
    ck_assert(read.life == INT64_MAX);
    ck_assert(read.address_number == INT64_MAX - 1);
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
    Suite *suite = suite_create("clients");
    TCase *tcase = testing_case(suite, "clients");
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
