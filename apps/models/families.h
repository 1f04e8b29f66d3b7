/* The build functions of the table of models (model.h), each described in its file. [M] */
#ifndef TUTTI_FAMILIES_H
#define TUTTI_FAMILIES_H

#include "dag/net/net.h"

typedef void tutti_model_fn(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes);

tutti_model_fn tutti_model_mlp, tutti_model_mlp_1024x5, tutti_model_cifar_quick;
tutti_model_fn tutti_model_resnet20, tutti_model_resnet32, tutti_model_resnet44,
    tutti_model_resnet56, tutti_model_resnet110;
tutti_model_fn tutti_model_resnet50;
tutti_model_fn tutti_model_vgg16, tutti_model_vgg16_224;

#endif
