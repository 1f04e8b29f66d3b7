/* Networks, the language that models are written in. The only header that apps/models includes.
 *
 * A net is a list of layers joined by values; a value is a batch of images (H,W,C) or of features
 * (C), without its batch size. A layer call appends a layer and returns the new value, or fills an
 * array with several. Any number of layers may read a value. The first failure is logged and kept:
 * later calls return -1, and tutti_net_status reports it, so that a model reads as a list of
 * layers.
 *
 *     tutti_value x = tutti_net_input(net, 32, 32, 3);
 *     x = tutti_net_conv(net, "conv1", x, &(tutti_conv_layer){.K = 16, .R = 3, .pad = 1});
 *
 * Names (1 to 63 characters) become tensor names as in PyTorch ("conv1.weight"); they are unique.
 * Errors: INVAL, naming the layer and the shapes; NOMEM. Threads: [M]. */
#ifndef TUTTI_NET_H
#define TUTTI_NET_H

#include "dag/base/status.h"

#include <stdint.h>

typedef struct tutti_net tutti_net;
typedef int tutti_value;

tutti_status tutti_net_new(tutti_net **net);
void tutti_net_free(tutti_net *net);
tutti_status tutti_net_status(const tutti_net *net);

/* The one input. H, W >= 1, C >= 1. */
tutti_value tutti_net_input(tutti_net *net, int64_t H, int64_t W, int64_t C);

/* The initial weights: He et al. 2015 (normal, fan-out or fan-in), or PyTorch's default,
 * uniform(+-1/sqrt(fan_in)). Biases start at zero. */
typedef enum tutti_init {
    TUTTI_INIT_HE_FAN_OUT,
    TUTTI_INIT_HE_FAN_IN,
    TUTTI_INIT_UNIFORM_FAN_IN
} tutti_init;

typedef struct tutti_conv_layer {
    int64_t K, R;        /* filters; window R x R */
    int64_t stride, pad; /* stride 0 means 1 */
    /* A window R x S, with S above 0: stride and pad are then for the height alone, these for the
     * width (stride_s 0 means stride). */
    int64_t S, stride_s, pad_s;
    int64_t groups; /* of channels and filters: divides both; 0 means 1 */
    int bias;
    tutti_init init;
} tutti_conv_layer;

tutti_value tutti_net_conv(
    tutti_net *net, const char *name, tutti_value x, const tutti_conv_layer *layer);
/* First flattens images to (H*W*C) in NHWC order. With bias. */
tutti_value tutti_net_dense(
    tutti_net *net, const char *name, tutti_value x, int64_t K, tutti_init init);
/* Batch normalisation per channel, eps 1e-5, running momentum 0.1; relu: followed by a fused
 * ReLU. */
tutti_value tutti_net_norm(tutti_net *net, const char *name, tutti_value x, int relu);
/* Any. */
typedef struct tutti_norm_layer {
    int relu;
    float limit; /* of the ReLU, as in tutti_net_clipped_relu; 0: none */
    int last;  /* of a residual block's branch, see below */
    float eps; /* 0 means 1e-5 */
} tutti_norm_layer;
tutti_value tutti_net_batch_norm(
    tutti_net *net, const char *name, tutti_value x, const tutti_norm_layer *layer);
/* Scales of norms that are the last of their branch start at 0, instead of 1, so that a block first
 * passes on its input alone (Goyal et al. 2017, arXiv:1706.02677, section 5.1). To be called when all
 * layers have been appended; without it they start at 1. */
void tutti_net_start_blocks_at_zero(tutti_net *net);
tutti_value tutti_net_relu(tutti_net *net, const char *name, tutti_value x);
/* min(max(x, 0), limit), limit above 0: ReLU6 with 6. */
tutti_value tutti_net_clipped_relu(tutti_net *net, const char *name, tutti_value x, float limit);
/* a + b, two values of equal shape; relu: followed by a fused ReLU. */
tutti_value tutti_net_add(tutti_net *net, const char *name, tutti_value a, tutti_value b, int relu);
/* The channels of all values, one behind the other in this order, as one value: `count` (1 to 16)
 * different values of equal H and W (Szegedy et al. 2015, arXiv:1409.4842, figure 2). */
