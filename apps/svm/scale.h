/* Scaling of features to a range, as svm-scale does it: x becomes lower + (upper - lower) (x - min) / (max -
 * min), where min and max are those of the training set. Features that have one value alone are left out.
 * Ranges are in svm-scale's file format. */
#ifndef TUTTI_SVM_SCALE_H
#define TUTTI_SVM_SCALE_H

#include "apps/svm/rows.h"
#include "apps/svm/world.h"
#include "dag/base/lines.h"

#include <stdio.h>

/* Zero-initialise: no scaling. */
typedef struct tutti_svm_scaling {
    double lower, upper;
    int64_t columns;   /* the largest index */
    int64_t count;     /* features that are in the file */
    uint32_t *index;   /* [count], ascending */
    double *min, *max; /* [count] */
    int64_t filled;    /* features whose 0 becomes another number */
    int64_t *fill;     /* [filled]: which of the features they are, ascending */
} tutti_svm_scaling;

/* Whether there is one, though perhaps of no feature. [P] */
static inline int tutti_svm_scaling_is_set(const tutti_svm_scaling *scaling)
{
    return scaling->lower < scaling->upper;
}

/* The ranges of all ranks' rows; a value that a row does not have counts as 0. Takes memory for the features that there
 * are, however large their indices. NOMEM (logged). */
tutti_status tutti_svm_scaling_measure(tutti_svm_world *world, const tutti_rows *rows, double lower,
    double upper, tutti_svm_scaling *scaling);
/* Appends row r of `rows`, scaled. NOMEM (logged). */
tutti_status tutti_svm_scaling_add(
    const tutti_svm_scaling *scaling, const tutti_rows *rows, int64_t r, tutti_rows *to);
/* Replaces *rows by scaled rows, which may have more values: a 0 may become another number. NOMEM (logged). */
tutti_status tutti_svm_scaling_apply(const tutti_svm_scaling *scaling, tutti_rows *rows);
/* Writes all ranks' rows, scaled, as svm-scale does; a rank holds a piece of them at a time. On all ranks: NOMEM
 * (logged). */
tutti_status tutti_svm_scaling_write_rows(
    const tutti_svm_scaling *scaling, const tutti_rows *rows, tutti_svm_output *output);
/* svm-scale's file, as text. */
void tutti_svm_scaling_print(const tutti_svm_scaling *scaling, FILE *out);
/* Takes all further lines, if there are any. FORMAT, NOMEM (logged). */
tutti_status tutti_svm_scaling_parse(tutti_lines *lines, tutti_svm_scaling *scaling);
tutti_status tutti_svm_scaling_read(const char *path, tutti_svm_scaling *scaling);
void tutti_svm_scaling_free(tutti_svm_scaling *scaling);

#endif
