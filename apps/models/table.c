#include "apps/models/families.h"
#include "apps/models/model.h"

#include <string.h>

#define SMALL                                                                                      \
    {                                                                                              \
        32, 32, 3, 10                                                                              \
    } /* CIFAR-10 */
#define LARGE                                                                                      \
    {                                                                                              \
        224, 224, 3, 1000                                                                          \
    } /* ImageNet */

static const tutti_model mlp = {"mlp",
    "multilayer perceptron, 2 hidden layers of 512 (no batch norm)", tutti_model_mlp, SMALL,
    1841162, {0.05, 5e-4, 0}};
static const tutti_model mlp_1024x5 = {"mlp-1024x5",
    "multilayer perceptron, 5 hidden layers of 1024 (no batch norm)", tutti_model_mlp_1024x5, SMALL,
    7355402, {0.05, 5e-4, 0}};
static const tutti_model cifar_quick = {"cifar-quick",
    "Caffe's CIFAR-10 quick: 3 convolutions 5x5 (no batch norm)", tutti_model_cifar_quick, SMALL,
    145578, {0.02, 5e-4, 0}};
static const tutti_model resnet20 = {"resnet20", "residual network for CIFAR, 20 layers",
    tutti_model_resnet20, SMALL, 269722, {0.4, 2e-4, 0.1}};
static const tutti_model resnet32 = {"resnet32", "residual network for CIFAR, 32 layers",
    tutti_model_resnet32, SMALL, 464154, {0.4, 5e-4, 0}};
static const tutti_model resnet44 = {"resnet44", "residual network for CIFAR, 44 layers",
    tutti_model_resnet44, SMALL, 658586, {0.2, 5e-4, 0}};
static const tutti_model resnet56 = {"resnet56", "residual network for CIFAR, 56 layers",
    tutti_model_resnet56, SMALL, 853018, {0.2, 5e-4, 0}};
static const tutti_model resnet110 = {"resnet110", "residual network for CIFAR, 110 layers",
    tutti_model_resnet110, SMALL, 1727962, {0.1, 5e-4, 0}};
static const tutti_model vgg16 = {"vgg16", "VGG-16 for small images, with batch norm",
    tutti_model_vgg16, SMALL, 14724042, {0.1, 5e-4, 0}};
static const tutti_model resnet50 = {"resnet50", "residual network for 224x224 images, 50 layers",
    tutti_model_resnet50, LARGE, 25557032, {0.1, 5e-4, 0}};
static const tutti_model vgg16_224 = {"vgg16-224",
    "VGG-16 for 224x224 images, with dropout (no batch norm)", tutti_model_vgg16_224, LARGE,
    138357544, {0.01, 5e-4, 0}};

const tutti_model *const tutti_models[] = {&mlp, &mlp_1024x5, &cifar_quick, &resnet20, &resnet32,
    &resnet44, &resnet56, &resnet110, &vgg16, &resnet50, &vgg16_224, NULL};

const tutti_model *tutti_model_find(const char *name)
{
    for (int i = 0; tutti_models[i]; i++)
        if (!strcmp(tutti_models[i]->name, name)) return tutti_models[i];
    return NULL;
}
