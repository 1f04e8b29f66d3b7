/* VGG-16 for small images: thirteen 3x3 convolutions in five stages, each ended by a 2x2 pooling,
 * and one dense layer.
 *
 * Source: Simonyan & Zisserman 2015, arXiv:1409.1556, table 1, configuration D. For CIFAR, as is
 * common: batch normalisation behind every convolution (whose bias it would cancel, so there is
 * none), and one dense layer in place of three. Where the image is down to one pixel (below 32x32)
 * the last pooling is left out; the smallest image is 16x16. Parameters at 32x32x3, 10 classes:
 * 14,710,464 (convolutions) + 8,448 (batch norm) + 5,130 = 14,724,042. */
#include "apps/models/families.h"

#include <stdio.h>

static tutti_value convolve(tutti_net *net, int number, tutti_value x, int64_t K)
{
    char conv[32], norm[32];
    snprintf(conv, sizeof conv, "conv%d", number);
    snprintf(norm, sizeof norm, "bn%d", number);
    x = tutti_net_conv(net, conv, x,
        &(tutti_conv_layer){.K = K, .R = 3, .stride = 1, .pad = 1, .init = TUTTI_INIT_HE_FAN_OUT});
    return tutti_net_norm(net, norm, x, 1);
}

void tutti_model_vgg16(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    static const struct {
        int depth;
        int64_t K;
    } stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
    enum { STAGES = sizeof stages / sizeof *stages };
    int number = 0;
    tutti_value x = tutti_net_input(net, H, W, C);
    for (int s = 0; s < STAGES; s++) {
        for (int d = 0; d < stages[s].depth; d++) x = convolve(net, ++number, x, stages[s].K);
        char pool[32];
        snprintf(pool, sizeof pool, "pool%d", s + 1);
        int64_t h, w, c;
        tutti_net_shape(net, x, &h, &w, &c);
        if (s < STAGES - 1 || h > 1 || w > 1) x = tutti_net_max_pool(net, pool, x, 2, 2, 0);
    }
    x = tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}
