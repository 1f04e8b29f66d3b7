/* From a model to what a rank trains: its net, its step, and where no rank has all of the model, the step of all. */
#ifndef TUTTI_MODEL_STEP_H
#define TUTTI_MODEL_STEP_H

#include "apps/models/model.h"
#include "apps/session/layer_rates.h"
#include "apps/session/layout.h"
#include "dag/run/run.h"
#include "dag/step/step.h"

/* What a session says of it, besides the recipe. */
typedef struct tutti_model_step_options {
    const tutti_layout *layout;
    const tutti_layer_rates *rates;
    const tutti_binding_place *place;
    int workers, eval_size; /* as of tutti_training_session_options */
    int summed;             /* the ranks have an exchange */
} tutti_model_step_options;

typedef struct tutti_model_step {
    tutti_net *net;
    tutti_step *step, *whole;             /* whole: NULL where the step has all */
    tutti_step_options recipe;            /* as completed; its `evaluated` is NULL: the net for it is gone */
    int64_t image_bytes, evaluated_bytes; /* of one image; of one that an evaluation sees */
} tutti_model_step;

/* The recipe has the number of micro-batches; what it says of pixels is replaced, as tutti_training_session_build says,
 * whose errors these are. placement: complete but for the cut into stages, which is set. The caller frees net, step and
 * whole. */
tutti_status tutti_model_step_build(const tutti_model_step_options *options,
    const tutti_model *model, const tutti_model_input *input, const tutti_step_options *recipe,
    tutti_placement *placement, tutti_model_step *built);

#endif
