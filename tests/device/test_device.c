/* dag/device: a device that is not there is refused; either there is a device, or a sentence says what is missing. */
#include "dag/device/device.h"
#include "tests/support/testing.h"

#include <string.h>

static const tutti_device_kind *const kind = &tutti_device_kind_built;

START_TEST(no_device_beyond_the_last)
{
    tutti_device_info info;
    ck_assert_int_eq(kind->info(-1, &info), TUTTI_ERR_INVAL);
    ck_assert_int_eq(kind->info(kind->count(), &info), TUTTI_ERR_INVAL);
}
END_TEST

START_TEST(each_device_has_a_name_and_memory)
{
    tutti_device_info info;
    for (int i = 0; i < kind->count(); i++) {
        ck_assert_ok(kind->info(i, &info));
        ck_assert(*info.name && *info.bus && info.bytes > 0 && info.major > 0);
    }
}
END_TEST

START_TEST(devices_or_a_sentence)
{
    const char *lacks = kind->lacks();
    ck_assert((lacks != NULL) == (kind->count() == 0));
    if (lacks) ck_assert_uint_gt(strlen(lacks), 20);
    if (lacks && kind->compiled()) ck_assert_int_ge(kind->runtime(), kind->compiled());
    ck_assert(!lacks || kind->lacks() == lacks); /* asking changes nothing */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *tests = tcase_create("device");
    tcase_add_test(tests, no_device_beyond_the_last);
    tcase_add_test(tests, each_device_has_a_name_and_memory);
    tcase_add_test(tests, devices_or_a_sentence);
    suite_add_tcase(suite, tests);
    return testing_run(suite);
}
