/* The models by name. Each file says which paper it follows and how many parameters that makes; a
 * test asserts it. */
#ifndef TUTTI_MODEL_H
#define TUTTI_MODEL_H

#include "dag/net/net.h"

/* What a model is made for; it takes other sizes, too. */
typedef struct tutti_model_input {
    int H, W, C, classes;
} tutti_model_input;

/* What to start from when nobody says: SGD with momentum 0.9. */
typedef struct tutti_model_recipe {
    double
        rate; /* the peak for 128 images a step over all ranks; for others in proportion (Goyal et al.
                    2017, arXiv:1706.02677, section 2.1) */
    double weight_decay, label_smoothing;
} tutti_model_recipe;

typedef struct tutti_model {
    const char *name, *summary;
    /* Appends the model to an empty net for H x W x C images. The net's status tells of failure
     * (image too small, ...). */
    void (*build)(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes);
    tutti_model_input input; /* of benches and synthetic images */
    int64_t parameters;      /* with that input */
    tutti_model_recipe recipe;
} tutti_model;

/* NULL-terminated table; lookup by name, or NULL. [P] */
extern const tutti_model *const tutti_models[];
const tutti_model *tutti_model_find(const char *name);

#endif
