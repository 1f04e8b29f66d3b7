/* A trained machine, and its file, which is LIBSVM's: svm-predict reads it, and files of svm-train are read
 * here (C-SVC). Ranges of --scale follow the support vectors, where LIBSVM does not look. */
#ifndef TUTTI_SVM_MODEL_H
#define TUTTI_SVM_MODEL_H

#include "apps/svm/rows.h"
#include "apps/svm/scale.h"
#include "apps/svm/tile.h"

#include <stdio.h>

/* Classes are compared in pairs: (0, 1), (0, 2) ... (1, 2) ... The support vectors of a class lie together, in
 * the order of classes. */
typedef struct tutti_svm_model {
    tutti_svm_kernel kernel;
    int classes;
    int64_t *label;      /* [classes] */
    int64_t *support;    /* [classes]: how many support vectors */
    double *rho;         /* [pairs] */
    double *a, *b;       /* [pairs]: of probabilities; NULL: the model has none */
    tutti_rows rows;     /* the support vectors; their labels are not used */
    double *coefficient; /* [classes - 1][rows.count] */
    tutti_svm_scaling scaling;
} tutti_svm_model;

enum { TUTTI_SVM_CLASSES = 4096 };

static inline int tutti_svm_pairs(int classes)
{
    return classes * (classes - 1) / 2;
}

extern const char
    *const tutti_svm_kernel_names[TUTTI_SVM_KERNELS + 1]; /* LIBSVM's; NULL-terminated */

/* What stands before the support vectors. */
void tutti_svm_model_print_head(const tutti_svm_model *model, FILE *out);
/* A line of a support vector: row r of rows, with coefficient[c * stride] for every class but one. Values have
 * 8 digits, or as many as it takes to read the same number back. */
void tutti_svm_model_print_vector(const tutti_rows *rows, int64_t r, int classes,
    const double coefficient[], int64_t stride, FILE *out);

/* FORMAT (logged, with the line); IO; NOMEM. */
tutti_status tutti_svm_model_parse(tutti_lines *lines, tutti_svm_model *model);
tutti_status tutti_svm_model_read(const char *path, tutti_svm_model *model);
void tutti_svm_model_free(tutti_svm_model *model);

#endif
