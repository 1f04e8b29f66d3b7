/* GoogLeNet: nine modules of four branches, in two forms.
 *
 * googlenet is the network of Szegedy et al. 2015, "Going deeper with convolutions", arXiv:1409.4842, table 1 and
 * figure 3, with the local response normalisation of Caffe's (models/bvlc_googlenet): biases and no batch
 * normalisation, 5x5 convolutions, and two auxiliary classifiers behind modules 4a and 4d, whose losses count 0.3 and
 * which evaluation leaves out. Parameters at 224x224x3, 1000 classes: 6,998,552, and 3,189,864 of each auxiliary
 * classifier, 13,378,280 in all.
 *
 * googlenet-bn is torchvision's: batch normalisation (eps 1e-3) behind every convolution, which has no bias; 3x3
 * convolutions in place of the 5x5 ones; a 2x2 pooling behind stage 4; no local response normalisation, and here no
 * auxiliary classifiers. Names are torchvision's. Parameters: 6,624,904.
 *
 * In smaller images the auxiliary classifiers' 5x5 windows are as large as what is left. Weights are initialised as in
 * He et al. 2015, arXiv:1502.01852. The smallest image is 63x63 for googlenet, 47x47 for googlenet-bn. */
#include "apps/models/families.h"

#include <stdio.h>

enum { NAME = 48 };

typedef struct module {
    const char *name;
    int64_t K1, reduce3, K3, reduce5, K5, project;
} module;

static const module modules[] = {
    {"inception3a", 64, 96, 128, 16, 32, 32},
    {"inception3b", 128, 128, 192, 32, 96, 64},
    {"inception4a", 192, 96, 208, 16, 48, 64},
    {"inception4b", 160, 112, 224, 24, 64, 64},
    {"inception4c", 128, 128, 256, 24, 64, 64},
    {"inception4d", 112, 144, 288, 32, 64, 64},
    {"inception4e", 256, 160, 320, 32, 128, 128},
    {"inception5a", 256, 160, 320, 32, 128, 128},
    {"inception5b", 384, 192, 384, 48, 128, 128},
};
enum { MODULES = sizeof modules / sizeof *modules, AFTER_3B = 1, AFTER_4E = 6 };

/* A convolution of stride 1 that keeps the size, with bias and ReLU, or with batch normalisation: "<x>" and "<x>.relu",
 * or "<x>.conv" and "<x>.bn". */
static tutti_value convolve(tutti_net *net, const char *block, const char *part, tutti_value x,
    tutti_conv_layer conv, int norm)
{
    char name[NAME];
    conv.bias = !norm;
    conv.init = TUTTI_INIT_HE_FAN_OUT;
    snprintf(name, sizeof name, "%s%s%s", block, part, norm ? ".conv" : "");
    x = tutti_net_conv(net, name, x, &conv);
    snprintf(name, sizeof name, "%s%s%s", block, part, norm ? ".bn" : ".relu");
    return norm ? tutti_net_batch_norm(net, name, x, &(tutti_norm_layer){.relu = 1, .eps = 1e-3f})
                : tutti_net_relu(net, name, x);
}

static tutti_value shrink(tutti_net *net, const char *name, tutti_value x, int64_t R)
{
    return tutti_net_pool(net, name, x, &(tutti_pool_layer){.R = R, .stride = 2, .ceiling = 1});
}

