/* The explorer as a judge of cases (tests/deadlock/case.h). */
#ifndef TUTTI_TEST_EXPLORE_CASE_H
#define TUTTI_TEST_EXPLORE_CASE_H

#include "tests/deadlock/case.h"
#include "tests/deadlock/explore.h"

typedef struct explore_options {
    uint64_t seed;  /* of random schedules; a result's first_bad_seed replays one */
    int64_t most;   /* limit of schedules */
    int exhaustive; /* every schedule, depth first, instead of random ones */
    int prepared;   /* of these, of keys: those in which all keys have their first values before all else */
} explore_options;

/* Explores schedules of a case; zeroes the result first. Shortens vectors of more than a few
 * thousand elements, equal ones to equal sizes. A status other than OK is a failure of the explorer
 * itself: UNSUPPORTED, NOMEM. */
tutti_status explore_case(
    const deadlock_case *c, const explore_options *options, explore_result *result);

#endif
