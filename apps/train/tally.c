#include "apps/train/tally.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

enum { IMAGES, BEST, MATRIX /* the first of its counts */ };

tutti_status tutti_tally_open(int classes, int matrix, tutti_tally *tally)
{
    int64_t counts = MATRIX + (matrix ? (int64_t)classes * classes : 0);
    int64_t *count = calloc((size_t)counts, sizeof *count);
    if (!count)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for the confusion matrix of %d classes", classes);
    *tally = (tutti_tally){classes, counts, count, matrix ? count + MATRIX : NULL};
    return TUTTI_OK;
}

void tutti_tally_close(tutti_tally *tally)
{
    free(tally->count);
    *tally = (tutti_tally){0};
}

static int find_first_highest(const float *outputs, int classes)
{
    int best = 0;
    for (int k = 1; k < classes; k++)
        if (outputs[k] > outputs[best]) best = k;
    return best;
}

/* How many classes are before this one. */
static int find_place(const float *outputs, int classes, int label)
{
    int before = 0;
    for (int k = 0; k < classes; k++)
        before += outputs[k] > outputs[label] || (outputs[k] == outputs[label] && k < label);
    return before;
}

void tutti_tally_add(tutti_tally *tally, int64_t rows, const float *outputs, const int32_t *labels)
{
    int classes = tally->classes;
    for (int64_t row = 0; row < rows; row++, outputs += classes) {
        int label = labels[row];
        if (label < 0 || label >= classes) continue;
        tally->count[IMAGES]++;
        tally->count[BEST] += find_place(outputs, classes, label) < TUTTI_TALLY_BEST;
        if (tally->matrix)
            tally->matrix[(int64_t)label * classes + find_first_highest(outputs, classes)]++;
    }
}

double tutti_tally_best(const tutti_tally *tally)
{
    if (!tally->count || !tally->count[IMAGES] || tally->classes <= TUTTI_TALLY_BEST) return NAN;
    return (double)tally->count[BEST] / (double)tally->count[IMAGES];
}
