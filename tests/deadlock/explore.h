/* The explorer: schedules of a world (tests/deadlock/world.h), all of them or random ones, each
 * judged.
 *
 * A schedule is the list of choices that decide what happens next. Random ones are drawn from a
 * seed, which replays them. All schedules are explored depth first, each from the start in a new
 * world (the real code cannot step back), and abandoned at a state seen before.
 *
 * A reduction makes them fewer: a step that cannot make a difference is not a choice but is done at
 * once. These are feeds, computations and fetches (they touch only their own rank's tensors, in an
 * order fixed by the graph), and a pass of a rank on which no collective has become ready since its
 * last pass: it starts nothing new and only takes what has arrived, which any later pass could
 * do as well; it makes more steps possible and none impossible. What remains is the order in
 * which workers reach collectives, on each rank and between ranks, and when a pass sees them.
 * The full exploration, in which every step is a choice, ends in the same states; explore_all
 * can do both. With priorities it need not: what rank 0 grants depends on which of its passes sees
 * which report. */
#ifndef TUTTI_TEST_EXPLORE_H
#define TUTTI_TEST_EXPLORE_H

#include "tests/deadlock/world.h"

typedef struct explore_result {
    int64_t schedules, right, hangs, wrong, mismatches, errors;
    int64_t states;          /* explore_all: without steps done at once */
    uint64_t ends;           /* explore_all: a hash of the set of final states */
    int cut;                 /* explore_all: `most` was reached before the end */
    world_verdict first_bad; /* the first verdict other than WORLD_RIGHT */
    uint64_t first_bad_seed; /* explore_random: replays it */
    char what[512];          /* a sentence about it, and how to replay it */
} explore_result;

/* These add to *result, which the caller zeroes first. A status other than OK is a failure of the
 * explorer itself. */

/* `batches` random schedules from one seed in one world (a new one after a bad schedule): random
 * are the speeds of ranks, the order of tasks and passes, and how late messages are seen. */
tutti_status explore_random(
    const program_setting *setting, uint64_t seed, int batches, explore_result *result);
/* Every schedule, at most `most`. full: without the reduction. */
tutti_status explore_all(
    const program_setting *setting, int64_t most, int full, explore_result *result);

/* A setting drawn from a seed: ranks, design, lanes, workers, algorithm, collectives of all kinds,
 * their sizes, dependencies, steps, groups, edges, pipelines, strategies. The caller frees it with
 * program_clear. NOMEM. */
tutti_status explore_draw(uint64_t seed, program_setting *setting);
/* Appends the messages of a pipeline's stages to their ranks' programs, and its edges to the groups: 2 to 4 stages on
 * any ranks, values that skip stages, 1f1b with any number of slots or gpipe. At least 2 ranks. NOMEM. */
tutti_status explore_add_pipeline(uint64_t seed, program_setting *setting);
/* Appends the step of a strategy to the programs of all ranks, in 1 to 3 stages of two and more replicas, with
 * layers divided over pairs of them or without. At least 2 ranks; with an agreed order, one stage. NOMEM. */
tutti_status explore_add_strategy(uint64_t seed, program_setting *setting);
/* k float sums of equal or different sizes on every rank, without dependencies; one lane, one
 * worker. NOMEM. */
tutti_status explore_sums(
    const tutti_design *design, int ranks, int k, int steps, int equal, program_setting *setting);
/* Counts a schedule with this verdict. Returns whether it is the first bad one. */
int explore_ledger(explore_result *result, world_verdict verdict);
/* A line with all of it, and the seconds since began_s (dag/base/clock.h). */
void explore_print(const char *title, const explore_result *result, double began_s);
/* "chained, 3 ranks, 2 workers, 1 lane, ..." into text; returns text. */
char *explore_describe(const program_setting *setting, char *text, size_t size);

#endif
