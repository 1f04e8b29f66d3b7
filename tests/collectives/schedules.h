/* Schedules of all ranks, for tests. */
#ifndef TUTTI_TEST_SCHEDULES_H
#define TUTTI_TEST_SCHEDULES_H

#include "collectives/sched/price.h"
#include "collectives/sched/sched.h"

enum { MOST_RANKS = 17, DIFFERENT = -1 /* extra vectors: 1, 2, 0, 1, ... */ };

typedef struct schedule_row {
    const char *name;
    tutti_coll_kind kind;
    tutti_sched_builder build;
} schedule_row;

enum { SCHEDULE_ROWS = 32 };
extern const schedule_row schedule_rows[SCHEDULE_ROWS];

typedef struct schedules {
    int P;
    const tutti_sched *ranks[MOST_RANKS];
} schedules;

/* Every rank's schedule of this shape; counts[r], NULL: none. */
schedules schedules_of_shape(
    const schedule_row *row, const tutti_sched_shape *like, int64_t counts[][2 * MOST_RANKS]);
schedules schedules_build(
    const schedule_row *row, int P, int root, int64_t count, int64_t segment, int in_place);
void schedules_free(schedules *a);
/* The price on a star: a latency, seconds a byte of each host's cable, and of reductions. */
tutti_sched_price schedules_price_on_star(const schedules *a, size_t element, size_t wide,
    double latency_us, double beta_s_per_byte, double gamma_s_per_byte);

#endif
