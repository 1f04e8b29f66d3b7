/* What the tests of apps/svm share: samples that are drawn, ranks as threads, and an oracle. */
#ifndef TUTTI_TESTS_SVM_FIXTURE_H
#define TUTTI_TESTS_SVM_FIXTURE_H

#include "apps/svm/problem.h"
#include "apps/svm/world.h"

/* `rows` samples of `features` features, of which about `share` are not 0; labels 1 and -1 by a plane, some of
 * them wrong. */
void fixture_draw(uint64_t seed, int64_t rows, int features, double share, tutti_rows *to);
/* Part `rank` of `size` of the rows. */
void fixture_part(const tutti_rows *all, int rank, int size, tutti_rows *to);

/* A training on `ranks` threads: alpha[rows] and the result. */
typedef struct fixture_training {
    const tutti_rows *rows;
    tutti_svm_settings settings;
    double C[2];
    int doubles, stop_after; /* rounds; 0: to the end, else saved, and loaded by another solver */
    double *alpha, *f;       /* f: computed anew from alpha, in double precision, by the oracle */
    tutti_svm_result result;
    const tutti_svm_watcher *watcher; /* in place of the fixture's own; NULL: that */
    int cuts;                         /* records are combined in two pieces */
} fixture_training;
tutti_status fixture_train(fixture_training *training, int ranks);
/* The largest violation over all samples, of the f of the oracle. */
double fixture_gap(const fixture_training *training);
/* The oracle: sequential minimal optimization in double precision on the dense kernel matrix. */
double fixture_objective(const fixture_training *training);
double fixture_kernel(const tutti_svm_kernel *kernel, const tutti_rows *rows, int64_t i, int64_t j);
/* Settings with the defaults of tutti-svm train. */
tutti_svm_settings fixture_settings(tutti_svm_kernel kernel);

#endif
