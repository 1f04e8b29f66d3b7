/* Residual networks for 224x224 images of 1000 classes: resnet18, 34, 50, 101 and 152, and resnext50-32x4d.
 *
 * A 7x7 convolution with stride 2 and a 3x3 maximum pooling with stride 2; four stages of blocks of 64, 128, 256 and
 * 512 channels, the later three starting with stride 2; the mean over the image; one dense layer. In resnet18 and 34 a
 * block is two 3x3 convolutions with batch normalisation; in the others a 1x1, a 3x3 and a 1x1 convolution, the last
 * four times as wide; the shortcut of a block that changes the shape is a 1x1 convolution ("option B"). Source: He,
 * Zhang, Ren, Sun 2016, "Deep residual learning", arXiv:1512.03385, table 1 and figure 5; weights are initialised as in
 * He et al. 2015, arXiv:1502.01852. As in most programs since Gross & Wilber 2016 the stride of a block is in its 3x3
 * convolution; in the paper it is in the first 1x1. resnext50-32x4d has 3x3 convolutions twice as wide, in 32 groups:
 * Xie, Girshick, Dollar, Tu, He 2017, "Aggregated residual transformations", arXiv:1611.05431, table 1.
 *
 * Names are PyTorch's. Parameters at 224x224x3, 1000 classes, with scales and shifts of batch normalisation: 11,689,512
 * (18), 21,797,672 (34), 25,557,032 (50), 44,549,160 (101), 60,192,808 (152), 25,028,904 (resnext50-32x4d). The
 * smallest image is 3x3. */
#include "apps/models/families.h"

#include <stdio.h>

enum { NAME = 48, STAGES = 4, WIDENING = 4 };

typedef struct shape {
    int blocks[STAGES];
    int bottleneck;
    int64_t groups, width; /* of the 3x3 convolutions of a bottleneck: in the first stage */
} shape;

/* Convolution and batch normalisation; the two names are the block's plus each part. */
static tutti_value convolve(tutti_net *net, const char *block, const char *conv_part,
    const char *norm_part, tutti_value x, tutti_conv_layer conv, tutti_norm_layer norm)
{
    char name[NAME];
    conv.init = TUTTI_INIT_HE_FAN_OUT;
    snprintf(name, sizeof name, "%s%s", block, conv_part);
    x = tutti_net_conv(net, name, x, &conv);
    snprintf(name, sizeof name, "%s%s", block, norm_part);
    return tutti_net_batch_norm(net, name, x, &norm);
}

static tutti_value append_basic(
    tutti_net *net, const char *block, tutti_value x, int64_t K, int64_t stride)
{
    x = convolve(net, block, "conv1", "bn1", x,
        (tutti_conv_layer){.K = K, .R = 3, .stride = stride, .pad = 1},
        (tutti_norm_layer){.relu = 1});
    return convolve(net, block, "conv2", "bn2", x, (tutti_conv_layer){.K = K, .R = 3, .pad = 1},
        (tutti_norm_layer){.last = 1});
}

static tutti_value append_bottleneck(tutti_net *net, const char *block, tutti_value x, int64_t K,
    int64_t stride, int64_t width, int64_t groups)
{
    x = convolve(net, block, "conv1", "bn1", x, (tutti_conv_layer){.K = width, .R = 1},
        (tutti_norm_layer){.relu = 1});
    x = convolve(net, block, "conv2", "bn2", x,
        (tutti_conv_layer){.K = width, .R = 3, .stride = stride, .pad = 1, .groups = groups},
        (tutti_norm_layer){.relu = 1});
    return convolve(net, block, "conv3", "bn3", x, (tutti_conv_layer){.K = K, .R = 1},
        (tutti_norm_layer){.last = 1});
}

static tutti_value append_block(tutti_net *net, const shape *s, int stage, int b, tutti_value x)
{
    char block[32], name[NAME];
    const int64_t stride = stage > 0 && b == 0 ? 2 : 1;
    const int64_t K = (s->bottleneck ? WIDENING * 64 : 64) << stage;
    int64_t H, W, C;
    snprintf(block, sizeof block, "layer%d.%d.", stage + 1, b);
    tutti_net_shape(net, x, &H, &W, &C);
    tutti_value y = s->bottleneck
                        ? append_bottleneck(net, block, x, K, stride, s->width << stage, s->groups)
                        : append_basic(net, block, x, K, stride);
    if (stride != 1 || C != K)
        x = convolve(net, block, "downsample.0", "downsample.1", x,
            (tutti_conv_layer){.K = K, .R = 1, .stride = stride}, (tutti_norm_layer){0});
    snprintf(name, sizeof name, "%sadd", block);
    return tutti_net_add(net, name, y, x, 1);
}

static void build(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes, const shape *s)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "", "conv1", "bn1", x,
        (tutti_conv_layer){.K = 64, .R = 7, .stride = 2, .pad = 3}, (tutti_norm_layer){.relu = 1});
    x = tutti_net_max_pool(net, "maxpool", x, 3, 2, 1);
    for (int stage = 0; stage < STAGES; stage++)
        for (int b = 0; b < s->blocks[stage]; b++) x = append_block(net, s, stage, b, x);
    x = tutti_net_global_avg_pool(net, "avgpool", x);
    x = tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

void tutti_model_resnet18(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, &(shape){.blocks = {2, 2, 2, 2}});
}

void tutti_model_resnet34(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, &(shape){.blocks = {3, 4, 6, 3}});
}

static void build_bottlenecks(
    tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes, int second, int third)
{
    build(net, H, W, C, classes,
        &(shape){.blocks = {3, second, third, 3}, .bottleneck = 1, .groups = 1, .width = 64});
}

void tutti_model_resnet50(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build_bottlenecks(net, H, W, C, classes, 4, 6);
}

void tutti_model_resnet101(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build_bottlenecks(net, H, W, C, classes, 4, 23);
}

void tutti_model_resnet152(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build_bottlenecks(net, H, W, C, classes, 8, 36);
}

void tutti_model_resnext50(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes,
        &(shape){.blocks = {3, 4, 6, 3}, .bottleneck = 1, .groups = 32, .width = 128});
}
