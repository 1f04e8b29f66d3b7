/* apps/data: the order of images. */
#include "apps/data/sampler.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 16, 17, 99, 100, 101, 1000, 4097};
enum { COUNTS = sizeof counts / sizeof *counts };

START_TEST(an_epoch_has_every_image_once)
{
    int64_t count = counts[_i];
    char *seen = malloc((size_t)count);
    for (int64_t epoch = 0; epoch < 5; epoch++) {
        memset(seen, 0, (size_t)count);
        for (int64_t place = 0; place < count; place++) {
            int64_t image = tutti_sampler_permute(11, epoch, count, place);
            ck_assert(image >= 0 && image < count);
            ck_assert(!seen[image]);
            seen[image] = 1;
        }
    }
    free(seen);
}
END_TEST

/* Pairs (image at position 0, image at position 1) over many epochs are uniform: chi-square over 7*6
 * cells. */
START_TEST(orders_are_evenly_spread)
{
    enum { N = 7, EPOCHS = 42000 };
    int seen[N][N] = {0};
    for (int64_t e = 0; e < EPOCHS; e++)
        seen[tutti_sampler_permute(5, e, N, 0)][tutti_sampler_permute(5, e, N, 1)]++;
    double expected = (double)EPOCHS / (N * (N - 1)), chi = 0;
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            if (a != b) chi += (seen[a][b] - expected) * (seen[a][b] - expected) / expected;
    printf("chi-square of pairs: %.1f at 41 degrees of freedom\n", chi);
    ck_assert_double_lt(chi, 84.0); /* exceeded with probability 1e-4 */
}
END_TEST

START_TEST(epochs_and_seeds_differ)
{
    enum { N = 10000 };
    int same_epoch = 0, same_seed = 0, in_place = 0, follow = 0;
    for (int64_t p = 0; p < N; p++) {
        int64_t image = tutti_sampler_permute(1, 0, N, p);
        same_epoch += image == tutti_sampler_permute(1, 1, N, p);
        same_seed += image == tutti_sampler_permute(2, 0, N, p);
        in_place += image == p;
        follow += p + 1 < N && tutti_sampler_permute(1, 0, N, p + 1) == image + 1;
    }
    /* Each is about Poisson with mean 1. */
    ck_assert_int_lt(same_epoch, 10);
    ck_assert_int_lt(same_seed, 10);
    ck_assert_int_lt(in_place, 10);
    ck_assert_int_lt(follow, 10);
}
END_TEST

/* P ranks with batch b, taken one after another in each step, equal 1 rank with batch P*b. */
START_TEST(ranks_share_the_global_order)
{
    enum { COUNT = 1003, BATCH = 6, STEPS = 400 };
    for (int train = 0; train < 2; train++)
        for (int ranks = 1; ranks <= 5; ranks++) {
            tutti_sampler one = {
                .count = COUNT, .batch = BATCH * ranks, .ranks = 1, .train = train, .seed = 3};
            tutti_sampler many = {
                .count = COUNT, .batch = BATCH, .ranks = ranks, .train = train, .seed = 3};
            int64_t steps = tutti_sampler_steps(&one);
            ck_assert_int_eq(steps, tutti_sampler_steps(&many));
            for (int64_t step = 0; step < (train ? STEPS : steps); step++)
                for (int64_t row = 0; row < BATCH * ranks; row++) {
                    many.rank = (int)(row / BATCH);
                    int64_t epoch, whole = tutti_sampler_image(&one, step, row, &epoch);
                    ck_assert_int_eq(whole, tutti_sampler_image(&many, step, row % BATCH, NULL));
                    ck_assert_int_eq(epoch, train ? step / steps : 0);
                }
        }
}
END_TEST

/* Over all ranks: no image twice in an epoch; an evaluation has every image once, then -1. */
START_TEST(nothing_comes_twice)
{
    enum { COUNT = 103, BATCH = 4, RANKS = 3 };
    for (int train = 0; train < 2; train++) {
        int seen[COUNT] = {0}, past = 0;
        tutti_sampler s = {
            .count = COUNT, .batch = BATCH, .ranks = RANKS, .train = train, .seed = 9};
        int64_t steps = tutti_sampler_steps(&s), first = train ? 5 * steps : 0;
        for (int64_t step = first; step < first + steps; step++)
            for (s.rank = 0; s.rank < RANKS; s.rank++)
                for (int64_t row = 0; row < BATCH; row++) {
                    int64_t image = tutti_sampler_image(&s, step, row, NULL);
                    if (image < 0)
                        past++;
                    else
                        seen[image]++;
                }
        int total = 0;
        for (int i = 0; i < COUNT; i++) {
            ck_assert_int_le(seen[i], 1);
            total += seen[i];
        }
        ck_assert_int_eq(steps, train ? 8 : 9);
        ck_assert_int_eq(total, train ? 96 : COUNT);
        ck_assert_int_eq(past, train ? 0 : 5);
    }
}
END_TEST

START_TEST(absurd_batches_do_not_overflow)
{
    tutti_sampler s = {.count = 100, .batch = INT64_MAX, .rank = 6, .ranks = 7, .train = 1};
    ck_assert_int_eq(tutti_sampler_steps(&s), 0);
    s.train = 0;
    ck_assert_int_eq(tutti_sampler_steps(&s), 1);
    ck_assert_int_eq(tutti_sampler_image(&s, 0, 99, NULL), -1);
    s.rank = 0;
    ck_assert_int_eq(tutti_sampler_image(&s, 0, 99, NULL), 99);
    ck_assert_int_eq(tutti_sampler_image(&s, 0, 100, NULL), -1);
}
END_TEST

/* Epochs of a multiple of steps: whole steps of several batches. The batches themselves are the same. */
START_TEST(epochs_have_a_multiple_of_steps)
{
    tutti_sampler one = {.count = 103, .batch = 5, .ranks = 2, .rank = 1, .train = 1, .seed = 3};
    tutti_sampler four = one, all = one;
    int64_t epoch;
    four.multiple = 4;
    all.multiple = 11;
    ck_assert_int_eq(tutti_sampler_steps(&one), 10);
    ck_assert_int_eq(tutti_sampler_steps(&four), 8);
    ck_assert_int_eq(tutti_sampler_steps(&all), 0);
    for (int64_t step = 0; step < 8; step++)
        ck_assert_int_eq(
            tutti_sampler_image(&four, step, 2, NULL), tutti_sampler_image(&one, step, 2, NULL));
    ck_assert_int_eq(
        tutti_sampler_image(&four, 8, 2, &epoch), tutti_sampler_image(&one, 10, 2, NULL));
    ck_assert_int_eq(epoch, 1);
    four.train = 0;
    ck_assert_int_eq(tutti_sampler_steps(&four), 11);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *tcase = testing_case(suite, "sampler");
    tcase_add_loop_test(tcase, an_epoch_has_every_image_once, 0, COUNTS);
    tcase_add_test(tcase, orders_are_evenly_spread);
    tcase_add_test(tcase, epochs_and_seeds_differ);
    tcase_add_test(tcase, ranks_share_the_global_order);
    tcase_add_test(tcase, nothing_comes_twice);
    tcase_add_test(tcase, absurd_batches_do_not_overflow);
    tcase_add_test(tcase, epochs_have_a_multiple_of_steps);
    return testing_run(suite);
}
