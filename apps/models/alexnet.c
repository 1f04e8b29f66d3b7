/* AlexNet: five convolutions and three dense layers, in two forms.
 *
 * alexnet is the network of Krizhevsky, Sutskever, Hinton 2012, "ImageNet classification with deep convolutional neural
 * networks", as Caffe has it (Jia et al. 2014, arXiv:1408.5093, models/bvlc_alexnet): the second, fourth and fifth
 * convolution in two groups, local response normalisation behind the first two (over 5 channels, alpha 1e-4 divided by
 * 5, beta 0.75, k 1; the paper has k 2 and does not divide), dropout behind the first two dense layers. Names are
 * Caffe's. Parameters at 227x227x3, 1000 classes: 2,334,080 (convolutions) + 37,752,832 + 16,781,312 + 4,097,000 =
 * 60,965,224.
 *
 * alexnet-tv is the later network of one column of Krizhevsky 2014, "One weird trick", arXiv:1404.5997, footnote 1, as
 * torchvision has it: no groups, no normalisation, other widths, dropout before the first two dense layers. Names are
 * torchvision's. Parameters at 224x224x3, 1000 classes: 61,100,840.
 *
 * Weights are initialised by He's rule, not with hand-set deviations. The last pooling leaves 6x6 pixels; other images
 * leave others, of which the first dense layer sees all. The smallest image is 55x55 for alexnet, 63x63 for
 * alexnet-tv. */
#include "apps/models/families.h"

enum { HIDDEN = 4096 };

static tutti_value convolve(tutti_net *net, const char *name, const char *relu, tutti_value x,
    int64_t K, int64_t R, int64_t stride, int64_t pad, int64_t groups)
{
    x = tutti_net_conv(net, name, x,
        &(tutti_conv_layer){.K = K,
            .R = R,
            .stride = stride,
            .pad = pad,
            .groups = groups,
            .bias = 1,
            .init = TUTTI_INIT_HE_FAN_OUT});
    return tutti_net_relu(net, relu, x);
}

static tutti_value pool(tutti_net *net, const char *name, tutti_value x)
{
    return tutti_net_pool(net, name, x, &(tutti_pool_layer){.R = 3, .stride = 2, .ceiling = 1});
}

static tutti_value respond(tutti_net *net, const char *name, tutti_value x)
{
    const tutti_lrn_layer lrn = {.size = 5, .alpha = 1e-4f, .beta = 0.75f, .k = 1};
    return tutti_net_lrn(net, name, x, &lrn);
}

void tutti_model_alexnet(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "conv1", "relu1", x, 96, 11, 4, 0, 1);
    x = pool(net, "pool1", respond(net, "norm1", x));
    x = convolve(net, "conv2", "relu2", x, 256, 5, 1, 2, 2);
    x = pool(net, "pool2", respond(net, "norm2", x));
    x = convolve(net, "conv3", "relu3", x, 384, 3, 1, 1, 1);
    x = convolve(net, "conv4", "relu4", x, 384, 3, 1, 1, 2);
    x = pool(net, "pool5", convolve(net, "conv5", "relu5", x, 256, 3, 1, 1, 2));
    x = tutti_net_relu(net, "relu6", tutti_net_dense(net, "fc6", x, HIDDEN, TUTTI_INIT_HE_FAN_IN));
    x = tutti_net_dropout(net, "drop6", x, 0.5f);
    x = tutti_net_relu(net, "relu7", tutti_net_dense(net, "fc7", x, HIDDEN, TUTTI_INIT_HE_FAN_IN));
    x = tutti_net_dropout(net, "drop7", x, 0.5f);
    tutti_net_output(net, tutti_net_dense(net, "fc8", x, classes, TUTTI_INIT_UNIFORM_FAN_IN));
}

void tutti_model_alexnet_tv(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    tutti_value x = tutti_net_input(net, H, W, C);
    x = convolve(net, "features.0", "features.1", x, 64, 11, 4, 2, 1);
    x = tutti_net_max_pool(net, "features.2", x, 3, 2, 0);
    x = convolve(net, "features.3", "features.4", x, 192, 5, 1, 2, 1);
    x = tutti_net_max_pool(net, "features.5", x, 3, 2, 0);
    x = convolve(net, "features.6", "features.7", x, 384, 3, 1, 1, 1);
    x = convolve(net, "features.8", "features.9", x, 256, 3, 1, 1, 1);
    x = convolve(net, "features.10", "features.11", x, 256, 3, 1, 1, 1);
    x = tutti_net_max_pool(net, "features.12", x, 3, 2, 0);
    x = tutti_net_dropout(net, "classifier.0", x, 0.5f);
    x = tutti_net_dense(net, "classifier.1", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_dropout(net, "classifier.3", tutti_net_relu(net, "classifier.2", x), 0.5f);
    x = tutti_net_dense(net, "classifier.4", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "classifier.5", x);
    tutti_net_output(
        net, tutti_net_dense(net, "classifier.6", x, classes, TUTTI_INIT_UNIFORM_FAN_IN));
}
