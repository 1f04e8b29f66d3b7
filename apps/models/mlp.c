/* A multilayer perceptron: two hidden layers of 512 with ReLU.
 *
 * The classical fully connected network (LeCun, Bottou, Bengio, Haffner 1998, "Gradient-based
 * learning applied to document recognition", section III.C, with sigmoids then); these sizes are
 * those of PyTorch's quickstart tutorial. Parameters at 32x32x3, 10 classes: 3072*512+512 +
 * 512*512+512 + 512*10+10 = 1,841,162. */
#include "apps/models/families.h"

void tutti_model_mlp(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    enum { HIDDEN = 512 };
    tutti_value x = tutti_net_input(net, H, W, C);
    x = tutti_net_dense(net, "fc1", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu1", x);
    x = tutti_net_dense(net, "fc2", x, HIDDEN, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu2", x);
    x = tutti_net_dense(net, "fc3", x, classes, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_output(net, x);
}
