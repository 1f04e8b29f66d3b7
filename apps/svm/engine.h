/* Sums of kernel values over a rank's rows: where a training spends its time. [M] */
#ifndef TUTTI_SVM_ENGINE_H
#define TUTTI_SVM_ENGINE_H

#include "apps/svm/rows.h"
#include "apps/svm/tile.h"
#include "apps/svm/world.h"

typedef struct tutti_svm_engine tutti_svm_engine;

typedef struct tutti_svm_engine_options {
    tutti_svm_kernel kernel;
    int floats;         /* of all rows and members */
    int64_t columns;    /* the largest index */
    int64_t rows;       /* of this rank */
    double cache_bytes; /* of kernel rows */
} tutti_svm_engine_options;

/* Whether these data need double precision for kernel values with an error like that of LIBSVM's, which are
 * stored in single precision; largest: of the samples' products with themselves. [P] */
int tutti_svm_needs_doubles(const tutti_svm_kernel *kernel, double largest);

/* NOMEM (logged). The world is borrowed. */
tutti_status tutti_svm_engine_new(
    tutti_svm_world *world, const tutti_svm_engine_options *options, tutti_svm_engine **engine);
void tutti_svm_engine_free(tutti_svm_engine *engine);
/* The loops that it works with. */
const tutti_svm_loops *tutti_svm_engine_loops(const tutti_svm_engine *engine);
/* Kernel values of this rank, since it was made. */
int64_t tutti_svm_engine_evaluations(const tutti_svm_engine *engine);

/* sum[i] += weight[j] K(member j, row i) for all rows, in the order of j; members of weight 0 are left out.
 * id: of the members; their kernel rows are cached under it. NULL: they are not cached.
 * exact: the sums do not depend on the order of the additions. No final sum may be larger than `bound`; the caller adds
 * the array `rest` to `sum` at the end. NULL: ordinary sums. NOMEM (logged). */
typedef struct tutti_svm_exact {
    double bound, *rest;
} tutti_svm_exact;
tutti_status tutti_svm_engine_add(tutti_svm_engine *engine, const tutti_rows *rows,
    const tutti_rows *members, const int64_t id[], const double weight[],
    const tutti_svm_exact *exact, double sum[]);
/* value[j * stride + i] = K(member j, row i), as double. NOMEM (logged). */
tutti_status tutti_svm_engine_matrix(tutti_svm_engine *engine, const tutti_rows *rows,
    const tutti_rows *members, int64_t stride, double value[]);
/* This rank has only these rows from now on; or others. */
void tutti_svm_engine_keep(tutti_svm_engine *engine, int64_t rows, const int64_t which[]);
void tutti_svm_engine_renew(tutti_svm_engine *engine, int64_t rows);

/* The two quanta of an exact sum (see tutti_svm_combination). [P] */
void tutti_svm_quanta(double bound, double quantum[2]);

#endif
