/* The inside of a net: layers in order, each of one kind, with its inputs and its values.
 *
 * The input is layer 0 and value 0. The values of a layer follow those of the layer before it; most
 * layers have one. A kind (layer_<kind>.c) is a table of functions (the shapes of its values, its
 * parameters, the nodes of the forward, evaluation and backward passes), a struct of its settings,
 * and the function of net.h that appends it. A new kind is a new file with these, and that
 * function's line in net.h. Threads: [M]. */
#ifndef TUTTI_LAYER_H
#define TUTTI_LAYER_H

#include "dag/base/dtype.h"
#include "dag/graph/shape.h"
#include "dag/kernels/arith.h"
#include "dag/net/net.h"

#include <stddef.h>

enum {
    TUTTI_LAYER_NAME = 64,
    TUTTI_LAYER_INPUTS = TUTTI_CONCAT_PARTS,  /* at most */
    TUTTI_LAYER_OUTPUTS = TUTTI_CONCAT_PARTS, /* at most */
    TUTTI_LAYER_PARAMETERS = 2,
    TUTTI_LAYER_SETTINGS = 128, /* bytes */
};

/* Shape of a value without the batch size. Features have H = W = 1. */
typedef struct tutti_extent {
    int64_t H, W, C;
} tutti_extent;

typedef struct tutti_window {
    int64_t R, S;              /* height, width */
    int64_t stride[2], pad[2]; /* down, across */
} tutti_window;

/* The initial value of a parameter or state. The pairs are (2,C) tensors, row by row. */
typedef enum tutti_start {
    TUTTI_START_ZERO,
    TUTTI_START_NORMAL,   /* spread: the standard deviation */
    TUTTI_START_UNIFORM,  /* spread: the bound on either side */
    TUTTI_START_ONE_ZERO, /* scale and shift */
    TUTTI_START_ZERO_ONE, /* mean and variance */
} tutti_start;

typedef struct tutti_parameter {
    const char *suffix; /* "weight": the tensor is "<layer>.weight" */
    tutti_dtype dtype;  /* of the parameter, its states, and its gradients until they are summed */
    int multiplied;     /* with values, and therefore read in their type */
    tutti_shape shape;
    tutti_start start;
    double spread;
    /* A number or two for each channel (biases, scales and shifts), and not a weight:
     * tutti_step_options.weights_only leaves it out. */
    int per_channel;
} tutti_parameter;

/* What multiplies the learning rate and the weight decay of one parameter. */
typedef struct tutti_factors {
    double rate, weight_decay;
} tutti_factors;

typedef struct tutti_layer_kind tutti_layer_kind;

typedef struct tutti_layer {
    const tutti_layer_kind *kind;
    char name[TUTTI_LAYER_NAME];
    int inputs, outputs; /* outputs: values; 0 is taken for 1 when a layer is appended */
    tutti_value in[TUTTI_LAYER_INPUTS];
    tutti_value value;                     /* the first of its values */
    tutti_extent from[TUTTI_LAYER_INPUTS]; /* of the inputs */
    tutti_extent out[TUTTI_LAYER_OUTPUTS]; /* of the values */
    /* Element types of the inputs and the values, and of their gradients. A value has the type of
     * the first input unless its kind's infer sets another. */
    tutti_dtype from_dtype[TUTTI_LAYER_INPUTS], dtype[TUTTI_LAYER_OUTPUTS];
    tutti_factors factors[TUTTI_LAYER_PARAMETERS]; /* 1 and 1 unless tutti_net_scale says so */
    /* the kind's struct; read it through tutti_layer_settings */
    _Alignas(max_align_t) char settings[TUTTI_LAYER_SETTINGS];
} tutti_layer;

/* The settings of a layer, in the struct that its kind's file has appended it with. They begin with
 * the struct of net.h for conv, norm, the poolings and lrn, are an int (whether a ReLU is fused) for
 * add, a float for dropout (the rate) and clipped relu (the limit), and these for dense and shortcut. */
typedef struct tutti_dense_layer {
    int64_t K;
    tutti_init init;
} tutti_dense_layer;
typedef struct tutti_shortcut_layer {
    int64_t K, stride;
} tutti_shortcut_layer;

static inline const void *tutti_layer_settings(const tutti_layer *layer)
{
    return layer->settings;
}

struct tutti_site; /* dag/net/site.h: a layer at one micro-batch */

