/* Trains on two classes, on all ranks. The dual problem: minimise a Q a / 2 - sum of a, where Q_ij =
 * y_i y_j K(i, j), 0 <= a_i <= C of the class, and the sum of a_i y_i is 0.
 *
 *   survey    the largest violation among the active samples, and who could be changed next
 *   -> end, rebuild, eliminate or balance, or:
 *   advance   change some multipliers, and every active sample's f
 *
 * Results have the same bits for any number of ranks and workers. doc/svm.md has the method. */
#ifndef TUTTI_SVM_SOLVE_H
#define TUTTI_SVM_SOLVE_H

#include "apps/svm/problem.h"

/* samples: this rank's, taken over; they are given back with their multipliers. The ids of a rank follow
 * those of the rank before. All ranks call all of these. NOMEM (logged). */
tutti_status tutti_svm_solver_new(
    const tutti_svm_problem *problem, tutti_svm_samples *samples, tutti_svm_solver **solver);
/* Trains to the end. INTERRUPTED: on_wish has said so. Also the world's. */
tutti_status tutti_svm_solver_run(tutti_svm_solver *solver, tutti_svm_result *result);
/* Gives the samples back. Accepts NULL. */
void tutti_svm_solver_free(tutti_svm_solver *solver, tutti_svm_samples *samples);

/* What the solver is at, to be saved. */
tutti_status tutti_svm_solver_save(tutti_svm_solver *solver, tutti_svm_state *state);
/* Where a saved state is to be put (on_start); and continues from it. FORMAT (logged): it is of other data. */
tutti_svm_state tutti_svm_solver_state(tutti_svm_solver *solver);
tutti_status tutti_svm_solver_load(tutti_svm_solver *solver);

#endif
