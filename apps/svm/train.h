/* A machine for any number of classes: one training for each pair of them. Also its probabilities, its file,
 * and cross-validation. All ranks make the same calls. */
#ifndef TUTTI_SVM_TRAIN_H
#define TUTTI_SVM_TRAIN_H

#include "apps/svm/model.h"
#include "apps/svm/problem.h"

enum { TUTTI_SVM_WEIGHTS = 64 };

/* The classes of all ranks' rows, in LIBSVM's order. */
typedef struct tutti_svm_classes {
    int count;
    int64_t *label; /* [count] */
    int *of;        /* [rows]: the class of each of this rank's rows */
} tutti_svm_classes;

/* Labels are integers. FORMAT, on all ranks: one is not, there is one class alone, or there are too many.
 * NOMEM (logged). */
tutti_status tutti_svm_classes_find(
    tutti_svm_world *world, const tutti_rows *rows, tutti_svm_classes *classes);
void tutti_svm_classes_free(tutti_svm_classes *classes);

typedef struct tutti_svm_training {
    tutti_svm_world *world;
    tutti_svm_settings settings;
    double C;
    int weights; /* factors of C */
    int64_t weight_label[TUTTI_SVM_WEIGHTS];
    double weight[TUTTI_SVM_WEIGHTS];
    uint64_t seed; /* of folds */
    const tutti_svm_watcher *watcher;
} tutti_svm_training;

/* What a training has made: distributed as the rows are. Zero-initialise. */
typedef struct tutti_svm_machine {
    int classes, pairs; /* pairs: trained so far */
    int64_t rows;
    double *coefficient;      /* [classes - 1][rows]: as in LIBSVM's files */
    double *rho, *a, *b;      /* [pairs]; a: NULL without probabilities */
    tutti_svm_result *result; /* [pairs] */
} tutti_svm_machine;

tutti_status tutti_svm_machine_new(
    const tutti_svm_classes *classes, int64_t rows, int probability, tutti_svm_machine *machine);
void tutti_svm_machine_free(tutti_svm_machine *machine);

/* Trains the pairs from machine->pairs on. */
tutti_status tutti_svm_train(const tutti_svm_training *training, const tutti_rows *rows,
    const tutti_svm_classes *classes, tutti_svm_machine *machine);
/* Writes LIBSVM's file. support: the support vectors of all ranks. */
tutti_status tutti_svm_machine_write(const tutti_svm_training *training, const tutti_rows *rows,
    const tutti_svm_classes *classes, const tutti_svm_machine *machine,
    const tutti_svm_scaling *scaling, const char *path, int64_t *support);

/* Trains on all folds but one, for each; *right: how many rows of all ranks are predicted right. */
tutti_status tutti_svm_cross_validate(const tutti_svm_training *training, const tutti_rows *rows,
    const tutti_svm_classes *classes, int folds, int64_t *right);

#endif