struct tutti_layer_kind {
    const char *name;
    /* Checks the layer's settings against layer->from, and sets layer->out of each value. INVAL
     * (logged). */
    tutti_status (*infer)(tutti_layer *layer);
    /* Lists the parameters, at most TUTTI_LAYER_PARAMETERS; returns how many. NULL: none. */
    int (*parameters)(const tutti_layer *layer, tutti_parameter parameter[]);
    /* Whether its value can be float32 where its input is bf16. */
    int widens;
    /* Whether its outputs, which each have a row of every parameter, can be divided over ranks
     * (dag/net/divide.h). */
    int divides;
    /* Whether its forward pass can leave max(y, 0) where site->rectified, and whether it is the ReLU that then passes
     * this on: see tutti_net_rectifies. */
    int rectifies, is_relu;
    /* Whether forward leaves batch statistics in site->stats, from which running ones are kept. */
    int statistics;
    /* Append nodes for one micro-batch that read site->x and the parameters and write site->y.
     * evaluate NULL: same as forward. */
    tutti_status (*forward)(struct tutti_site *site);
    tutti_status (*evaluate)(struct tutti_site *site);
    /* Appends the nodes from site->dy (a tensor for each value, no two the same) to site->dx, for
     * the inputs whose gradient is wanted, and to site->dparameter where site->trains. The gradient
     * that the layers below wait for comes first. */
    tutti_status (*backward)(struct tutti_site *site);
};

/* The two kinds of layers that can be computed together (tutti_net_added_norm). */
extern const tutti_layer_kind tutti_layer_norm, tutti_layer_add;

/* Where a value comes from. */
typedef struct tutti_source {
    int layer, output;
} tutti_source;

enum { TUTTI_NET_AUXILIARIES = 4 };
typedef struct tutti_auxiliary {
    tutti_value logits;
    double weight;
} tutti_auxiliary;

struct tutti_net {
    tutti_status status; /* the first failure */
    int layers, capacity;
    tutti_layer *layer;
    int values;
    tutti_source *source; /* of each value */
    tutti_value output;   /* -1 until declared */
    int auxiliaries;      /* further classifiers, trained with these shares of their losses */
    tutti_auxiliary auxiliary[TUTTI_NET_AUXILIARIES];
};

static inline tutti_extent tutti_net_extent(const tutti_net *net, tutti_value value)
{
    return net->layer[net->source[value].layer].out[net->source[value].output];
}

static inline tutti_dtype tutti_net_dtype(const tutti_net *net, tutti_value value)
{
    return net->layer[net->source[value].layer].dtype[net->source[value].output];
}

/* How many read a value: inputs of layers, and the net, of whose outputs it is one. [P] */
int tutti_net_readers(const tutti_net *net, tutti_value value);

/* Whether the kernels of this layer can write what a ReLU leaves of its value: all that reads it is a ReLU. [P] */
int tutti_net_rectifies(const tutti_net *net, int layer);

/* Appends a layer of this kind with these inputs and this number of values, and infers its shapes.
 * settings: the kind's struct (copied), at most TUTTI_LAYER_SETTINGS bytes; NULL, 0 for a kind
 * without. Returns the first new value, which the others follow, or -1 if this or an earlier call
 * has failed. */
tutti_value tutti_net_append(
    tutti_net *net, const char *name, tutti_layer layer, const void *settings, size_t bytes);

/* Lists the parameters of a layer and returns how many; 0 for a kind without. */
int tutti_layer_parameters(
    const tutti_layer *layer, tutti_parameter parameter[TUTTI_LAYER_PARAMETERS]);

/* Which input of a layer, an addition with a ReLU, is the value of a batch normalisation without one that nothing else
 * reads: the addition can compute both (NORM_ADD in dag/kernels/norm.h). -1: none. */
int tutti_net_added_norm(const tutti_net *net, int layer);

/* H*W*C. */
int64_t tutti_extent_count(tutti_extent extent);
/* "32x32x16", in text; returns text. */
enum { TUTTI_EXTENT_TEXT = 64 };
char *tutti_extent_print(tutti_extent extent, char text[TUTTI_EXTENT_TEXT]);

/* Checks a window (size and stride at least 1, 0 <= pad < size, not larger than the padded image, each
 * way), logging what is wrong. */
tutti_status tutti_layer_check_window(const tutti_layer *layer, tutti_window window);

/* Sets a weight's start and spread by this rule. */
void tutti_parameter_init(
    tutti_parameter *parameter, tutti_init init, int64_t fan_in, int64_t fan_out);

#endif
