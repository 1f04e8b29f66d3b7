/* Multilayer perceptrons: hidden layers of equal width with ReLU, then a dense layer.
 *
 * The classical fully connected network (LeCun, Bottou, Bengio, Haffner 1998, "Gradient-based learning applied to
 * document recognition", section III.C, there with sigmoids).
 *   mlp         2 hidden layers of 512, as in PyTorch's quickstart tutorial. Parameters at 32x32x3,
 *               10 classes: 3072*512+512 + 512*512+512 + 512*10+10 = 1,841,162
 *   mlp-1024x5  5 hidden layers of 1024: many bytes for little computation, so communication
 *               bounds the step. 3072*1024+1024 + 4*(1024*1024+1024) + 1024*10+10 = 7,355,402
 *   wide-mlp    6 hidden layers of 4096, the width of VGG-16's dense layers: for layers that a
 *               single rank should not hold. 3072*4096+4096 + 5*(4096*4096+4096) + 4096*10+10 = 96,534,538
 *   cd-dnn      7 hidden layers of 2048, from 429 features of speech to 9304 states: the network for speech recognition
 *               of Das et al. 2016, arXiv:1602.06709. 429*2048+2048 + 6*(2048*2048+2048) + 2048*9304+9304 =
 *               45,122,648 */
#include "apps/models/families.h"

#include <stdio.h>

static void build(tutti_net *net, tutti_value x, int hidden, int64_t width, int64_t classes)
{
    char name[32];
    for (int i = 1; i <= hidden; i++) {
        snprintf(name, sizeof name, "fc%d", i);
        x = tutti_net_dense(net, name, x, width, TUTTI_INIT_HE_FAN_IN);
        snprintf(name, sizeof name, "relu%d", i);
        x = tutti_net_relu(net, name, x);
    }
    snprintf(name, sizeof name, "fc%d", hidden + 1);
    x = tutti_net_dense(net, name, x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}

void tutti_model_mlp(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, tutti_net_input(net, H, W, C), 2, 512, classes);
}

void tutti_model_mlp_1024x5(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, tutti_net_input(net, H, W, C), 5, 1024, classes);
}

void tutti_model_wide_mlp(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, tutti_net_input(net, H, W, C), 6, 4096, classes);
}

void tutti_model_cd_dnn(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    build(net, tutti_net_input(net, H, W, C), 7, 2048, classes);
}
