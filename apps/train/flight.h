/* Batches on their way through the graph. Two are in flight: one is computed while the next is taken
 * and submitted.
 *
 *   board (take a batch) -> submit (feeds, a section, fetches) -> land (wait, release, add up)
 *
 * What the feeds of a flight read and its fetches write lives in it until it has landed; after a
 * failure it may still be in use, so it is not freed. Threads: [M]. */
#ifndef TUTTI_TRAIN_FLIGHT_H
#define TUTTI_TRAIN_FLIGHT_H

#include "apps/data/prefetch.h"
#include "apps/train/tally.h"
#include "apps/train/trainer.h"
#include "dag/kernels/loss.h"

enum { TUTTI_FLIGHTS = 2 };

typedef struct tutti_flight {
    int busy;
    int64_t step;
    int64_t from, point; /* what it waits for was submitted between these points */
    int64_t number;      /* of its batch, among all batches of training */
    float rate;
    const tutti_batch *batch;
    double *metrics; /* micro-batches x TUTTI_METRICS */
    float *outputs;  /* (batch, classes), where they are tallied; else NULL */
} tutti_flight;

/* Sums of metrics over images: loss, correct, counted. */
typedef struct tutti_metric_sums {
    double value[TUTTI_METRICS];
} tutti_metric_sums;

/* NOMEM. */
tutti_status tutti_flights_open(tutti_flight flights[TUTTI_FLIGHTS], int micro_batches);
void tutti_flights_close(tutti_flight flights[TUTTI_FLIGHTS]);
/* After a failure of this rank with that status: closes the run, as soon as what was submitted has ended, and gives the
 * batches back, which then may be closed. If it does not end, this process does (tutti_trainer_end_all). */
void tutti_flights_abandon(
    tutti_trainer *s, tutti_flight flights[TUTTI_FLIGHTS], tutti_status status);
/* Begins to read this rank's batches: those of training from its first step on, or the test set. */
tutti_status tutti_flight_batches(tutti_trainer *s, int train, tutti_prefetch **batches);

/* Takes the next batch of a split into a free flight. TIMEOUT after --timeout; while it waits, the
 * other ranks, which may have to wait for this one, learn why. The errors of prefetch. */
tutti_status tutti_flight_take_batch(
    tutti_trainer *s, tutti_prefetch *batches, const char *split, int64_t step, tutti_flight *f);
/* Submits the fetches of a batch's metrics. */
tutti_status tutti_flight_fetch(tutti_training_session *on, tutti_flight *f);
/* Submits a section, of an evaluation or not, for the flight's batch and the fetches of its metrics. */
tutti_status tutti_flight_submit(
    tutti_training_session *on, int evaluation, int section, tutti_flight *f);
/* Waits until a flight has landed, releases its batch and adds its metrics to `sum`, and its outputs
 * to `tally` unless that is NULL. */
tutti_status tutti_flight_complete(
    tutti_trainer *s, tutti_flight *f, tutti_metric_sums *sum, tutti_tally *tally);

#endif
