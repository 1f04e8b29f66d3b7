/* Trainings of support vector machines in turns with LIBSVM, ThunderSVM and scikit-learn-intelex. */
#ifndef TUTTI_BENCH_SVM_H
#define TUTTI_BENCH_SVM_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_svm;

#endif
