/* The loops of tutti-svm: kernel values of many rows and many members, and sums of them.
 *
 * Members are samples that all rows are compared with. WIDTH of them are a panel: a dense block of their
 * values, one line of WIDTH numbers for each feature, so that a sparse row times a panel is a few vector
 * operations for each value of the row. Compiled for each instruction set (dag/base/clones.h), and for float
 * and double; all clones give the same bits. A kernel value depends on its two samples alone, and
 * K(a, b) and K(b, a) have the same bits: features are added in ascending order. [P] */
#ifndef TUTTI_SVM_TILE_H
#define TUTTI_SVM_TILE_H

#include "dag/base/clones.h"

#include <stddef.h>
#include <stdint.h>

/* In the order of LIBSVM's -t. */
typedef enum tutti_svm_kernel_kind {
    TUTTI_SVM_LINEAR,     /* a b */
    TUTTI_SVM_POLYNOMIAL, /* (gamma a b + coef0)^degree */
    TUTTI_SVM_RBF,        /* exp(-gamma |a - b|^2) */
    TUTTI_SVM_SIGMOID,    /* tanh(gamma a b + coef0) */
    TUTTI_SVM_KERNELS
} tutti_svm_kernel_kind;

typedef struct tutti_svm_kernel {
    tutti_svm_kernel_kind kind;
    int degree;
    double gamma, coef0;
} tutti_svm_kernel;

/* Members of a panel: 64 floats or 32 doubles. */
enum { TUTTI_SVM_PANEL_BYTES = 256 };

typedef struct tutti_svm_tile {
    tutti_svm_kernel kernel;
    int64_t from, to; /* rows */
    const int64_t *first;
    const uint32_t *index, *place; /* the line of a feature; NULL: the feature itself */
    const void *value;             /* of the rows */
    const double *square;
    const void *panel, *panel_square;
    int members;            /* up to a panel's width */
    void *const *to_member; /* [members]: the values of rows `from` to `to`, contiguous */
} tutti_svm_tile;

/* Adds the rows' kernel values, weighted: sum[i] += weight[j] value[j][i], in the order of j. */
typedef struct tutti_svm_combination {
    int64_t rows;
    int members;
    const void *const *value; /* [members] */
    const double *weight;
    double *sum;
    /* of exact sums: numbers whose last place is the quantum; sum and rest get multiples of one each, so
     * that the order of additions does not change them */
    double quantum[2];
    double *rest;
} tutti_svm_combination;

/* Two members that are moved next, of a working set whose kernel values are a matrix of doubles. */
typedef struct tutti_svm_search {
    int64_t count;
    /* [count + SPARE]; up: 0, or infinity where a member is not up; low: 0, or -infinity; own: the matrix's
     * diagonal. In the spare places nothing is up or low. */
    double *f, *up, *low, *own;
    double step; /* f += step (move_up - move_low) comes first */
    const double *move_up, *move_low;
} tutti_svm_search;
enum { TUTTI_SVM_SEARCH_SPARE = 8 }; /* readable numbers behind each array and the matrix */

/* Makes the step, and returns the up member with the least f (the first of equal ones), or -1 if no member is up. */
typedef int64_t tutti_svm_move_loop(tutti_svm_search *search);
/* Given the up member and its row of the matrix, returns the low member with which a step gains most (second order),
 * or -1 if a step with none of them gains. *low_f: the largest f of all low members. Source: Fan, Chen, Lin, "Working
 * set selection using second order information", JMLR 6, 2005. */
typedef int64_t tutti_svm_pair_loop(
    const tutti_svm_search *search, const double row[], int64_t up, double *low_f);

typedef void tutti_svm_tile_loop(const tutti_svm_tile *tile);
typedef void tutti_svm_combination_loop(const tutti_svm_combination *combination);

typedef struct tutti_svm_loops {
    size_t element;
    int width; /* members of a panel */
    tutti_svm_tile_loop *values;
    tutti_svm_combination_loop *combine, *combine_exactly;
    tutti_svm_move_loop *move;
    tutti_svm_pair_loop *pair;
} tutti_svm_loops;

/* Those for this processor. */
const tutti_svm_loops *tutti_svm_loops_of(int doubles);

#endif
