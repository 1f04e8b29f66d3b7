/* What an evaluation counts besides loss and accuracy, from the outputs of the net: images whose
 * label is among the five best, precision and recall of each class, and the confusion matrix. Counts are
 * integers, so sums over ranks do not depend on their order. Threads: [A], one thread per tally. */
#ifndef TUTTI_TRAIN_TALLY_H
#define TUTTI_TRAIN_TALLY_H

#include "dag/base/status.h"

#include <stdint.h>

enum { TUTTI_TALLY_BEST = 5 };

typedef struct tutti_tally {
    int classes;
    int64_t counts;  /* how many there are in count[] */
    int64_t *count;  /* images, images with the label among the best, each class, then the matrix */
    int64_t *matrix; /* [label * classes + predicted], within count[]; NULL: not counted */
} tutti_tally;

/* All zero. matrix: count that, too. NOMEM. */
tutti_status tutti_tally_open(int classes, int matrix, tutti_tally *tally);
/* Accepts a zeroed one. */
void tutti_tally_close(tutti_tally *tally);
/* Adds images: outputs (rows, classes). A label below 0 marks a row that is not counted. The
 * predicted class is the first of those with the highest output; a label is among the best if less
 * than five other classes are before it in this order. */
void tutti_tally_add(tutti_tally *tally, int64_t rows, const float *outputs, const int32_t *labels);
/* Part of the images whose label is among the best, 0..1. NaN: no image, or so few classes that it
 * says nothing. [P] */
double tutti_tally_best(const tutti_tally *tally);

/* How well a class is found. Parts are 0..1, and NaN where there is nothing that they are of. */
typedef struct tutti_tally_class {
    int64_t images, predicted, right; /* with this label; taken for this class; both */
    double precision;                 /* right / predicted */
    double recall;                    /* right / images: the accuracy of the class */
    double f1;                        /* 2 right / (images + predicted) */
} tutti_tally_class;

/* [P] */
tutti_tally_class tutti_tally_of_class(const tutti_tally *tally, int k);
/* The mean of each over the classes that occur as a label or a prediction; NaN if none does. What is NaN
 * counts as 0 there, and counts are sums: what scikit-learn calls average="macro", zero_division=0. [P] */
tutti_tally_class tutti_tally_macro(const tutti_tally *tally);

#endif
