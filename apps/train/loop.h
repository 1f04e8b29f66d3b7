/* The loop over steps: batches in, steps submitted, metrics out, evaluation and checkpoints in
 * between.
 *   step t:   wait for step t-2 -> next batch -> feed rate, counter, images, labels
 *             -> submit "train" -> fetch metrics
 *
 * Nothing else waits: two steps are in flight, and only the graph orders them. The pipeline is
 * drained only when all weights are needed: before a check of the replicas, an evaluation, a
 * checkpoint, and at the end.
 *
 * Times exclude evaluations, checkpoints and (in runs long enough) the first few steps. Threads:
 * [M]. */
#ifndef TUTTI_TRAIN_LOOP_H
#define TUTTI_TRAIN_LOOP_H

#include "apps/train/report.h"
#include "apps/train/trainer.h"

/* Trains from the trainer's first to its last step and fills the summary (except weights_hash), the
 * same on all ranks except for times. *together: whether every rank returns this failure; if not,
 * the others may be waiting for this rank. */
tutti_status tutti_loop_run(
    tutti_trainer *trainer, tutti_report *report, tutti_report_summary *summary, int *together);

#endif
