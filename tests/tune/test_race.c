/* apps/tune: races and the search, with made-up times. */
#include "apps/tune/search.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed, drawn;

static double uniform(void)
{
    return tutti_rng_uniform(seed, 1, drawn++);
}

/* ---- races ---- */

/* A machine's times: noise of a few percent, slow drift that affects all candidates, and now and then a
 * disturbance. */
static double disturbed(double true_s)
{
    double drift = 1 + 0.1 * sin(1e-2 * (double)drawn);
    double spike = uniform() < 0.05 ? 1.5 : 1;
    return true_s * drift * spike * (1 + 0.02 * (uniform() - 0.5));
}

/* Runs a race between candidates with these true times; returns the winner. */
static int race_of(int candidates, const double true_s[], double (*measure)(double), int *blocks)
{
    tutti_race race;
    int next;
    tutti_race_begin(&race, candidates);
    for (*blocks = 0; (next = tutti_race_next(&race)) >= 0; ++*blocks) {
        ck_assert_int_lt(*blocks, candidates * TUTTI_RACE_ROUNDS);
        ck_assert_int_gt(tutti_race_left(&race), 0);
        tutti_race_time(&race, measure(true_s[next]));
    }
    ck_assert_int_eq(tutti_race_left(&race), 0);
    return tutti_race_winner(&race);
}

static double exactly(double true_s)
{
    return true_s;
}

START_TEST(race_finds_the_fastest)
{
    int blocks;
    const double one[] = {1}, apart[] = {1.2, 1, 3, 1.04}, alike[] = {1, 0.995, 0.992},
                 last[] = {1, 1, 1, 1, 1, 1, 1, 0.9};
    ck_assert_int_eq(race_of(1, one, exactly, &blocks), 0);
    ck_assert_int_eq(blocks, 0);
    ck_assert_int_eq(race_of(4, apart, exactly, &blocks), 1);
    ck_assert_int_le(blocks, 4 + 3 + 3 + 2 * 2); /* candidates far behind are not timed again */
    ck_assert_int_eq(race_of(3, alike, exactly, &blocks), 0); /* the simplest of equals */
    ck_assert_int_eq(blocks, 9);
    ck_assert_int_eq(race_of(8, last, exactly, &blocks), 7);
}
END_TEST

/* The winner is nearly as fast as the fastest, despite noise. */
START_TEST(race_bears_noise)
{
    enum { RACES = 2000 };
    int blocks, wrong = 0;
    for (int i = 0; i < RACES; i++) {
        double true_s[TUTTI_RACE_MOST], least = INFINITY;
        int candidates = 2 + (int)(uniform() * (TUTTI_RACE_MOST - 1));
        for (int c = 0; c < candidates; c++) {
            true_s[c] = 0.01 * (1 + uniform());
            least = fmin(least, true_s[c]);
        }
        int winner = race_of(candidates, true_s, disturbed, &blocks);
        wrong += true_s[winner] > 1.03 * least;
    }
    ck_assert_msg(wrong < RACES / 30, "%d of %d winners are more than 3 %% too slow", wrong, RACES);
}
END_TEST

/* If time runs out during a round, the times so far decide. */
START_TEST(race_can_be_left)
{
    tutti_race race;
    tutti_race_begin(&race, 3);
    ck_assert_int_eq(tutti_race_winner(&race), 0);
    ck_assert(tutti_race_median(&race, 0) == 0 && tutti_race_ratio(&race, 0, 1) == 1);
    tutti_race_time(&race, 2);
    tutti_race_time(&race, 1);
    ck_assert_int_eq(tutti_race_winner(&race), 0);
    ck_assert_int_eq(tutti_race_left(&race), 1);
    tutti_race_time(&race, 2.5);
    ck_assert_int_eq(tutti_race_winner(&race), 1);
    tutti_race_time(&race, 1.1);
    ck_assert_int_eq(tutti_race_winner(&race), 1);
    tutti_race_begin(&race, 2); /* slightly faster, once: not enough to leave the default */
    tutti_race_time(&race, 1.05);
    tutti_race_time(&race, 1);
    ck_assert_int_eq(tutti_race_winner(&race), 0);
}
END_TEST

