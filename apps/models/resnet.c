/* Residual networks for small images, 6n+2 layers deep: 8, 20, 32, 44, 56, 110.
 *
 * A 3x3 convolution; three stages of n blocks with 16, 32 and 64 channels, the second and third starting with stride 2;
 * the mean over the image; one dense layer. A block is two 3x3 convolutions with batch normalisation and a shortcut,
 * which has no parameters ("option A": zeros fill the new channels). Source: He, Zhang, Ren, Sun 2016, "Deep residual
 * learning", arXiv:1512.03385, section 4.2; weights are initialised as in He et al. 2015, arXiv:1502.01852. Parameters
 * at 32x32x3, 10 classes, including scales and shifts of batch normalisation: 75,290 (8), 269,722 (20), 464,154 (32),
 * 658,586 (44), 853,018 (56), 1,727,962 (110); the paper, which has no 8, rounds them in its table 6. */
#include "apps/models/families.h"

#include <stdio.h>

enum { NAME = 48 };

static tutti_value convolve(
    tutti_net *net, const char *name, tutti_value x, int64_t K, int64_t stride)
{
    tutti_conv_layer conv = {
        .K = K, .R = 3, .stride = stride, .pad = 1, .init = TUTTI_INIT_HE_FAN_OUT};
    return tutti_net_conv(net, name, x, &conv);
}

static const char *join_names(char text[NAME], const char *block, const char *part)
{
    snprintf(text, NAME, "%s.%s", block, part);
    return text;
}

static tutti_value append_block(
    tutti_net *net, const char *block, tutti_value x, int64_t K, int64_t stride)
{
    char name[NAME];
    int64_t H, W, C;
    tutti_net_shape(net, x, &H, &W, &C);
    tutti_value y = convolve(net, join_names(name, block, "conv1"), x, K, stride);
    y = tutti_net_norm(net, join_names(name, block, "bn1"), y, 1);
    y = convolve(net, join_names(name, block, "conv2"), y, K, 1);
    y = tutti_net_batch_norm(
        net, join_names(name, block, "bn2"), y, &(tutti_norm_layer){.last = 1});
    if (stride != 1 || C != K)
        x = tutti_net_shortcut(net, join_names(name, block, "shortcut"), x, K, stride);
    return tutti_net_add(net, join_names(name, block, "add"), y, x, 1);
}

static void build(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes, int blocks)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "conv1", x, 16, 1);
    x = tutti_net_norm(net, "bn1", x, 1);
    for (int stage = 0; stage < 3; stage++) {
        for (int b = 0; b < blocks; b++) {
            char block[32];
            snprintf(block, sizeof block, "layer%d.%d", stage + 1, b);
            x = append_block(net, block, x, 16 << stage, stage > 0 && b == 0 ? 2 : 1);
        }
    }
    x = tutti_net_global_avg_pool(net, "pool", x);
    x = tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

void tutti_model_resnet8(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 1);
}

void tutti_model_resnet20(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 3);
}

void tutti_model_resnet32(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 5);
}

void tutti_model_resnet44(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 7);
}

void tutti_model_resnet56(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 9);
}

void tutti_model_resnet110(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 18);
}
