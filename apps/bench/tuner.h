/* What tutti-bench tune-collectives is made of. Threads: [M]. */
#ifndef TUTTI_BENCH_TUNER_H
#define TUTTI_BENCH_TUNER_H

#include "apps/bench/library.h"
#include "apps/bench/result.h"
#include "apps/bench/world.h"
#include "apps/tune/race.h"
#include "collectives/choose.h"
#include "collectives/priced.h"
#include "collectives/rules.h"

enum { TUTTI_TUNER_CELLS = 4096, TUTTI_TUNER_NUMBERS = 64 };

typedef struct tutti_tuner_options {
    const char *file, *kinds, *ranks, *topology, *json, *csv;
    tutti_conf_real link_mbit;
    int64_t from, to, factor;
    double block_s, timeout_s;
    int library;
} tutti_tuner_options;

/* What is timed: one rule, on a communicator of its own, or a way of the MPI library's. */
typedef struct tutti_tuner_contestant {
    const tutti_library_way *way; /* NULL: the rule */
    tutti_rule rule;
    tutti_rules rules; /* that rule, or all that have been found */
    tutti_comm *comm;
    int64_t chunk; /* bytes that each collective has; 0: all */
    int64_t rounds;
} tutti_tuner_contestant;

/* A size of a kind on some ranks, and what came of it. */
typedef struct tutti_tuner_cell {
    tutti_coll_kind kind;
    int ranks;
    int64_t bytes;
    tutti_rule rule;
    double us, over, over_auto, over_priced; /* ratios to the best; 0: not known */
    int samples;                             /* how often the rule was timed in its last race */
    double sample_s[TUTTI_RACE_ROUNDS];
    double over_own, over_library;           /* to the MPI library's own choice, and its best */
    char library[TUTTI_LIBRARY_NAME];        /* its name */
} tutti_tuner_cell;

typedef struct tutti_tuner {
    tutti_tuner_options o;
    tutti_world world, part; /* part: the ranks that measure; comm NULL: it is the world */
    tutti_world *ranks;      /* one of these */
    int near;                /* they share a machine's memory */
    const int *host;         /* as in tutti_transport */
    struct {
        tutti_sched_builder build;
        int as;              /* the contestant */
    } same[TUTTI_RACE_MOST]; /* [algorithms] of a kind */
    int algorithms;
    tutti_priced *priced; /* NULL: the links are not known */
    tutti_result *result; /* rank 0's */
    float *data;
    tutti_tuner_contestant contestant[TUTTI_RACE_MOST];
    tutti_library library;                  /* of the kind that is measured */
    tutti_rule rule[2 * TUTTI_TUNER_CELLS]; /* found so far */
    int rules;
    tutti_tuner_cell cell[TUTTI_TUNER_CELLS];
    int cells;
    int kinds, numbers;
    int kind[TUTTI_COLL_KINDS], number[TUTTI_TUNER_NUMBERS];
} tutti_tuner;

/* How many ranks measure. */
static inline int tutti_tuner_P(const tutti_tuner *b)
{
    return b->ranks->boot.size;
}

/* ---- races (tuner_race.c); all ranks that measure call these ---- */

/* Whether a contestant's result is right. INTERNAL (logged). */
tutti_status tutti_tuner_verify(
    tutti_tuner *b, tutti_tuner_contestant *c, const tutti_tuner_cell *at);
/* How many rounds a block has: from a trial, which also warms up; the same on all ranks. */
tutti_status tutti_tuner_plan(
    tutti_tuner *b, tutti_tuner_contestant *c, const tutti_tuner_cell *at);
/* Verifies the first n contestants, and times them in turns until there is a winner. */
tutti_status tutti_tuner_race(tutti_tuner *b, const tutti_tuner_cell *at, int n, tutti_race *race);
/* The one with the least median of those that were timed to the end. */
int tutti_tuner_fastest(const tutti_race *race);
/* The median of the ratios of one contestant's times to another's, in turns. */
tutti_status tutti_tuner_compare(tutti_tuner *b, const tutti_tuner_cell *at,
    tutti_tuner_contestant *one, tutti_tuner_contestant *other, double *ratio);

/* ---- what is printed, and written for programs (tuner_report.c) ---- */

void tutti_tuner_print_head(const tutti_tuner *b);
void tutti_tuner_report_cell(const tutti_tuner *b, const tutti_tuner_cell *at);
/* Of all cells whose ratio is known: how many are within 5 % of the best, and the worst. ratio_at: its offset. */
void tutti_tuner_report_all(const tutti_tuner *b, const char *what, size_t ratio_at);

#endif
