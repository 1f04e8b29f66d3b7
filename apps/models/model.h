/* The models by name. Each file says which paper it follows and how many parameters that makes; a
 * test asserts it. */
#ifndef TUTTI_MODEL_H
#define TUTTI_MODEL_H

#include "dag/net/net.h"

/* What a model is made for; it takes other sizes, too. */
typedef struct tutti_model_input {
    int H, W, C, classes;
} tutti_model_input;

typedef struct tutti_model {
    const char *name, *summary;
    /* Appends the model to an empty net for H x W x C images. The net's status tells of failure
     * (image too small, ...). */
    void (*build)(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes);
    tutti_model_input input; /* of benches and synthetic images */
    int64_t parameters;      /* with that input */
    double rate;             /* a peak learning rate to start from, for SGD with momentum 0.9 */
} tutti_model;

/* NULL-terminated table; lookup by name, or NULL. [P] */
extern const tutti_model *const tutti_models[];
const tutti_model *tutti_model_find(const char *name);

#endif