/* ---- the search ---- */

/* Two ranks: the slower one's time counts. Lanes and large buckets help rank 0 and slow down rank 1. */
static double two_ranks(const tutti_configuration *configuration)
{
    double bucket = configuration->bucket_bytes < 0 ? 100e3 : (double)configuration->bucket_bytes;
    double first = 1 + 0.1 * fabs(log(bucket / 1600e3)) - 0.02 * configuration->lanes;
    double second = 0.5 + 0.3 * configuration->lanes + 0.1 * fabs(log(bucket / 25e3));
    return first > second ? first : second;
}

/* More lanes are better, and so are buckets near 400 kB. */
static double likes_lanes(const tutti_configuration *configuration)
{
    double bucket = configuration->bucket_bytes < 0 ? 100e3 : (double)configuration->bucket_bytes;
    return 3 - 0.1 * configuration->lanes + 0.2 * fabs(log(bucket / 400e3)) +
           (configuration->design == tutti_design_find("sequential"));
}

static const tutti_search_space everything = {.design_free = 1,
    .bucket_bytes = -1,
    .chunk_bytes = -1,
    .priority = -1,
    .default_bytes = 100000,
    .all_bytes = 800000,
    .largest_bytes = 90000};

static tutti_search_space space_of(const char *base)
{
    tutti_search_space space = everything;
    space.base = tutti_design_find(base);
    return space;
}

static tutti_configuration search_in(
    const tutti_search_space *space, double (*measure)(const tutti_configuration *), int *blocks)
{
    tutti_search search;
    tutti_configuration configuration;
    tutti_search_begin(&search, space);
    for (*blocks = 0; tutti_search_next(&search, &configuration); ++*blocks) {
        ck_assert_int_lt(*blocks, 100);
        ck_assert(tutti_search_allows(space, &configuration));
        ck_assert(!configuration.design->unsafe);
        if (tutti_search_time(&search, measure(&configuration), 50)) tutti_search_step(&search);
    }
    return tutti_search_best(&search);
}

START_TEST(search_turns_every_knob)
{
    int blocks;
    tutti_search_space space = space_of("funneled");
    tutti_configuration best = search_in(&space, likes_lanes, &blocks);
    ck_assert_str_eq(best.design->name, "concurrent");
    ck_assert_int_eq(best.lanes, 8);
    ck_assert_int_eq(best.bucket_bytes, 401000);
    ck_assert_int_le(blocks, 60);

    best = search_in(&space, two_ranks, &blocks);
    ck_assert_int_eq(best.lanes, 1);
    double found = two_ranks(&best);
    for (int i = 0; tutti_designs[i]; i++)
        for (int lanes = 1; lanes <= 8; lanes++)
            for (int64_t bytes = 25000; bytes <= 800000; bytes *= 2) {
                const tutti_configuration other = {tutti_designs[i], lanes, bytes, -1, 1};
                /* Steps by factors of 4 get this close. */
                ck_assert(!tutti_search_allows(&space, &other) || two_ranks(&other) > found / 1.2);
            }
}
END_TEST

START_TEST(search_keeps_what_is_fixed)
{
    int blocks;
    tutti_search_space space = space_of("concurrent");
    space.lanes = 3;
    ck_assert_int_eq(search_in(&space, likes_lanes, &blocks).lanes, 3);
    space = space_of("funneled"); /* the default has only one lane */
    space.lanes = 3;
    ck_assert_int_eq(search_in(&space, likes_lanes, &blocks).lanes, 3);
    space = space_of("chained");
    space.design_free = 0;
    ck_assert_str_eq(search_in(&space, likes_lanes, &blocks).design->name, "chained");
    space = space_of("funneled");
    space.bucket_bytes = 12345;
    space.chunk_bytes = 0;
    space.priority = 0;
    ck_assert_int_eq(search_in(&space, likes_lanes, &blocks).bucket_bytes, 12345);
    space.design_free = 0;
    search_in(&space, likes_lanes, &blocks);
    ck_assert_int_eq(blocks, 0);
    space = space_of("funneled");
    const tutti_configuration naive = {tutti_design_find("naive"), 1, -1, -1, 0};
    ck_assert(!tutti_search_allows(&space, &naive));
}
END_TEST

