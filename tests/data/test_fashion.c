/* apps/data: the real Fashion-MNIST, if Debian's dataset-fashion-mnist is installed; otherwise exits with 77
 * (skipped). FASHION_MNIST names another folder. */
#include "apps/data/source.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *named = getenv("FASHION_MNIST");
    return named ? named : "/usr/share/datasets/fashion-mnist";
}

START_TEST(it_is_recognised_and_balanced)
{
    static const int64_t counts[] = {[TUTTI_TRAIN] = 60000, [TUTTI_TEST] = 10000};
    for (tutti_split split = TUTTI_TRAIN; split <= TUTTI_TEST; split++) {
        tutti_dataset d = {0};
        int64_t seen[10] = {0};
        ck_assert_ok(tutti_dataset_open(folder(), NULL, split, &d));
        ck_assert_str_eq(d.source->name, "idx");
        ck_assert_int_eq(d.count, counts[split]);
        ck_assert(d.height == 28 && d.width == 28 && d.channels == 1 && d.classes == 10);
        for (int64_t i = 0; i < d.count; i++) {
            uint8_t pixels[28 * 28];
            int32_t label;
            ck_assert_ok(tutti_dataset_read(&d, i, pixels, &label));
            seen[label]++;
        }
        for (int k = 0; k < 10; k++) ck_assert_int_eq(seen[k], counts[split] / 10);
        tutti_dataset_close(&d);
    }
}
END_TEST

/* The published mean and deviation of the training set are 0.2860 and 0.3530. */
START_TEST(its_moments_are_the_published_ones)
{
    tutti_dataset d = {0};
    float mean, deviation;
    ck_assert_ok(tutti_dataset_open(folder(), "idx", TUTTI_TRAIN, &d));
    ck_assert_ok(tutti_dataset_moments(&d, 0, &mean, &deviation));
    ck_assert_float_eq_tol(mean, 0.2860f, 0.004f);
    ck_assert_float_eq_tol(deviation, 0.3530f, 0.004f);
    tutti_dataset_close(&d);
}
END_TEST

int main(void)
{
    if (access(folder(), F_OK)) {
        printf("skipped: %s is not there (apt-get install dataset-fashion-mnist)\n", folder());
        return 77;
    }
    Suite *suite = suite_create("fashion");
    TCase *tcase = testing_case(suite, "fashion");
    tcase_add_test(tcase, it_is_recognised_and_balanced);
    tcase_add_test(tcase, its_moments_are_the_published_ones);
    return testing_run(suite);
}
