/* An evaluation: the test set, divided among the ranks, each image in up to two views, then the sums
 * over all ranks. Threads: [M], with no batch of training in flight. */
#ifndef TUTTI_TRAIN_EVALUATE_H
#define TUTTI_TRAIN_EVALUATE_H

#include "apps/train/flight.h"

enum { TUTTI_TEST_VIEWS = 2 /* of a test image, at most */ };

/* What is summed over all ranks, in this order: [v] is for the mean of views 0 .. v. */
typedef struct tutti_test_sums {
    tutti_metric_sums trained; /* the images of the epoch; the caller's */
    tutti_metric_sums own[TUTTI_TEST_VIEWS];
    tutti_metric_sums average[TUTTI_TEST_VIEWS]; /* with the averages of the weights over steps */
} tutti_test_sums;

/* Parts are NaN where there is nothing that they are of: if the test set is not evaluated, say. */
typedef struct tutti_evaluation {
    double images; /* of the test set that counted */
    double train_loss, test_loss, test_accuracy;
    double one_view_accuracy;              /* with only one view of each test image */
    double best_accuracy;                  /* label among the best five */
    double macro_f1;                       /* tutti_tally_macro */
    double average_loss, average_accuracy; /* of the averages over steps */
} tutti_evaluation;

/* Evaluates this rank's share with the weights, and with their averages if there are any: adds to
 * `own` and `average`, and with the mean of all views to `tally`. A rank that is asked to end skips
 * the rest. The errors of the runner and of prefetch. */
tutti_status tutti_evaluate(tutti_trainer *s, tutti_test_sums *sums, tutti_tally *tally);
/* Sums over all ranks, which all call it, into sums, tally and result. */
tutti_status tutti_evaluate_sum(
    tutti_trainer *s, tutti_test_sums *sums, tutti_tally *tally, tutti_evaluation *result);

#endif
