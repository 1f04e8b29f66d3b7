/* VGG: 3x3 convolutions in five stages, each ended by a 2x2 pooling, and dense layers.
 *
 * Source: Simonyan & Zisserman 2015, arXiv:1409.1556, table 1: configurations A (11 layers with weights), B (13), D
 * (16) and E (19). If only one pixel is left (images below 32x32), the last pooling is omitted; the smallest image is
 * 16x16.
 *
 * vgg11-224, vgg13-224, vgg16-224 and vgg19-224 are the paper's, for 224x224: biases, no normalisation, two dense
 * layers of 4096 with dropout before the last. Weights are initialised by He's rule, which trains without the paper's
 * pretraining of a smaller network. Parameters at 224x224x3, 1000 classes: 132,863,336, 133,047,848, 138,357,544 =
 * 14,714,688 (convolutions) + 102,764,544 + 16,781,312 + 4,097,000, and 143,667,240.
 *
 * vgg11-bn-224, vgg16-bn-224 and vgg19-bn-224 are torchvision's: the same with batch normalisation behind every
 * convolution, which keeps its bias. Parameters: 132,868,840, 138,365,992, 143,678,248.
 *
 * vgg16 is the usual variant for CIFAR: batch normalisation after every convolution (it would cancel a bias, so there
 * is none), and one dense layer instead of three. Parameters at 32x32x3, 10 classes: 14,710,464 (convolutions) + 8,448
 * (batch norm) + 5,130 = 14,724,042. */
#include "apps/models/families.h"

#include <stdio.h>

enum { STAGES = 5 };
static const int64_t widths[STAGES] = {64, 128, 256, 512, 512};

/* Convolutions of each stage, with biases, and with batch normalisation. */
typedef struct shape {
    int depth[STAGES];
    int bias, norm;
} shape;

static const char *name_of(char text[32], const char *part, int number)
{
    snprintf(text, 32, "%s%d", part, number);
    return text;
}

static tutti_value convolve(tutti_net *net, const shape *s, int number, tutti_value x, int64_t K)
{
    char name[32];
    const tutti_conv_layer conv = {
        .K = K, .R = 3, .pad = 1, .bias = s->bias, .init = TUTTI_INIT_HE_FAN_OUT};
    x = tutti_net_conv(net, name_of(name, "conv", number), x, &conv);
    return s->norm ? tutti_net_norm(net, name_of(name, "bn", number), x, 1)
                   : tutti_net_relu(net, name_of(name, "relu", number), x);
}

/* Returns the number of convolutions in *number. */
static tutti_value append_stages(tutti_net *net, tutti_value x, const shape *s, int *number)
{
    *number = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        for (int d = 0; d < s->depth[stage]; d++) x = convolve(net, s, ++*number, x, widths[stage]);
        char name[32];
        int64_t h, w, c;
        tutti_net_shape(net, x, &h, &w, &c);
        if (stage < STAGES - 1 || h > 1 || w > 1)
            x = tutti_net_max_pool(net, name_of(name, "pool", stage + 1), x, 2, 2, 0);
    }
    return x;
}

static void build_large(
    tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes, const shape *s)
{
    enum { HIDDEN = 4096 };
    int number;
    char name[32];
    tutti_value x = append_stages(net, tutti_net_input(net, H, W, C), s, &number);
    x = tutti_net_dense(net, "fc1", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, name_of(name, "relu", number + 1), x);
    x = tutti_net_dropout(net, "drop1", x, 0.5f);
    x = tutti_net_dense(net, "fc2", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, name_of(name, "relu", number + 2), x);
    x = tutti_net_dropout(net, "drop2", x, 0.5f);
    x = tutti_net_dense(net, "fc3", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

void tutti_model_vgg16(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    static const shape small = {.depth = {2, 2, 3, 3, 3}, .norm = 1};
    int number;
    tutti_value x = append_stages(net, tutti_net_input(net, H, W, C), &small, &number);
    x = tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

#define LARGE(name, norm_behind, ...)                                                              \
    void tutti_model_##name(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)      \
    {                                                                                              \
        static const shape s = {.depth = {__VA_ARGS__}, .bias = 1, .norm = norm_behind};           \
        build_large(net, H, W, C, classes, &s);                                                    \
    }

LARGE(vgg11_224, 0, 1, 1, 2, 2, 2)
LARGE(vgg13_224, 0, 2, 2, 2, 2, 2)
LARGE(vgg16_224, 0, 2, 2, 3, 3, 3)
LARGE(vgg19_224, 0, 2, 2, 4, 4, 4)
LARGE(vgg11_bn_224, 1, 1, 1, 2, 2, 2)
LARGE(vgg16_bn_224, 1, 2, 2, 3, 3, 3)
LARGE(vgg19_bn_224, 1, 2, 2, 4, 4, 4)
