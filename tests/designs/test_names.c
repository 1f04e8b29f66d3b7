/* designs: what an attached program says of its data, by address. */
#include "dag/base/log.h"
#include "designs/attach/names.h"
#include "designs/attach/priorities.h"
#include "tests/support/testing.h"

#include <stdio.h>

enum { ROUNDS = 200000, DATA = 300 };
static char data[DATA]; /* handles */

/* Collectives in flight borrow texts. */
START_TEST(a_name_is_replaced_and_removed)
{
    tutti_names *names;
    ck_assert_ok(tutti_names_open(&names));
    ck_assert_ptr_null(tutti_names_find(names, data));
    ck_assert_ok(tutti_names_give(names, data, NULL));
    ck_assert_ok(tutti_names_give(names, data, "first"));
    const char *first = tutti_names_find(names, data);
    ck_assert_ok(tutti_names_give(names, data, "second"));
    ck_assert_str_eq(tutti_names_find(names, data), "second");
    ck_assert_ok(tutti_names_give(names, data, NULL));
    ck_assert_ptr_null(tutti_names_find(names, data));
    ck_assert_str_eq(first, "first");
    tutti_names_close(names);
}
END_TEST

START_TEST(many_data_have_names)
{
    tutti_names *names;
    char text[32];
    ck_assert_ok(tutti_names_open(&names));
    for (int i = 0; i < DATA; i++) {
        snprintf(text, sizeof text, "weight %d", i);
        ck_assert_ok(tutti_names_give(names, &data[i], text));
    }
    for (int i = 0; i < DATA; i += 2) ck_assert_ok(tutti_names_give(names, &data[i], NULL));
    for (int i = 0; i < DATA; i++) {
        snprintf(text, sizeof text, "weight %d", i);
        if (i % 2)
            ck_assert_str_eq(tutti_names_find(names, &data[i]), text);
        else
            ck_assert_ptr_null(tutti_names_find(names, &data[i]));
    }
    tutti_names_close(names);
}
END_TEST

/* Of a program that registers and unregisters in every step: time and memory do not grow with the steps. */
START_TEST(names_that_come_and_go_cost_nothing)
{
    tutti_names *names;
    ck_assert_ok(tutti_names_open(&names));
    ck_assert_ok(tutti_names_give(names, data, "gradient"));
    const char *kept = tutti_names_find(names, data);
    for (int i = 0; i < ROUNDS; i++) {
        ck_assert_ok(tutti_names_give(names, data, i % 2 ? "gradient" : "weight"));
        ck_assert_ok(tutti_names_give(names, data, NULL));
        ck_assert_ok(tutti_names_give(names, data, "gradient"));
        ck_assert_ptr_eq(tutti_names_find(names, data), kept);
    }
    tutti_names_close(names);
}
END_TEST

/* A later handle has the address of an earlier one, on this rank alone. */
START_TEST(a_priority_is_taken_back)
{
    tutti_priorities priorities = {0};
    ck_assert_ok(tutti_priorities_give(&priorities, data, 5));
    ck_assert_ok(tutti_priorities_give(&priorities, NULL, 2));
    ck_assert_int_eq(tutti_priorities_find(&priorities, data), 5);
    ck_assert_ok(tutti_priorities_give(&priorities, data, 2));
    ck_assert_ok(tutti_priorities_give(&priorities, NULL, 3));
    ck_assert_int_eq(tutti_priorities_find(&priorities, data), 3);
    ck_assert_ok(tutti_priorities_give(&priorities, data, 0));
    ck_assert_int_eq(tutti_priorities_find(&priorities, data), 0);
    tutti_priorities_free(&priorities);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_INFO);
    Suite *suite = suite_create("names");
    TCase *tcase = testing_case(suite, "names");
    tcase_add_test(tcase, a_name_is_replaced_and_removed);
    tcase_add_test(tcase, many_data_have_names);
    tcase_add_test(tcase, names_that_come_and_go_cost_nothing);
    tcase_add_test(tcase, a_priority_is_taken_back);
    return testing_run(suite);
}
