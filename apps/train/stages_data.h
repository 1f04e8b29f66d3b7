/* The data set of a run: opened, compared between ranks, and counted in steps. Threads: [M]. */
#ifndef TUTTI_TRAIN_STAGES_DATA_H
#define TUTTI_TRAIN_STAGES_DATA_H

#include "apps/train/trainer.h"

/* Opens the training and the test set, which all ranks must see alike. All ranks call it, and fail
 * together. */
tutti_status tutti_trainer_open_data(tutti_trainer *trainer);
/* How many steps, rounds and epochs, and the rate's schedule. INVAL (logged): too few images. [P] */
tutti_status tutti_trainer_plan(tutti_trainer *trainer);

#endif
