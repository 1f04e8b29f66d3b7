/* Caffe's "CIFAR-10 quick": three 5x5 convolutions with pooling, then 64 features.
 *
 * Source: Jia et al. 2014, "Caffe", arXiv:1408.5093, examples/cifar10/cifar10_quick_train_test.prototxt, after
 * Krizhevsky's cuda-convnet layers-80sec. Two differences: Caffe rounds the size of a 3x3 stride-2 pooling up while we
 * round down, so the pooling is padded by 1 and gives the same sizes (16, 8, 4) with windows one pixel further up and
 * left; and weights are initialised by He's rule, not with three hand-set deviations. No batch normalisation.
 * Parameters at 32x32x3, 10 classes: 2,432 + 25,632 + 51,264 + 65,600 + 650 = 145,578. */
#include "apps/models/families.h"

static tutti_value convolve(tutti_net *net, const char *name, tutti_value x, int64_t K)
{
    tutti_conv_layer conv = {
        .K = K, .R = 5, .stride = 1, .pad = 2, .bias = 1, .init = TUTTI_INIT_HE_FAN_IN};
    return tutti_net_conv(net, name, x, &conv);
}

void tutti_model_cifar_quick(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "conv1", x, 32);
    x = tutti_net_max_pool(net, "pool1", x, 3, 2, 1);
    x = tutti_net_relu(net, "relu1", x);
    x = convolve(net, "conv2", x, 32);
    x = tutti_net_relu(net, "relu2", x);
    x = tutti_net_avg_pool(net, "pool2", x, 3, 2, 1);
    x = convolve(net, "conv3", x, 64);
    x = tutti_net_relu(net, "relu3", x);
    x = tutti_net_avg_pool(net, "pool3", x, 3, 2, 1);
    x = tutti_net_dense(net, "ip1", x, 64, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_dense(net, "ip2", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}
