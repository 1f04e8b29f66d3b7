/* The loop over steps: batches in, steps submitted, metrics out, evaluation and checkpoints in
 * between.
 *
 *   step t:   next batch -> feed rate, counter, images, labels -> submit "train" -> fetch metrics
 * -> wait for step t-2
 *
 * Nothing else waits: two steps are in flight, and the graph alone orders them. The pipeline is
 * drained only where all weights are needed: before a check of the replicas, an evaluation, a
 * checkpoint, and at the end.
 *
 * Times leave evaluations, checkpoints and (in runs long enough) the first few steps out. Threads:
 * [M]. */
#ifndef TUTTI_TRAIN_LOOP_H
#define TUTTI_TRAIN_LOOP_H

#include "apps/train/report.h"
#include "apps/train/trainer.h"

/* Trains from the trainer's first to its last step and fills the summary (weights_hash apart),
 * equal on all ranks but for the times. *together: whether every rank returns this failure; if not,
 * the others may be waiting for this rank. */
tutti_status tutti_loop_run(
    tutti_trainer *trainer, tutti_report *report, tutti_report_summary *summary, int *together);

#endif
