/* The parts of setting up a run, for each other: stages.c (joining, the order of all, the weights;
 * leaving), stages_data.c, stages_choose.c. Threads: [M]. All ranks call each of them, but for what is
 * [P]. Errors as of tutti_trainer_prepare. */
#ifndef TUTTI_TRAIN_STAGES_H
#define TUTTI_TRAIN_STAGES_H

#include "apps/train/trainer.h"

/* Ends a stage: this rank's outcome becomes that of all. INTERRUPTED if one was asked to end. */
tutti_status tutti_trainer_agree(tutti_trainer *trainer, tutti_status mine);
/* Returns the status; rank 0 logs an interruption before the first step. Not collective. */
tutti_status tutti_trainer_note_interrupt(const tutti_trainer *trainer, tutti_status status);
/* Rank 0's data on all ranks. Errors as of tutti_exchange_call. */
tutti_status tutti_trainer_broadcast(
    tutti_trainer *trainer, const char *name, tutti_dtype dtype, int64_t count, void *data);

/* Opens the training and the test set, which all ranks must see alike. */
tutti_status tutti_trainer_open_data(tutti_trainer *trainer);
/* How many steps, rounds and epochs, and the rate's schedule. INVAL (logged): too few images. [P] */
tutti_status tutti_trainer_plan(tutti_trainer *trainer);

/* What the model sees; what a step does. [P] */
tutti_model_input tutti_trainer_input(const tutti_trainer *trainer);
tutti_step_options tutti_trainer_recipe(const tutti_trainer *trainer);
/* Whether every rank can compute in what --precision names; which type that is; --design auto. */
tutti_status tutti_trainer_check_precision(tutti_trainer *trainer);
tutti_status tutti_trainer_choose_precision(tutti_trainer *trainer);
tutti_status tutti_trainer_choose_design(tutti_trainer *trainer);

#endif
