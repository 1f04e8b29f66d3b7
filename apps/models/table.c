#include "apps/models/families.h"
#include "apps/models/model.h"

#include <string.h>

#define MODEL(...)                                                                                 \
    &(const tutti_model)                                                                           \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define SMALL                                                                                      \
    {                                                                                              \
        32, 32, 3, 10                                                                              \
    } /* CIFAR-10 */
#define LARGE                                                                                      \
    {                                                                                              \
        224, 224, 3, 1000                                                                          \
    } /* ImageNet */

const tutti_model *const tutti_models[] = {
    MODEL("mlp", "multilayer perceptron, 2 hidden layers of 512 (no batch norm)", tutti_model_mlp,
        SMALL, 1841162, {0.05, 5e-4, 0}),
    MODEL("mlp-1024x5", "multilayer perceptron, 5 hidden layers of 1024 (no batch norm)",
        tutti_model_mlp_1024x5, SMALL, 7355402, {0.05, 5e-4, 0}),
    MODEL("cifar-quick", "Caffe's CIFAR-10 quick: 3 convolutions 5x5 (no batch norm)",
        tutti_model_cifar_quick, SMALL, 145578, {0.02, 5e-4, 0}),
    MODEL("resnet8",
        "residual network for CIFAR, 8 layers: the smallest with batch norm, for trying things out",
        tutti_model_resnet8, SMALL, 75290, {0.4, 2e-4, 0}),
    MODEL("resnet20", "residual network for CIFAR, 20 layers", tutti_model_resnet20, SMALL, 269722,
        {0.4, 2e-4, 0.1}),
    MODEL("resnet32", "residual network for CIFAR, 32 layers", tutti_model_resnet32, SMALL, 464154,
        {0.4, 5e-4, 0}),
    MODEL("resnet44", "residual network for CIFAR, 44 layers", tutti_model_resnet44, SMALL, 658586,
        {0.2, 5e-4, 0}),
    MODEL("resnet56", "residual network for CIFAR, 56 layers", tutti_model_resnet56, SMALL, 853018,
        {0.2, 5e-4, 0}),
    MODEL("resnet110", "residual network for CIFAR, 110 layers", tutti_model_resnet110, SMALL,
        1727962, {0.1, 5e-4, 0}),
    MODEL("preact-resnet110", "residual network with pre-activation for CIFAR, 110 layers",
        tutti_model_preact_resnet110, SMALL, 1727962, {0.1, 1e-4, 0}),
    MODEL("resnet1001", "residual network with pre-activation for CIFAR, 1001 layers",
        tutti_model_resnet1001, SMALL, 10327706, {0.1, 1e-4, 0}),
    MODEL("vgg16", "VGG-16 for small images, with batch norm", tutti_model_vgg16, SMALL, 14724042,
        {0.1, 5e-4, 0}),
    MODEL("wide-mlp", "multilayer perceptron, 6 hidden layers of 4096 (no batch norm)",
        tutti_model_wide_mlp, SMALL, 96534538, {0.01, 5e-4, 0}),
    MODEL("cd-dnn", "multilayer perceptron for speech, 7 hidden layers of 2048 (no batch norm)",
        tutti_model_cd_dnn, {1, 1, 429, 9304}, 45122648, {0.01, 5e-4, 0}),
    MODEL("resnet50", "residual network for 224x224 images, 50 layers", tutti_model_resnet50, LARGE,
        25557032, {0.1, 5e-4, 0}),
    MODEL("vgg16-224", "VGG-16 for 224x224 images, with dropout (no batch norm)",
        tutti_model_vgg16_224, LARGE, 138357544, {0.01, 5e-4, 0}),
    MODEL("resnet18", "residual network for 224x224 images, 18 layers", tutti_model_resnet18, LARGE,
        11689512, {0.05, 1e-4, 0}),
    MODEL("resnet34", "residual network for 224x224 images, 34 layers", tutti_model_resnet34, LARGE,
        21797672, {0.05, 1e-4, 0}),
    MODEL("resnet101", "residual network for 224x224 images, 101 layers", tutti_model_resnet101,
        LARGE, 44549160, {0.05, 1e-4, 0}),
    MODEL("resnet152", "residual network for 224x224 images, 152 layers", tutti_model_resnet152,
        LARGE, 60192808, {0.05, 1e-4, 0}),
    MODEL("resnext50-32x4d", "ResNeXt-50 for 224x224 images: 3x3 convolutions in 32 groups",
        tutti_model_resnext50, LARGE, 25028904, {0.05, 1e-4, 0}),
    MODEL("alexnet", "AlexNet for 227x227 images: groups, LRN, dropout (no batch norm)",
        tutti_model_alexnet, {227, 227, 3, 1000}, 60965224, {0.005, 5e-4, 0}),
    MODEL("alexnet-tv", "AlexNet as torchvision has it, 224x224 images (no batch norm)",
        tutti_model_alexnet_tv, LARGE, 61100840, {0.005, 5e-4, 0}),
    MODEL("vgg11-224", "VGG-11 for 224x224 images, with dropout (no batch norm)",
        tutti_model_vgg11_224, LARGE, 132863336, {0.005, 5e-4, 0}),
    MODEL("vgg13-224", "VGG-13 for 224x224 images, with dropout (no batch norm)",
        tutti_model_vgg13_224, LARGE, 133047848, {0.005, 5e-4, 0}),
    MODEL("vgg19-224", "VGG-19 for 224x224 images, with dropout (no batch norm)",
        tutti_model_vgg19_224, LARGE, 143667240, {0.005, 5e-4, 0}),
    MODEL("vgg11-bn-224", "VGG-11 for 224x224 images, with dropout and batch norm",
        tutti_model_vgg11_bn_224, LARGE, 132868840, {0.005, 5e-4, 0}),
    MODEL("vgg16-bn-224", "VGG-16 for 224x224 images, with dropout and batch norm",
        tutti_model_vgg16_bn_224, LARGE, 138365992, {0.005, 5e-4, 0}),
    MODEL("vgg19-bn-224", "VGG-19 for 224x224 images, with dropout and batch norm",
        tutti_model_vgg19_bn_224, LARGE, 143678248, {0.005, 5e-4, 0}),
    MODEL("googlenet",
        "GoogLeNet for 224x224 images: LRN, two auxiliary classifiers (no batch norm)",
        tutti_model_googlenet, LARGE, 13378280, {0.04, 2e-4, 0}),
    MODEL("googlenet-bn", "GoogLeNet as torchvision has it, 224x224 images, with batch norm",
        tutti_model_googlenet_bn, LARGE, 6624904, {0.05, 1e-4, 0}),
    MODEL("mobilenet-v1", "MobileNet for 224x224 images: depthwise convolutions",
        tutti_model_mobilenet_v1, LARGE, 4231976, {0.05, 4e-5, 0}),
    MODEL("overfeat-fast", "OverFeat's fast model for 231x231 images, dropout (no batch norm)",
        tutti_model_overfeat_fast, {231, 231, 3, 1000}, 145920872, {0.005, 5e-4, 0}),
    NULL,
};

const tutti_model *tutti_model_find(const char *name)
{
    for (int i = 0; tutti_models[i]; i++)
        if (!strcmp(tutti_models[i]->name, name)) return tutti_models[i];
    return NULL;
}
