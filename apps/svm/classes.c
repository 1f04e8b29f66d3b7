#include "apps/svm/memory.h"
#include "apps/svm/train.h"

#include <math.h>

/* The position of a label; it is added when it is new. -1: there are too many. */
static int place_label(int64_t label[], int *count, int64_t x)
{
    for (int c = 0; c < *count; c++)
        if (label[c] == x) return c;
    if (*count == TUTTI_SVM_CLASSES) return -1;
    label[*count] = x;
    return (*count)++;
}

static tutti_status fail_many(void)
{
    return tutti_fail(
        TUTTI_ERR_FORMAT, "the data have more than %d classes", (int)TUTTI_SVM_CLASSES);
}

static tutti_status list_labels(const tutti_rows *rows, int64_t label[], int *count)
{
    *count = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        const double x = rows->label[r];
        if (x != floor(x) || fabs(x) > INT32_MAX)
            return tutti_fail(TUTTI_ERR_FORMAT,
                "row %lld has the label %.15g: classes are named by integers from -2147483647 to "
                "2147483647",
                (long long)(rows->from + r + 1), x);
        if (r && x == rows->label[r - 1]) continue;
        if (place_label(label, count, (int64_t)x) < 0) return fail_many();
    }
    return TUTTI_OK;
}

/* All ranks' labels in the order in which they are in the file; of two, LIBSVM puts 1 before -1. */
static tutti_status merge_labels(
    tutti_svm_world *world, const int64_t mine[], int count, tutti_svm_classes *k)
{
    int64_t before, all, bytes = count * (int64_t)sizeof *mine;
    int64_t *counts = tutti_svm_new(world->size, sizeof *counts), *labels = NULL;
    tutti_status status = counts ? tutti_svm_place(world, count, &before, &all) : TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather(world, &bytes, sizeof bytes, counts);
    if (!status && !(labels = tutti_svm_new(all, sizeof *labels))) status = TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather_counts(world, mine, counts, labels);
    for (int64_t i = 0; i < all && !status; i++)
        if (place_label(k->label, &k->count, labels[i]) < 0) status = fail_many();
    if (!status && k->count < 2)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "the data have one class, %lld: there is nothing to tell apart", (long long)labels[0]);
    if (!status && k->count == 2 && k->label[0] == -1 && k->label[1] == 1) {
        k->label[0] = 1;
        k->label[1] = -1;
    }
    free(counts);
    free(labels);
    return status;
}

tutti_status tutti_svm_classes_find(
    tutti_svm_world *world, const tutti_rows *rows, tutti_svm_classes *k)
{
    int64_t *mine = tutti_svm_new(TUTTI_SVM_CLASSES, sizeof *mine);
    int count = 0;
    *k = (tutti_svm_classes){.label = tutti_svm_new(TUTTI_SVM_CLASSES, sizeof(int64_t)),
        .of = tutti_svm_new(rows->count, sizeof(int))};
    tutti_status status =
        mine && k->label && k->of ? list_labels(rows, mine, &count) : TUTTI_ERR_NOMEM;
    status = tutti_svm_agree(world, status);
    if (!status) status = merge_labels(world, mine, count, k);
    free(mine);
    for (int64_t r = 0; r < rows->count && !status; r++)
        k->of[r] = place_label(k->label, &k->count, (int64_t)rows->label[r]);
    if (status) tutti_svm_classes_free(k);
    return status;
}

void tutti_svm_classes_free(tutti_svm_classes *k)
{
    free(k->label);
    free(k->of);
    *k = (tutti_svm_classes){0};
}
