/* VGG-16: thirteen 3x3 convolutions in five stages, each ended by a 2x2 pooling, and dense layers.
 *
 * Source: Simonyan & Zisserman 2015, arXiv:1409.1556, table 1, configuration D. If only one pixel is left (images below
 * 32x32), the last pooling is omitted; the smallest image is 16x16.
 *
 * vgg16-224 is the paper's, for 224x224: biases, no normalisation, two dense layers of 4096 with dropout before the
 * last. Weights are initialised by He's rule, which trains without the paper's pretraining of a smaller network.
 * Parameters at 224x224x3, 1000 classes: 14,714,688 (convolutions) + 102,764,544 + 16,781,312 + 4,097,000 =
 * 138,357,544.
 *
 * vgg16 is the usual variant for CIFAR: batch normalisation after every convolution (it would cancel a bias, so there
 * is none), and one dense layer instead of three. Parameters at 32x32x3, 10 classes: 14,710,464 (convolutions) + 8,448
 * (batch norm) + 5,130 = 14,724,042. */
#include "apps/models/families.h"

#include <stdio.h>

typedef tutti_value convolve_fn(tutti_net *net, int number, tutti_value x, int64_t K);

static const char *name_of(char text[32], const char *part, int number)
{
    snprintf(text, 32, "%s%d", part, number);
    return text;
}

static tutti_value convolve_norm(tutti_net *net, int number, tutti_value x, int64_t K)
{
    char name[32];
    x = tutti_net_conv(net, name_of(name, "conv", number), x,
        &(tutti_conv_layer){.K = K, .R = 3, .stride = 1, .pad = 1, .init = TUTTI_INIT_HE_FAN_OUT});
    return tutti_net_norm(net, name_of(name, "bn", number), x, 1);
}

static tutti_value convolve_bias(tutti_net *net, int number, tutti_value x, int64_t K)
{
    char name[32];
    x = tutti_net_conv(net, name_of(name, "conv", number), x,
        &(tutti_conv_layer){.K = K, .R = 3, .pad = 1, .bias = 1, .init = TUTTI_INIT_HE_FAN_OUT});
    return tutti_net_relu(net, name_of(name, "relu", number), x);
}

static tutti_value append_stages(tutti_net *net, tutti_value x, convolve_fn *convolve)
{
    static const struct {
        int depth;
        int64_t K;
    } stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
    enum { STAGES = sizeof stages / sizeof *stages };
    int number = 0;
    for (int s = 0; s < STAGES; s++) {
        for (int d = 0; d < stages[s].depth; d++) x = convolve(net, ++number, x, stages[s].K);
        char name[32];
        int64_t h, w, c;
        tutti_net_shape(net, x, &h, &w, &c);
        if (s < STAGES - 1 || h > 1 || w > 1)
            x = tutti_net_max_pool(net, name_of(name, "pool", s + 1), x, 2, 2, 0);
    }
    return x;
}

void tutti_model_vgg16(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = append_stages(net, x, convolve_norm);
    x = tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

void tutti_model_vgg16_224(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    enum { HIDDEN = 4096 };
    tutti_value x = tutti_net_input(net, H, W, C);
    x = append_stages(net, x, convolve_bias);
    x = tutti_net_dense(net, "fc1", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu14", x);
    x = tutti_net_dropout(net, "drop1", x, 0.5f);
    x = tutti_net_dense(net, "fc2", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu15", x);
    x = tutti_net_dropout(net, "drop2", x, 0.5f);
    x = tutti_net_dense(net, "fc3", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}
