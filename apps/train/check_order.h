/* --check-only: checks whether the ordering law (designs/design.h) holds for this run, without
 * running it. */
#ifndef TUTTI_TRAIN_CHECK_ORDER_H
#define TUTTI_TRAIN_CHECK_ORDER_H

#include "apps/train/trainer.h"

/* Judges the step of a prepared trainer and prints the verdict, one line, on rank 0. All ranks call
 * it. MISMATCH if the law does not hold. */
tutti_status tutti_train_check_order(tutti_trainer *trainer);

#endif
