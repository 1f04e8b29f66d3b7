/* The build functions of the table of models (model.h), each described in its file. [M] */
#ifndef TUTTI_FAMILIES_H
#define TUTTI_FAMILIES_H

#include "dag/net/net.h"

typedef void tutti_model_fn(tutti_net *net, int64_t H, int64_t W, int64_t C, int64_t classes);

tutti_model_fn tutti_model_mlp, tutti_model_mlp_1024x5, tutti_model_wide_mlp, tutti_model_cd_dnn,
    tutti_model_cifar_quick;
tutti_model_fn tutti_model_resnet8, tutti_model_resnet20, tutti_model_resnet32,
    tutti_model_resnet44, tutti_model_resnet56, tutti_model_resnet110, tutti_model_preact_resnet110,
    tutti_model_resnet1001;
tutti_model_fn tutti_model_resnet18, tutti_model_resnet34, tutti_model_resnet50,
    tutti_model_resnet101, tutti_model_resnet152, tutti_model_resnext50;
tutti_model_fn tutti_model_vgg16;
tutti_model_fn tutti_model_vgg11_224, tutti_model_vgg13_224, tutti_model_vgg16_224,
    tutti_model_vgg19_224;
tutti_model_fn tutti_model_vgg11_bn_224, tutti_model_vgg16_bn_224, tutti_model_vgg19_bn_224;
tutti_model_fn tutti_model_alexnet, tutti_model_alexnet_tv;
tutti_model_fn tutti_model_googlenet, tutti_model_googlenet_bn;
tutti_model_fn tutti_model_mobilenet_v1;
tutti_model_fn tutti_model_overfeat_fast;

#endif