static tutti_value append_module(tutti_net *net, const module *m, tutti_value x, int norm)
{
    char name[NAME];
    const int64_t large = norm ? 3 : 5;
    const char *const *part = norm ? (const char *const[]){".branch1", ".branch2.0", ".branch2.1",
                                         ".branch3.0", ".branch3.1", ".branch4.1"}
                                   : (const char *const[]){".1x1", ".3x3_reduce", ".3x3",
                                         ".5x5_reduce", ".5x5", ".pool_proj"};
    const tutti_conv_layer one = {.K = m->K1, .R = 1}, reduce3 = {.K = m->reduce3, .R = 1};
    const tutti_conv_layer three = {.K = m->K3, .R = 3, .pad = 1};
    const tutti_conv_layer reduce5 = {.K = m->reduce5, .R = 1};
    const tutti_conv_layer five = {.K = m->K5, .R = large, .pad = large / 2};
    const tutti_conv_layer project = {.K = m->project, .R = 1};
    tutti_value y[4];
    y[0] = convolve(net, m->name, part[0], x, one, norm);
    y[1] = convolve(net, m->name, part[1], x, reduce3, norm);
    y[1] = convolve(net, m->name, part[2], y[1], three, norm);
    y[2] = convolve(net, m->name, part[3], x, reduce5, norm);
    y[2] = convolve(net, m->name, part[4], y[2], five, norm);
    snprintf(name, sizeof name, "%s.pool", m->name);
    y[3] = tutti_net_max_pool(net, name, x, 3, 1, 1);
    y[3] = convolve(net, m->name, part[5], y[3], project, norm);
    snprintf(name, sizeof name, "%s.concat", m->name);
    return tutti_net_concat(net, name, 4, y);
}

/* The paper's section 5: an average pooling 5x5 with stride 3, a 1x1 convolution, two dense layers. */
static void append_auxiliary(tutti_net *net, const char *block, tutti_value x, int64_t classes)
{
    char name[NAME];
    int64_t h, w, c;
    tutti_net_shape(net, x, &h, &w, &c);
    int64_t R = h < w ? h : w;
    snprintf(name, sizeof name, "%s.pool", block);
    x = tutti_net_pool(net, name, x,
        &(tutti_pool_layer){.R = R < 5 ? R : 5, .stride = 3, .average = 1, .ceiling = 1});
    x = convolve(net, block, ".conv", x, (tutti_conv_layer){.K = 128, .R = 1}, 0);
    snprintf(name, sizeof name, "%s.fc1", block);
    x = tutti_net_dense(net, name, x, 1024, TUTTI_INIT_HE_FAN_IN);
    snprintf(name, sizeof name, "%s.relu", block);
    x = tutti_net_relu(net, name, x);
    snprintf(name, sizeof name, "%s.drop", block);
    x = tutti_net_dropout(net, name, x, 0.7f);
    snprintf(name, sizeof name, "%s.fc2", block);
    x = tutti_net_dense(net, name, x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_auxiliary(net, x, 0.3);
}

static tutti_value append_stem(tutti_net *net, tutti_value x, int norm)
{
    const tutti_lrn_layer lrn = {.size = 5, .alpha = 1e-4f, .beta = 0.75f, .k = 1};
    const tutti_conv_layer first = {.K = 64, .R = 7, .stride = 2, .pad = 3};
    const tutti_conv_layer reduce = {.K = 64, .R = 1}, second = {.K = 192, .R = 3, .pad = 1};
    x = shrink(net, "maxpool1", convolve(net, "conv1", "", x, first, norm), 3);
    if (!norm) x = tutti_net_lrn(net, "norm1", x, &lrn);
    x = convolve(net, "conv2", "", x, reduce, norm);
    x = convolve(net, "conv3", "", x, second, norm);
    if (!norm) x = tutti_net_lrn(net, "norm2", x, &lrn);
    return shrink(net, "maxpool2", x, 3);
}

static void build(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes, int norm)
{
    tutti_value x = append_stem(net, tutti_net_input(net, H, W, C), norm);
    for (int i = 0; i < MODULES; i++) {
        x = append_module(net, &modules[i], x, norm);
        if (i == AFTER_3B) x = shrink(net, "maxpool3", x, 3);
        if (!norm && i == 2) append_auxiliary(net, "aux1", x, classes);
        if (!norm && i == 5) append_auxiliary(net, "aux2", x, classes);
        if (i == AFTER_4E) x = shrink(net, "maxpool4", x, norm ? 2 : 3);
    }
    x = tutti_net_global_avg_pool(net, "avgpool", x);
    x = tutti_net_dropout(net, "dropout", x, norm ? 0.2f : 0.4f);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, classes, TUTTI_INIT_UNIFORM_FAN_IN));
}

void tutti_model_googlenet(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 0);
}

void tutti_model_googlenet_bn(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, H, W, C, classes, 1);
}
