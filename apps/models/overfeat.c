/* OverFeat's fast model: five convolutions and three dense layers, as AlexNet's of one column, but wider.
 *
 * Source: Sermanet et al. 2014, "OverFeat: integrated recognition, localization and detection using convolutional
 * networks", arXiv:1312.6229, table 1; dropout in the sixth and seventh layer. The table has 24x24 pixels in the second
 * layer, which is what its convolution leaves of 28x28. Weights are initialised by He's rule. Parameters at 231x231x3,
 * 1000 classes: 15,987,584 (convolutions) + 113,249,280 + 12,587,008 + 4,097,000 = 145,920,872. The smallest image is
 * 71x71. */
#include "apps/models/families.h"

static tutti_value convolve(tutti_net *net, const char *name, const char *relu, tutti_value x,
    int64_t K, int64_t R, int64_t stride, int64_t pad)
{
    x = tutti_net_conv(net, name, x,
        &(tutti_conv_layer){.K = K,
            .R = R,
            .stride = stride,
            .pad = pad,
            .bias = 1,
            .init = TUTTI_INIT_HE_FAN_OUT});
    return tutti_net_relu(net, relu, x);
}

void tutti_model_overfeat_fast(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "conv1", "relu1", x, 96, 11, 4, 0);
    x = tutti_net_max_pool(net, "pool1", x, 2, 2, 0);
    x = convolve(net, "conv2", "relu2", x, 256, 5, 1, 0);
    x = tutti_net_max_pool(net, "pool2", x, 2, 2, 0);
    x = convolve(net, "conv3", "relu3", x, 512, 3, 1, 1);
    x = convolve(net, "conv4", "relu4", x, 1024, 3, 1, 1);
    x = convolve(net, "conv5", "relu5", x, 1024, 3, 1, 1);
    x = tutti_net_max_pool(net, "pool5", x, 2, 2, 0);
    x = tutti_net_relu(net, "relu6", tutti_net_dense(net, "fc6", x, 3072, TUTTI_INIT_HE_FAN_IN));
    x = tutti_net_dropout(net, "drop6", x, 0.5f);
    x = tutti_net_relu(net, "relu7", tutti_net_dense(net, "fc7", x, 4096, TUTTI_INIT_HE_FAN_IN));
    x = tutti_net_dropout(net, "drop7", x, 0.5f);
    tutti_net_output(net, tutti_net_dense(net, "fc8", x, classes, TUTTI_INIT_UNIFORM_FAN_IN));
}
