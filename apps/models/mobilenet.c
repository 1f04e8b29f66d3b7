/* MobileNet (version 1): a 3x3 convolution, and thirteen pairs of a depthwise 3x3 and a 1x1 convolution.
 *
 * Batch normalisation and ReLU follow each convolution; five of the 27 have stride 2; then the mean over the image and
 * one dense layer. Source: Howard et al. 2017, "MobileNets", arXiv:1704.04861, table 1, with width 1. The last
 * depthwise convolution has stride 1: that of the table, 2, contradicts the sizes beside it. Weights are initialised as
 * in He et al. 2015, arXiv:1502.01852. Parameters at 224x224x3, 1000 classes: 4,231,976. The smallest image is 1x1, in
 * batches of several. */
#include "apps/models/families.h"

#include <stdio.h>

/* Convolution, batch normalisation and ReLU; "conv2.depth" and "bn2.depth", or "conv1" and "bn1". */
static tutti_value convolve(
    tutti_net *net, int number, const char *part, tutti_value x, tutti_conv_layer conv)
{
    char name[32];
    conv.init = TUTTI_INIT_HE_FAN_OUT;
    snprintf(name, sizeof name, "conv%d%s", number, part);
    x = tutti_net_conv(net, name, x, &conv);
    snprintf(name, sizeof name, "bn%d%s", number, part);
    return tutti_net_norm(net, name, x, 1);
}

void tutti_model_mobilenet_v1(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    static const struct {
        int64_t K, stride;
    } pairs[] = {{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}, {512, 1},
        {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, 1, "", x, (tutti_conv_layer){.K = 32, .R = 3, .stride = 2, .pad = 1});
    for (int i = 0; i < PAIRS; i++) {
        int64_t h, w, c;
        tutti_net_shape(net, x, &h, &w, &c);
        const tutti_conv_layer depth = {
            .K = c, .R = 3, .stride = pairs[i].stride, .pad = 1, .groups = c};
        x = convolve(net, i + 2, ".depth", x, depth);
        x = convolve(net, i + 2, ".point", x, (tutti_conv_layer){.K = pairs[i].K, .R = 1});
    }
    x = tutti_net_global_avg_pool(net, "avgpool", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN));
}
