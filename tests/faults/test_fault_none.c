/* designs/drive/fault_none: a build without faults refuses TUTTI_FAULT on every rank, with the reason. */
#include "designs/drive/fault.h"
#include "tests/support/testing.h"

#include <stdlib.h>

START_TEST(refuses_the_variable)
{
    static const char *const texts[] = {"rank=1,collective=17,do=skip", "nonsense"};
    tutti_fault *fault = NULL;
    tutti_fault_wish wish = {.rank = 77};
    ck_assert(!tutti_fault_built());
    ck_assert_int_eq(tutti_fault_parse(texts[_i], &wish), TUTTI_ERR_USAGE);
    ck_assert_int_eq(wish.rank, 77);
    setenv("TUTTI_FAULT", texts[_i], 1);
    for (int rank = 0; rank < 3; rank++)
        ck_assert_int_eq(tutti_fault_open(rank, 3, &fault), TUTTI_ERR_USAGE);
    unsetenv("TUTTI_FAULT");
    ck_assert_ptr_null(fault);
}
END_TEST

START_TEST(opens_without_it)
{
    tutti_fault *fault = (tutti_fault *)&fault;
    ck_assert_ok(tutti_fault_open(0, 2, &fault));
    ck_assert_ptr_null(fault);
    setenv("TUTTI_FAULT", "", 1); /* counts as unset */
    ck_assert_ok(tutti_fault_open(0, 2, &fault));
    unsetenv("TUTTI_FAULT");
    tutti_fault_close(fault);
}
END_TEST

/* The driver calls these only with a fault; without one they leave collectives unchanged. */
START_TEST(does_nothing)
{
    tutti_entry entry = {.sequence = 2};
    tutti_coll_args args;
    ck_assert(!tutti_fault_adds(NULL, 2));
    ck_assert_ptr_null(tutti_fault_extra(&args));
    ck_assert_ptr_eq(tutti_fault_admit(NULL, NULL, &entry), &entry);
    tutti_fault_change(NULL, &entry);
    ck_assert(tutti_fault_start(NULL, &entry));
    tutti_fault_end(NULL, &entry);
    ck_assert_int_eq(entry.sequence, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fault_none");
    TCase *tcase = testing_case(suite, "fault_none");
    tcase_add_loop_test(tcase, refuses_the_variable, 0, 2);
    tcase_add_test(tcase, opens_without_it);
    tcase_add_test(tcase, does_nothing);
    return testing_run(suite);
}
