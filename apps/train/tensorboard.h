/* --tensorboard: the numbers of a run as a file of events for TensorBoard, in a folder. A run that is
 * resumed adds a file, which replaces what the earlier ones say of later steps.
 *
 * A file is TFRecords (apps/train/tfrecord.h), each a message Event:
 *   wall_time = 1 (double), step = 2 (int64), and one of file_version = 3 (text: the first event),
 *   summary = 5 (repeated value = 1: tag = 1, simple_value = 2 (float)), session_log = 7 (status = 1: 1, START)
 * Source: tensorboard/compat/proto/event.proto and summary.proto. Numbers that are not finite are left out.
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_TENSORBOARD_H
#define TUTTI_TRAIN_TENSORBOARD_H

#include "apps/train/events.h"
#include "dag/base/status.h"

typedef struct tutti_tensorboard tutti_tensorboard;

/* Creates the folder and a file in it. IO (logged), NOMEM. */
tutti_status tutti_tensorboard_open(const char *folder, tutti_tensorboard **board);
/* Write errors are kept for close. */
void tutti_tensorboard_on_start(tutti_tensorboard *board, const tutti_report_start *start);
void tutti_tensorboard_on_step(tutti_tensorboard *board, const tutti_report_step *step);
void tutti_tensorboard_on_eval(tutti_tensorboard *board, const tutti_report_eval *eval);
/* IO (logged): something could not be written. Accepts NULL. */
tutti_status tutti_tensorboard_close(tutti_tensorboard *board);

#endif
