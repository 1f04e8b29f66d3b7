/* Residual networks for small images with pre-activation: batch normalisation and ReLU come before each convolution,
 * so a path of additions alone leads through the whole net.
 *
 * A 3x3 convolution; three stages of n blocks, the second and third starting with stride 2; normalisation and ReLU; the
 * mean over the image; one dense layer. Where the channels change, the shortcut begins behind the first normalisation.
 *   preact-resnet110  18 blocks a stage of two 3x3 convolutions with 16, 32 and 64 channels; shortcuts without
 *                     parameters ("option A"). 1,727,962 parameters at 32x32x3, 10 classes
 *   resnet1001        111 bottlenecks a stage: 1x1 to w = 16, 32, 64 channels, 3x3, 1x1 to 4w; 1x1 convolutions as
 *                     shortcuts where channels change. 432 (first convolution) + 504,544 + 1,980,928 + 7,838,720
 *                     (stages) + 512 (last normalisation) + 2,570 (dense layer) = 10,327,706 parameters
 * Source: He, Zhang, Ren, Sun 2016, "Identity mappings in deep residual networks", arXiv:1603.05027, tables 2 and 4,
 * which round the latter to 10.2M. */
#include "apps/models/families.h"

#include <stdio.h>

enum { NAME = 48, STAGES = 3 };

static const char *join_names(char text[NAME], const char *block, const char *part)
{
    snprintf(text, NAME, "%s.%s", block, part);
    return text;
}

static tutti_value convolve(tutti_net *net, const char *block, const char *part, tutti_value x,
    int64_t K, int64_t R, int64_t stride)
{
    char name[NAME];
    tutti_conv_layer conv = {
        .K = K, .R = R, .stride = stride, .pad = R / 2, .init = TUTTI_INIT_HE_FAN_OUT};
    return tutti_net_conv(net, join_names(name, block, part), x, &conv);
}

static tutti_value activate(tutti_net *net, const char *block, const char *part, tutti_value x)
{
    char name[NAME];
    return tutti_net_norm(net, join_names(name, block, part), x, 1);
}

/* Two 3x3 convolutions to w channels. */
static tutti_value append_basic(
    tutti_net *net, const char *block, tutti_value x, int64_t w, int64_t stride)
{
    char name[NAME];
    int64_t H, W, C;
    tutti_net_shape(net, x, &H, &W, &C);
    tutti_value active = activate(net, block, "bn1", x);
    tutti_value y = convolve(net, block, "conv1", active, w, 3, stride);
    y = convolve(net, block, "conv2", activate(net, block, "bn2", y), w, 3, 1);
    if (stride != 1 || C != w)
        x = tutti_net_shortcut(net, join_names(name, block, "shortcut"), active, w, stride);
    return tutti_net_add(net, join_names(name, block, "add"), y, x, 0);
}

/* Down to w channels, 3x3, and up to 4w. */
static tutti_value append_bottleneck(
    tutti_net *net, const char *block, tutti_value x, int64_t w, int64_t stride)
{
    char name[NAME];
    int64_t H, W, C;
    tutti_net_shape(net, x, &H, &W, &C);
    tutti_value active = activate(net, block, "bn1", x);
    tutti_value y = convolve(net, block, "conv1", active, w, 1, 1);
    y = convolve(net, block, "conv2", activate(net, block, "bn2", y), w, 3, stride);
    y = convolve(net, block, "conv3", activate(net, block, "bn3", y), 4 * w, 1, 1);
    if (stride != 1 || C != 4 * w) x = convolve(net, block, "shortcut", active, 4 * w, 1, stride);
    return tutti_net_add(net, join_names(name, block, "add"), y, x, 0);
}

typedef tutti_value append_fn(
    tutti_net *net, const char *block, tutti_value x, int64_t w, int64_t stride);

static void build(tutti_net *net, tutti_value x, int64_t classes, int blocks, append_fn *append)
{
    const tutti_conv_layer first = {.K = 16, .R = 3, .pad = 1, .init = TUTTI_INIT_HE_FAN_OUT};
    x = tutti_net_conv(net, "conv1", x, &first);
    for (int stage = 0; stage < STAGES; stage++)
        for (int b = 0; b < blocks; b++) {
            char block[32];
            snprintf(block, sizeof block, "layer%d.%d", stage + 1, b);
            x = append(net, block, x, 16 << stage, stage > 0 && b == 0 ? 2 : 1);
        }
    x = tutti_net_norm(net, "bn", x, 1);
    x = tutti_net_global_avg_pool(net, "pool", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN));
}

void tutti_model_preact_resnet110(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, tutti_net_input(net, H, W, C), classes, 18, append_basic);
}

void tutti_model_resnet1001(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, tutti_net_input(net, H, W, C), classes, 111, append_bottleneck);
}
