/* The non-power-of-two fold: with P2 the largest power of two <= P and R = P - P2, the even ranks
 * among the first 2R send their input to the odd rank after them and sit out; the remaining P2 ranks
 * are numbered 0 ... P2-1 in order.
 *
 *   P = 5      rank 0    1    2    3    4
 *   fold          -> 1
 *   number              0    1    2    3
 *   unfold           <- result
 *
 * Adds 2 steps and 2 S bytes per folded pair. Source: Thakur, Rabenseifner, Gropp, "Optimization of
 * collective communication operations in MPICH", IJHPCA 19(1), 2005. */
#ifndef TUTTI_SCHED_FOLD_H
#define TUTTI_SCHED_FOLD_H

#include "collectives/sched/sched.h"

typedef struct tutti_fold {
    int rank, P2, R;
    int number; /* among the remaining ranks; -1: sits out */
} tutti_fold;

tutti_fold tutti_fold_of(int rank, int P);
/* The rank that has this number. */
int tutti_fold_rank(const tutti_fold *fold, int number);
/* Steps before and after the algorithm proper, on OUT[0 ... count); received values pass through
 * scratch[0 ... count). */
void tutti_fold_in(const tutti_fold *fold, tutti_sched_draft *draft, int64_t count);
void tutti_fold_out(const tutti_fold *fold, tutti_sched_draft *draft, int64_t count);

#endif
