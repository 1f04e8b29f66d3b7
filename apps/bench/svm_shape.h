/* Samples that are drawn, with the shape of a known data set: its features, how many of them a row has, and what they
 * are. They are not that data set: labels come from a random function of the row, with noise. */
#ifndef TUTTI_BENCH_SVM_SHAPE_H
#define TUTTI_BENCH_SVM_SHAPE_H

#include "dag/base/status.h"

#include <stdint.h>

/*   covtype    54 features: 10 numbers from 0 to 1, one of 4 and one of 40 indicators
 *   real-sim   20,958 features, about 50 of them in a row, frequent ones first; rows of length 1
 *   higgs      28 numbers
 * 1: it is the name of a shape. [P] */
int tutti_svm_shape_is(const char *name);
/* Writes `rows` rows of that shape, as text in LIBSVM's format. IO (logged). [A] */
tutti_status tutti_svm_shape_write(const char *name, int64_t rows, const char *path);

#endif
