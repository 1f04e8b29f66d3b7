/* The models by name. Each file names its paper and its number of parameters, which a test
 * asserts. */
#ifndef TUTTI_MODEL_H
#define TUTTI_MODEL_H

#include "dag/net/net.h"

/* The input that a model is made for; it also accepts other sizes. */
typedef struct tutti_model_input {
    int H, W, C, classes;
} tutti_model_input;

/* Defaults for SGD with momentum 0.9. */
typedef struct tutti_model_recipe {
    /* The peak for 128 images per step over all ranks; for other numbers in proportion (Goyal et
     * al. 2017, arXiv:1706.02677, section 2.1). */
    double rate;
    double weight_decay, label_smoothing;
} tutti_model_recipe;

typedef struct tutti_model {
    const char *name, *summary;
    /* Appends the model to an empty net for H x W x C images. The net's status reports failures
     * (image too small, ...). */
    void (*build)(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes);
    tutti_model_input input; /* for benches and synthetic images */
    int64_t parameters;      /* with that input, those of auxiliary classifiers included */
    tutti_model_recipe recipe;
    /* In place of build, for a model that is not C: it knows itself. */
    void (*build_of)(const struct tutti_model *model, tutti_net *net, int64_t H, int64_t W,
        int64_t C, int64_t classes);
} tutti_model;

/* NULL-terminated table; lookup by name, or NULL. [P] */
extern const tutti_model *const tutti_models[];
const tutti_model *tutti_model_find(const char *name);
/* A net of this model; also after a failure the caller's to free, or NULL. Errors of its layers. */
static inline tutti_status tutti_model_net(
    const tutti_model *model, const tutti_model_input *input, tutti_net **net)
{
    tutti_status status = tutti_net_new(net);
    if (status) return status;
    if (model->build_of)
        model->build_of(model, *net, input->H, input->W, input->C, input->classes);
    else
        model->build(*net, input->H, input->W, input->C, input->classes);
    return tutti_net_status(*net);
}

#endif
