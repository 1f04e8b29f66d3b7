/* The explorer: schedules of a world (tests/deadlock/world.h), all of them or random ones, each
 * judged.
 *
 * A schedule is the list of choices that decide what happens next. Random ones are drawn from a
 * seed, which replays them. All of them means depth first, each schedule from the start in a world
 * of its own (the real code has no way back), left where it comes to a state seen before.
 *
 * All of them are fewer with this reduction: what cannot make a difference is not a choice but is
 * done at once. These are feeds, computations and fetches (they touch their own rank's tensors only,
 * in an order that the graph fixes), and a pass of a rank on which no collective has been made ready
 * since its last pass: it starts nothing new, it only takes what has arrived, which is there for
 * every later pass just as well, and makes more possible and nothing impossible. What remains is the
 * order in which workers reach collectives, on each rank and between ranks, and when a pass sees
 * them. The full exploration, with every step a choice, ends in the same states: explore_all does
 * either. */
#ifndef TUTTI_TEST_EXPLORE_H
#define TUTTI_TEST_EXPLORE_H

#include "tests/deadlock/world.h"

typedef struct explore_result {
    int64_t schedules, right, hangs, wrong, mismatches, errors;
    int64_t states;          /* of explore_all, without those done at once */
    uint64_t ends;           /* of explore_all: a hash of the set of final states */
    int cut;                 /* explore_all: `most` was reached before the end */
    world_verdict first_bad; /* the first verdict that is not WORLD_RIGHT */
    uint64_t first_bad_seed; /* of explore_random: replays it */
    char what[512];          /* a sentence about it, with what replays it */
} explore_result;

/* Results are added to *result, which begins zeroed. A status other than OK is the explorer's own
 * failure. */

/* `batches` random schedules from one seed in one world (a new one after a schedule that ends
 * badly): speeds of ranks, the order of tasks, passes, and how late messages are seen. */
tutti_status explore_random(
    const program_setting *setting, uint64_t seed, int batches, explore_result *result);
/* Every schedule, at most `most`. full: without the reduction. */
tutti_status explore_all(
    const program_setting *setting, int64_t most, int full, explore_result *result);

/* A setting drawn from a seed: ranks, design, lanes, workers, algorithm, collectives of all kinds,
 * their sizes, what reads what, steps. The caller frees it with program_clear. NOMEM. */
tutti_status explore_draw(uint64_t seed, program_setting *setting);
/* k float sums of equal or different sizes on every rank, nothing ordering them; one lane, one
 * worker. NOMEM. */
tutti_status explore_sums(
    const tutti_design *design, int ranks, int k, int steps, int equal, program_setting *setting);
/* Counts one more schedule that ended so. Returns whether it is the first bad one. */
int explore_book(explore_result *result, world_verdict verdict);
/* "chained, 3 ranks, 2 workers, 1 lane, ..." into text; returns text. */
char *explore_describe(const program_setting *setting, char *text, size_t size);

#endif
