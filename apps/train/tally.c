#include "apps/train/tally.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

enum { IMAGES, BEST, CLASS /* the first count of the first class */ };

/* Counts of each class, then the matrix. */
enum { OF_LABEL, PREDICTED, RIGHT, PER_CLASS };

tutti_status tutti_tally_open(int classes, int matrix, tutti_tally *tally)
{
    const int64_t before = CLASS + (int64_t)classes * PER_CLASS;
    int64_t counts = before + (matrix ? (int64_t)classes * classes : 0);
    int64_t *count = calloc((size_t)counts, sizeof *count);
    if (!count)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for the confusion matrix of %d classes", classes);
    *tally = (tutti_tally){classes, counts, count, matrix ? count + before : NULL};
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
        int predicted = find_first_highest(outputs, classes);
        tally->count[CLASS + label * PER_CLASS + OF_LABEL]++;
        tally->count[CLASS + predicted * PER_CLASS + PREDICTED]++;
        tally->count[CLASS + label * PER_CLASS + RIGHT] += predicted == label;
        if (tally->matrix) tally->matrix[(int64_t)label * classes + predicted]++;
    }
}

double tutti_tally_best(const tutti_tally *tally)
{
    if (!tally->count || !tally->count[IMAGES] || tally->classes <= TUTTI_TALLY_BEST) return NAN;
    return (double)tally->count[BEST] / (double)tally->count[IMAGES];
}

static double part(double x, int64_t of)
{
    return of > 0 ? x / (double)of : NAN;
}

tutti_tally_class tutti_tally_of_class(const tutti_tally *tally, int k)
{
    const int64_t *count = tally->count + CLASS + k * PER_CLASS;
    const int64_t images = count[OF_LABEL], predicted = count[PREDICTED];
    const double right = (double)count[RIGHT];
    return (tutti_tally_class){images, predicted, count[RIGHT], part(right, predicted),
        part(right, images), part(2 * right, images + predicted)};
}

tutti_tally_class tutti_tally_macro(const tutti_tally *tally)
{
    tutti_tally_class sum = {0};
    int64_t occur = 0;
    for (int k = 0; k < tally->classes; k++) {
        const tutti_tally_class c = tutti_tally_of_class(tally, k);
        if (!c.images && !c.predicted) continue;
        occur++;
        sum.images += c.images;
        sum.predicted += c.predicted;
        sum.right += c.right;
        sum.precision += c.predicted ? c.precision : 0;
        sum.recall += c.images ? c.recall : 0;
        sum.f1 += c.f1;
    }
    sum.precision = part(sum.precision, occur);
    sum.recall = part(sum.recall, occur);
    sum.f1 = part(sum.f1, occur);
    return sum;
}
