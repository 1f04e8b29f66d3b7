/* --find-lr: a learning-rate range test (Smith 2015, arXiv:1506.01186, section 3.3). Each step trains with a higher
 * rate than the step before, in equal ratios, until the loss grows beyond all bounds. The weights are not kept.
 *
 *   loss of step k   over the images of all ranks
 *   diverged         the mean of the losses up to a step, with weights 0.9^age, is above four times the least
 *                    such mean, after 8 steps, or is not finite
 *   smoothed         mean of the losses around a step, with weights 0.7^distance, which does not lag behind. A loss
 *                    above 1.5 times the mean of the first 8 counts as that
 *   suggested        the rate where the smoothed loss falls fastest over the logarithm of the rate, before its
 *                    least value: the line through eleven points has the steepest slope. None where the least
 *                    value is not a twentieth below the first one
 *
 * Threads: [M]; [P] where it says so. */
#ifndef TUTTI_TRAIN_FIND_RATE_H
#define TUTTI_TRAIN_FIND_RATE_H

#include "apps/train/report.h"
#include "apps/train/trainer.h"

/* What a rank has seen of the test so far. */
struct tutti_find_rate {
    int64_t steps, seen;
    double smooth, weight, least; /* of this rank's losses: a sum and its weights; the least mean */
    int diverged;                 /* for this rank */
    double *sums;                 /* (steps, 2): of the losses, and of the images, of each step */
};

/* NOMEM. */
tutti_status tutti_find_rate_new(int64_t steps, tutti_find_rate **find);
void tutti_find_rate_free(tutti_find_rate *find); /* accepts NULL */
/* What the images of a step, the next one, come to on this rank. */
void tutti_find_rate_add(tutti_find_rate *find, double loss_sum, double images);

/* Smooths `count` losses, of rates that rise, and judges them: result->steps are those up to divergence. [P] */
void tutti_find_rate_evaluate(int64_t count, const double rate[], const double loss[],
    double smoothed[], tutti_report_rates *result);

/* Adds up the losses of all ranks, which all call it; rank 0 reports what comes of them and writes the picture.
 * IO, NOMEM (logged); errors of the exchange. */
tutti_status tutti_find_rate_finish(tutti_trainer *trainer, tutti_report *report);

#endif
