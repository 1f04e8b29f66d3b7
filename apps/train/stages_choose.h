/* What the options make of the model, and what auto stands for: the type of values, the design. All ranks
 * call it, but for what is [P]. Errors as of tutti_trainer_prepare. Threads: [M]. */
#ifndef TUTTI_TRAIN_STAGES_CHOOSE_H
#define TUTTI_TRAIN_STAGES_CHOOSE_H

#include "apps/train/trainer.h"

/* What the model sees; what a step does. [P] */
tutti_model_input tutti_trainer_input(const tutti_trainer *trainer);
tutti_step_options tutti_trainer_recipe(const tutti_trainer *trainer);
/* Whether every rank can compute in what --precision names; which type that is; what --stage-layers timed needs;
 * --design auto. */
tutti_status tutti_trainer_check_precision(tutti_trainer *trainer);
tutti_status tutti_trainer_choose_precision(tutti_trainer *trainer);
tutti_status tutti_trainer_time_layers(tutti_trainer *trainer);
tutti_status tutti_trainer_choose_design(tutti_trainer *trainer);

#endif