tutti_value tutti_net_concat(tutti_net *net, const char *name, int count, const tutti_value x[]);
/* The opposite: value[i] gets the next C[i] channels of x, for each of `parts` (1 to 16) values,
 * which together have all of them. After a failure every value is -1. */
void tutti_net_split(tutti_net *net, const char *name, tutti_value x, int parts, const int64_t C[],
    tutti_value value[]);
/* Windows R x R, clipped at the border; one larger than the padded image is an error. */
tutti_value tutti_net_max_pool(
    tutti_net *net, const char *name, tutti_value x, int64_t R, int64_t stride, int64_t pad);
tutti_value tutti_net_avg_pool(
    tutti_net *net, const char *name, tutti_value x, int64_t R, int64_t stride, int64_t pad);
/* Any pooling. */
typedef struct tutti_pool_layer {
    int64_t R, stride, pad; /* window R x R; stride 0 means 1 */
    int average;            /* and not the maximum */
    int ceiling;        /* round the size of the value up, not down: windows may stick out at the
                               end, but each begins inside (Caffe; PyTorch's ceil_mode) */
    int counts_padding; /* as zeros, in averages; excludes ceiling where a window sticks out */
} tutti_pool_layer;
tutti_value tutti_net_pool(
    tutti_net *net, const char *name, tutti_value x, const tutti_pool_layer *layer);
tutti_value tutti_net_global_avg_pool(tutti_net *net, const char *name, tutti_value x);
/* Local response normalisation over `size` channels, an odd number: x * (k + alpha/size * sum of
 * squares)^-beta (dag/kernels/lrn.h). */
typedef struct tutti_lrn_layer {
    int64_t size;
    float alpha, beta, k;
} tutti_lrn_layer;
tutti_value tutti_net_lrn(
    tutti_net *net, const char *name, tutti_value x, const tutti_lrn_layer *layer);
/* rate in [0, 1); evaluation drops nothing. */
tutti_value tutti_net_dropout(tutti_net *net, const char *name, tutti_value x, float rate);
/* Every stride-th pixel and zero channels up to K: the parameter-free shortcut of CIFAR ResNets
 * ("option A"). */
tutti_value tutti_net_shortcut(
    tutti_net *net, const char *name, tutti_value x, int64_t K, int64_t stride);
/* Multiplies the learning rate and the weight decay of one parameter ("weight", "bias",
 * "scaleshift") of the layer that has this value; 0 and more. A rate of 0 freezes it. */
void tutti_net_scale(
    tutti_net *net, tutti_value x, const char *parameter, double rate, double weight_decay);
/* Declares the result; C = classes. */
tutti_value tutti_net_output(tutti_net *net, tutti_value logits);
/* Declares a further classifier, of as many classes, at most 4: `weight` (above 0) times its loss is
 * part of what is trained. Metrics are the result's alone, and evaluation omits the layers that only
 * such classifiers need (Szegedy et al. 2015, arXiv:1409.4842, section 5). */
void tutti_net_auxiliary(tutti_net *net, tutti_value logits, double weight);

/* *layer: the name of the first layer whose parameters have other shapes in `other`, a net of the same
 * layers for images of another size; NULL: the parameters of one serve the other. Layers that only
 * auxiliary classifiers need do not count. Both nets have an output. NOMEM (logged). */
tutti_status tutti_net_compare(const tutti_net *net, const tutti_net *other, const char **layer);
/* Shape of a value without the batch size: H and W are 1 for features. */
void tutti_net_shape(const tutti_net *net, tutti_value x, int64_t *H, int64_t *W, int64_t *C);
/* Trainable numbers. */
int64_t tutti_net_parameters(const tutti_net *net);

#endif
