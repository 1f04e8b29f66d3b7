#include "apps/train/recipe.h"

#include <stddef.h>
#include <string.h>

/* 64,000 steps of 128 images: 164 epochs of the 50,000; the rate falls after 32,000 and 48,000. */
static const tutti_train_default he[] = {{"epochs", "164"}, {"lr", "0.1"}, {"lr-images", "128"},
    {"rate-schedule", "milestones"}, {"milestones", "82,123"}, {"milestone-factor", "0.1"},
    {"optimizer", "sgd"}, {"momentum", "0.9"}, {"no-nesterov", "1"}, {"weight-decay", "1e-4"},
    {"label-smoothing", "0"}, {"augment", "crop"}, {"uncropped", "0"}, {0}};

static const tutti_train_default goyal[] = {{"epochs", "90"}, {"lr", "0.1"}, {"lr-images", "256"},
    {"warmup-epochs", "5"}, {"warmup-from", "0.1"}, {"rate-schedule", "milestones"},
    {"milestones", "30,60,80"}, {"milestone-factor", "0.1"}, {"optimizer", "sgd"},
    {"momentum", "0.9"}, {"weight-decay", "1e-4"}, {"decay-weights-only", "1"},
    {"zero-last-scale", "1"}, {"label-smoothing", "0"}, {"augment", "standard"}, {"uncropped", "0"},
    {0}};

/* 450,000 steps of 256 images: 90 epochs of the 1,281,167; the rate falls every 100,000. */
static const tutti_train_default bvlc_alexnet[] = {{"epochs", "90"}, {"lr", "0.01"},
    {"lr-images", "256"}, {"rate-schedule", "milestones"}, {"milestones", "20,40,60,80"},
    {"milestone-factor", "0.1"}, {"optimizer", "sgd"}, {"momentum", "0.9"}, {"no-nesterov", "1"},
    {"weight-decay", "5e-4"}, {"decay-weights-only", "1"}, {"label-smoothing", "0"},
    {"augment", "crop"}, {"uncropped", "0"}, {0}};

/* 2,400,000 steps of 32 images: 60 epochs. */
static const tutti_train_default bvlc_googlenet[] = {{"epochs", "60"}, {"lr", "0.01"},
    {"lr-images", "32"}, {"rate-schedule", "poly"}, {"poly-power", "0.5"}, {"optimizer", "sgd"},
    {"momentum", "0.9"}, {"no-nesterov", "1"}, {"weight-decay", "2e-4"},
    {"decay-weights-only", "1"}, {"label-smoothing", "0"}, {"augment", "crop"}, {"uncropped", "0"},
    {0}};

/* 370,000 steps of 256 images: 74 epochs. The paper's rate falls three times, whenever the accuracy
 * on the validation set has stopped improving; here it falls at fixed epochs. */
static const tutti_train_default vgg[] = {{"epochs", "74"}, {"lr", "0.01"}, {"lr-images", "256"},
    {"rate-schedule", "milestones"}, {"milestones", "25,45,60"}, {"milestone-factor", "0.1"},
    {"optimizer", "sgd"}, {"momentum", "0.9"}, {"no-nesterov", "1"}, {"weight-decay", "5e-4"},
    {"label-smoothing", "0"}, {"augment", "crop"}, {"uncropped", "0"}, {0}};

static const tutti_train_default nothing[] = {{0}};

const tutti_train_recipe tutti_train_recipes[] = {
    {"none", "the model's own settings", "", nothing},
    {"he", "residual networks on CIFAR-10, 164 epochs",
        "He et al. 2015, arXiv:1512.03385, section 4.2", he},
    {"goyal", "residual networks on ImageNet with large batches, 90 epochs",
        "Goyal et al. 2017, arXiv:1706.02677, sections 2 and 5.1", goyal},
    {"bvlc-alexnet", "AlexNet on ImageNet, 90 epochs",
        "Caffe's models/bvlc_alexnet/solver.prototxt, after Krizhevsky et al. 2012", bvlc_alexnet},
    {"bvlc-googlenet", "GoogLeNet on ImageNet, 60 epochs",
        "Caffe's models/bvlc_googlenet/quick_solver.prototxt, after Szegedy et al. 2015, "
        "arXiv:1409.4842",
        bvlc_googlenet},
    {"vgg", "VGG networks on ImageNet, 74 epochs",
        "Simonyan & Zisserman 2015, arXiv:1409.1556, section 3.1", vgg},
    {0},
};

const tutti_train_recipe *tutti_train_recipe_find(const char *name)
{
    for (const tutti_train_recipe *recipe = tutti_train_recipes; recipe->name; recipe++)
        if (strcmp(recipe->name, name) == 0) return recipe;
    return NULL;
}