/* Small chunks are good, and so is the agreed order. */
static double likes_small_chunks(const tutti_configuration *configuration)
{
    double chunk = configuration->chunk_bytes < 0    ? 1e6
                   : configuration->chunk_bytes == 0 ? 8e6
                                                     : (double)configuration->chunk_bytes;
    return 1 + 1e-7 * chunk - 0.1 * configuration->priority;
}

START_TEST(search_knows_chunks_and_order)
{
    int blocks;
    tutti_search_space space = space_of("funneled");
    space.default_bytes = 4000000;
    space.all_bytes = space.largest_bytes = 8000000;
    tutti_configuration best = search_in(&space, likes_small_chunks, &blocks);
    ck_assert_int_eq(best.chunk_bytes, 256 << 10);
    ck_assert_int_eq(best.priority, 1);
    space.chunk_bytes = 1000000;
    space.priority = 0;
    best = search_in(&space, likes_small_chunks, &blocks);
    ck_assert(best.chunk_bytes == 1000000 && !best.priority);
    /* Nothing is larger than the smallest chunk: no choice. */
    space = space_of("funneled");
    space.all_bytes = space.default_bytes;
    ck_assert_int_eq(search_in(&space, likes_small_chunks, &blocks).chunk_bytes, -1);
}
END_TEST

/* One bucket holds everything: a larger one makes no difference. */
START_TEST(search_knows_small_models)
{
    int blocks;
    tutti_search_space space = space_of("funneled");
    space.design_free = 0;
    space.all_bytes = space.default_bytes;
    space.priority = 0;
    ck_assert_int_eq(search_in(&space, likes_lanes, &blocks).bucket_bytes, -1);
    ck_assert_int_eq(blocks, 0);
}
END_TEST

START_TEST(configurations_travel_and_read_as_options)
{
    char text[TUTTI_CONFIGURATION_TEXT];
    int64_t number[TUTTI_CONFIGURATION_NUMBERS];
    const tutti_configuration configuration = {
        tutti_design_find("concurrent"), 8, 545000, 4 << 20, 1};
    tutti_configuration other;
    tutti_configuration_pack(&configuration, number);
    tutti_configuration_unpack(number, &other);
    ck_assert(tutti_configuration_equal(&configuration, &other));
    ck_assert_str_eq(tutti_configuration_text(&configuration, text),
        "--design concurrent --lanes 8 --bucket-mb 0.545 --chunk-mb 4.194304 --priority on");
    const tutti_configuration plain = {tutti_design_find("chained"), 1, -1, -1, 1};
    ck_assert_str_eq(tutti_configuration_text(&plain, text), "--design chained");
    ck_assert(!tutti_configuration_equal(&configuration, &plain));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("race");
    seed = testing_seed(20260504);
    TCase *test = testing_case(suite, "race");
    tcase_add_test(test, race_finds_the_fastest);
    tcase_add_test(test, race_bears_noise);
    tcase_add_test(test, race_can_be_left);
    test = testing_case(suite, "search");
    tcase_add_test(test, search_turns_every_knob);
    tcase_add_test(test, search_keeps_what_is_fixed);
    tcase_add_test(test, search_knows_chunks_and_order);
    tcase_add_test(test, search_knows_small_models);
    tcase_add_test(test, configurations_travel_and_read_as_options);
    return testing_run(suite);
}
