/* What a model says of rows: decision values, classes and probabilities. */
#ifndef TUTTI_SVM_PREDICT_H
#define TUTTI_SVM_PREDICT_H

#include "apps/svm/model.h"
#include "apps/svm/world.h"

/* value[pair * rows.count + row], in double precision. NOMEM (logged). */
tutti_status tutti_svm_decide(
    tutti_svm_world *world, const tutti_svm_model *model, const tutti_rows *rows, double value[]);
/* The class with most votes, the first among equals: of votes that are counted, or of value[pair * stride]. [P] */
int tutti_svm_elect(int classes, const uint16_t votes[]);
int tutti_svm_vote(int classes, const double value[], int64_t stride);
/* Probabilities of the classes from those of the pairs. Source: Wu, Lin, Weng, "Probability estimates for
 * multi-class classification by pairwise coupling", JMLR 5, 2004 (the second method). NOMEM (logged). */
tutti_status tutti_svm_probabilities(
    const tutti_svm_model *model, const double value[], int64_t stride, double probability[]);
/* 1 / (1 + exp(a value + b)), as it is computed without overflow. [P] */
double tutti_svm_sigmoid(double value, double a, double b);
/* Fits a and b to decision values and their classes (1, -1). Source: Lin, Lin, Weng, "A note on Platt's
 * probabilistic outputs for support vector machines", 2007. NOMEM (logged). */
tutti_status tutti_svm_fit_sigmoid(
    int64_t n, const double value[], const double y[], double *a, double *b);

typedef struct tutti_svm_predict_options {
    const char *model, *data, *to; /* `to` NULL: no file of predictions */
    int probability;
} tutti_svm_predict_options;
/* Reads data, predicts and writes as svm-predict does. *right of *count. All ranks. */
tutti_status tutti_svm_predict(tutti_svm_world *world, const tutti_svm_predict_options *options,
    int64_t *right, int64_t *count);

#endif
