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

/* A bound on the steps of an epoch leaves out a part of its end, and an evaluation has none. */
START_TEST(epochs_have_a_bound)
{
    tutti_sampler s = {.count = 40, .batch = 3, .ranks = 2, .train = 1, .seed = 4}, bound = s;
    int64_t epoch = 0;
    ck_assert_int_eq(tutti_sampler_steps(&s), 6);
    bound.most = 5;
    ck_assert_int_eq(tutti_sampler_steps(&bound), 5);
    bound.multiple = 2;
    ck_assert_int_eq(tutti_sampler_steps(&bound), 4);
    for (int64_t row = 0; row < 3; row++) {
        ck_assert_int_eq(tutti_sampler_image(&bound, 5, row, &epoch),
            tutti_sampler_image(&s, 6 + 1, row, NULL)); /* the second step of the second epoch */
        ck_assert_int_eq(epoch, 1);
    }
    bound.train = 0;
    bound.most = 1;
    ck_assert_int_eq(tutti_sampler_steps(&bound), 7);
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

/* ---- windows ---- */

static const int64_t windows[] = {2, 3, 10, 50, 64, 99, 1000, 5000};
enum { WINDOWS = sizeof windows / sizeof *windows };

/* The order of an epoch as one step of one rank. */
static int64_t *order_of(int64_t count, int64_t window, uint64_t seed, int64_t epoch)
{
    const tutti_sampler s = {
        .count = count, .batch = count, .ranks = 1, .train = 1, .window = window, .seed = seed};
    int64_t *order = malloc((size_t)count * sizeof *order), in;
    ck_assert_ptr_nonnull(order);
    for (int64_t row = 0; row < count; row++) {
        order[row] = tutti_sampler_image(&s, epoch, row, &in);
        ck_assert_int_eq(in, epoch);
        ck_assert(order[row] >= 0 && order[row] < count);
    }
    return order;
}

/* Whether these places hold images that follow each other in the data set, in any order. */
static int is_run(const int64_t *order, int64_t places, int64_t count)
{
    char *is_there = calloc((size_t)count, 1);
    int64_t length = 0, first;
    ck_assert_ptr_nonnull(is_there);
    for (int64_t p = 0; p < places; p++) is_there[order[p]] = 1;
    /* The first image is the one whose predecessor is missing. */
    for (first = 0; first < count; first++)
        if (is_there[first] && !is_there[(first + count - 1) % count]) break;
    while (length < count && is_there[(first + length) % count]) length++;
    free(is_there);
    return length == places;
}

START_TEST(windows_have_every_image_once)
{
    int64_t count = counts[_i];
    char *seen = malloc((size_t)count);
    for (int w = 0; w < WINDOWS; w++)
        for (int64_t epoch = 0; epoch < 4; epoch++) {
            int64_t *order = order_of(count, windows[w], 11, epoch);
            memset(seen, 0, (size_t)count);
            for (int64_t place = 0; place < count; place++) ck_assert(!seen[order[place]]++);
            free(order);
        }
    free(seen);
}
END_TEST

/* Whoever reads G places reads one run of G images. */
START_TEST(windows_are_runs_of_the_data_set)
{
    int64_t count = counts[_i];
    for (int w = 0; w < WINDOWS; w++)
        for (int64_t epoch = 0; epoch < 4 && windows[w] < count; epoch++) {
            int64_t *order = order_of(count, windows[w], 7, epoch);
            for (int64_t first = 0; first < count; first += windows[w]) {
                int64_t left = count - first;
                ck_assert_msg(is_run(order + first, left < windows[w] ? left : windows[w], count),
                    "%lld images, windows of %lld, epoch %lld: place %lld begins no run",
                    (long long)count, (long long)windows[w], (long long)epoch, (long long)first);
            }
            free(order);
        }
}
END_TEST

/* Of 100 windows of 100 images: where each begins, and the order within, change from epoch to epoch and from
 * seed to seed; neither has a pattern. */
START_TEST(windows_are_shuffled)
{
    enum { N = 10000, G = 100 };
    int64_t *one = order_of(N, G, 1, 0), *next = order_of(N, G, 1, 1),
            *other = order_of(N, G, 2, 0);
    int in_place = 0, same_epoch = 0, same_seed = 0, follow = 0, runs_follow = 0, same_within = 0;
    for (int p = 0; p < N; p++) {
        in_place += one[p] == p;
        same_epoch += one[p] == next[p];
        same_seed += one[p] == other[p];
        follow += p + 1 < N && one[p + 1] == (one[p] + 1) % N;
    }
    for (int p = 0; p + G < N; p += G) {
        int64_t least = one[p], after = one[p + G];
        for (int i = 0; i < G; i++) {
            same_within += (one[p + i] - one[p] + N) % N == (one[p + G + i] - one[p + G] + N) % N;
            if ((least - one[p + i] + N) % N < G) least = one[p + i];
            if ((after - one[p + G + i] + N) % N < G) after = one[p + G + i];
        }
        runs_follow += (least + G) % N == after;
    }
    printf("%d in place, %d and %d again, %d of %d and %d of %d runs follow each other\n", in_place,
        same_epoch, same_seed, follow, N, runs_follow, N / G);
    /* Each is about Poisson with mean 1; images follow each other within a run of 100 with probability 1/100,
     * and in two runs the first image is in its own place. */
    ck_assert_int_lt(in_place, 10);
    ck_assert_int_lt(same_epoch, 10);
    ck_assert_int_lt(same_seed, 10);
    ck_assert_int_lt(runs_follow, 10);
    ck_assert_int_lt(follow, 160);
    ck_assert_int_lt(same_within, 4 * N / G);
    free(one);
    free(next);
    free(other);
}
END_TEST

/* Runs begin somewhere else in every epoch, so that the tail of an epoch, which fills no step, is another one. */
START_TEST(windows_begin_anywhere)
{
    enum { N = 64, G = 16, EPOCHS = 6400 };
    int seen[N] = {0}, first[G] = {0};
    double chi = 0, expected = (double)EPOCHS / N;
    for (int64_t e = 0; e < EPOCHS; e++) {
        const tutti_sampler s = {
            .count = N, .batch = N, .ranks = 1, .train = 1, .window = G, .seed = 5};
        seen[tutti_sampler_image(&s, e, N - 1, NULL)]++;
        first[tutti_sampler_image(&s, e, 0, NULL) % G]++;
    }
    for (int i = 0; i < N; i++) chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    printf("chi-square of the last image: %.1f at 63 degrees of freedom\n", chi);
    ck_assert_double_lt(chi, 114.0); /* exceeded with probability 1e-4 */
    for (int i = 0; i < G; i++) ck_assert_int_gt(first[i], EPOCHS / G / 2);
}
END_TEST

/* P ranks with batch b, and a resumed run, read what one rank with batch P*b reads. */
START_TEST(ranks_share_windows)
{
    enum { COUNT = 1003, BATCH = 6, STEPS = 400 };
    for (int w = 0; w < WINDOWS; w++)
        for (int ranks = 2; ranks <= 4; ranks++) {
            tutti_sampler many = {.count = COUNT,
                .batch = BATCH,
                .ranks = ranks,
                .train = 1,
                .window = windows[w],
                .seed = 3};
            tutti_sampler one = many;
            one.ranks = 1;
            one.batch = BATCH * ranks;
            for (int64_t step = STEPS - 1; step >= 0; step -= 7)
                for (int64_t row = 0; row < BATCH * ranks; row++) {
                    many.rank = (int)(row / BATCH);
                    ck_assert_int_eq(tutti_sampler_image(&one, step, row, NULL),
                        tutti_sampler_image(&many, step, row % BATCH, NULL));
                }
        }
}
END_TEST

/* A window as large as the data set is none, and an evaluation has none. */
START_TEST(windows_have_a_use)
{
    enum { N = 50 };
    tutti_sampler full = {.count = N, .batch = 5, .ranks = 2, .train = 1, .seed = 3};
    tutti_sampler windowed = full;
    windowed.window = N;
    for (int64_t step = 0; step < 20; step++)
        for (int64_t row = 0; row < 5; row++)
            ck_assert_int_eq(tutti_sampler_image(&full, step, row, NULL),
                tutti_sampler_image(&windowed, step, row, NULL));
    windowed.window = 7;
    windowed.train = 0;
    for (int64_t row = 0; row < 5; row++)
        ck_assert_int_eq(tutti_sampler_image(&windowed, 2, row, NULL), 20 + row);
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
    tcase_add_test(tcase, epochs_have_a_bound);
    tcase_add_test(tcase, epochs_have_a_multiple_of_steps);
    tcase_add_loop_test(tcase, windows_have_every_image_once, 0, COUNTS);
    tcase_add_loop_test(tcase, windows_are_runs_of_the_data_set, 0, COUNTS);
    tcase_add_test(tcase, windows_are_shuffled);
    tcase_add_test(tcase, windows_begin_anywhere);
    tcase_add_test(tcase, ranks_share_windows);
    tcase_add_test(tcase, windows_have_a_use);
    return testing_run(suite);
}
