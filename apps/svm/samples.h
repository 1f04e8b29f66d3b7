/* The samples of one rank in a training with two classes: their rows, and what the solver knows of each.
 *
 *   y       the class, 1 or -1: the row's label
 *   alpha   its multiplier, from 0 to the class's C
 *   f       the sum over all samples j of alpha_j y_j K(j, i), minus y: the gradient times y
 *
 * Samples whose alpha may move the bias down are "up", those that may move it up are "low" (both: 0 < alpha
 * < C). The training has ended when no low sample's f exceeds an up sample's by more than eps. Source:
 * Keerthi, Shevade, Bhattacharyya, Murthy, "Improvements to Platt's SMO algorithm", 2001. [A], one thread per
 * object. */
#ifndef TUTTI_SVM_SAMPLES_H
#define TUTTI_SVM_SAMPLES_H

#include "apps/svm/rows.h"

/* Zero-initialise, but for rows.floats. */
typedef struct tutti_svm_samples {
    tutti_rows rows;
    int64_t room;
    int64_t *id; /* among all ranks' samples, ascending */
    double *alpha, *f;
} tutti_svm_samples;

/* What ranks exchange of a sample beside its row. */
typedef struct tutti_svm_member {
    int64_t id;
    double alpha, f;
    int32_t y, nonzeros;
} tutti_svm_member;

static inline int tutti_svm_is_up(double y, double alpha, double C)
{
    return y > 0 ? alpha < C : alpha > 0;
}
static inline int tutti_svm_is_low(double y, double alpha, double C)
{
    return y > 0 ? alpha > 0 : alpha < C;
}

/* Append a sample with the row r of rows, or of other samples. NOMEM (logged). */
tutti_status tutti_svm_samples_add(
    tutti_svm_samples *to, int64_t id, int y, const tutti_rows *rows, int64_t r);
tutti_status tutti_svm_samples_copy(
    tutti_svm_samples *to, const tutti_svm_samples *from, int64_t i);
tutti_svm_member tutti_svm_samples_member(const tutti_svm_samples *samples, int64_t i);
/* Appends a member whose row was written by tutti_rows_write; NULL: NOMEM (logged). */
const char *tutti_svm_samples_append(
    tutti_svm_samples *to, const tutti_svm_member *member, const char *row);
/* A sample as bytes, its member and its row: how many; writes them, and returns where the next begins. */
size_t tutti_svm_samples_bytes(const tutti_svm_samples *samples, int64_t i);
char *tutti_svm_samples_write(const tutti_svm_samples *samples, int64_t i, char *to);
/* Appends a sample that was written so. */
const char *tutti_svm_samples_read(tutti_svm_samples *to, const char *from);
/* The position of a sample; -1: it is not among these. */
int64_t tutti_svm_samples_find(const tutti_svm_samples *samples, int64_t id);
/* Keeps the samples which[0] < which[1] < ... alone. */
void tutti_svm_samples_keep(tutti_svm_samples *samples, int64_t count, const int64_t which[]);
void tutti_svm_samples_free(tutti_svm_samples *samples);

#endif
