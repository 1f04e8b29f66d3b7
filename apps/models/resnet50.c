/* ResNet-50 for 224x224 images of 1000 classes: bottleneck blocks with projection shortcuts.
 *
 * A 7x7 convolution with stride 2 and a 3x3 maximum pooling with stride 2; four stages of 3, 4, 6 and 3 blocks, the
 * later three starting with stride 2; the mean over the image; one dense layer. A block is a 1x1, a 3x3 and a 1x1
 * convolution with batch normalisation, the last four times as wide; the shortcut of a stage's first block is a 1x1
 * convolution ("option B"). Source: He, Zhang, Ren, Sun 2016, "Deep residual learning", arXiv:1512.03385, table 1 and
 * figure 5; weights are initialised as in He et al. 2015, arXiv:1502.01852. As in most programs since Gross & Wilber
 * 2016 the stride of a block is in its 3x3 convolution; in the paper it is in the first 1x1. Names are PyTorch's.
 * Parameters at 224x224x3, 1000 classes: 23,454,912 (convolutions) + 53,120 (batch norm) + 2,049,000 = 25,557,032. The
 * smallest image is 3x3. */
#include "apps/models/families.h"

#include <stdio.h>

enum { NAME = 48, WIDENING = 4 };

/* Convolution and batch normalisation; the two names are the block's plus each part. */
static tutti_value convolve(tutti_net *net, const char *block, const char *conv_part,
    const char *norm_part, tutti_value x, const tutti_conv_layer *conv, int relu)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s%s", block, conv_part);
    x = tutti_net_conv(net, name, x, conv);
    snprintf(name, sizeof name, "%s%s", block, norm_part);
    return tutti_net_norm(net, name, x, relu);
}

/* A block of width K: K, K and 4K channels. */
static tutti_value append_block(
    tutti_net *net, const char *block, tutti_value x, int64_t K, int64_t stride)
{
    const tutti_conv_layer
        narrow = {.K = K, .R = 1, .init = TUTTI_INIT_HE_FAN_OUT},
        middle = {.K = K, .R = 3, .stride = stride, .pad = 1, .init = TUTTI_INIT_HE_FAN_OUT},
        wide = {.K = WIDENING * K, .R = 1, .init = TUTTI_INIT_HE_FAN_OUT},
        project = {.K = WIDENING * K, .R = 1, .stride = stride, .init = TUTTI_INIT_HE_FAN_OUT};
    int64_t H, W, C;
    tutti_net_shape(net, x, &H, &W, &C);
    tutti_value y = convolve(net, block, "conv1", "bn1", x, &narrow, 1);
    y = convolve(net, block, "conv2", "bn2", y, &middle, 1);
    y = convolve(net, block, "conv3", "bn3", y, &wide, 0);
    if (stride != 1 || C != WIDENING * K)
        x = convolve(net, block, "downsample.0", "downsample.1", x, &project, 0);
    char name[NAME];
    snprintf(name, sizeof name, "%sadd", block);
    return tutti_net_add(net, name, y, x, 1);
}

void tutti_model_resnet50(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    static const int blocks[] = {3, 4, 6, 3};
    enum { STAGES = sizeof blocks / sizeof *blocks };
    const tutti_conv_layer stem = {
        .K = 64, .R = 7, .stride = 2, .pad = 3, .init = TUTTI_INIT_HE_FAN_OUT};
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "", "conv1", "bn1", x, &stem, 1);
    x = tutti_net_max_pool(net, "maxpool", x, 3, 2, 1);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int b = 0; b < blocks[stage]; b++) {
            char block[32];
            snprintf(block, sizeof block, "layer%d.%d.", stage + 1, b);
            x = append_block(net, block, x, 64 << stage, stage > 0 && b == 0 ? 2 : 1);
        }
    }
    x = tutti_net_global_avg_pool(net, "avgpool", x);
    x = tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}
