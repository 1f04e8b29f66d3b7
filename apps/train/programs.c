#include "apps/train/program.h"

#include "apps/data/source.h"
#include "apps/models/model.h"
#include "apps/train/recipe.h"

#include <stddef.h>
#include <string.h>

#define STATUS                                                                                     \
    "Exit status: 0 on success; 2 for a mistake in the options; 130 when SIGINT ended the run, 143 "   \
    "when SIGTERM did; 1 for everything else. "

/* ---- tutti-cifar ---- */

static const char *any_model(int i)
{
    return tutti_models[i] ? tutti_models[i]->name : NULL;
}

static const char *any_format(int i)
{
    return tutti_image_sources[i] ? tutti_image_sources[i]->name : NULL;
}

static const char *any_recipe(int i)
{
    return tutti_train_recipes[i].name;
}

static const tutti_train_default cifar_defaults[] = {{"model", "resnet20"}, {0}};

const tutti_train_program tutti_train_cifar = {
    .name = "tutti-cifar",
    .summary = "Trains an image classifier on P ranks (tutti-run -n P tutti-cifar ...). Every rank "
               "computes on its own images, and collectives that are nodes of the StarPU task "
               "graph sum the gradients over all ranks.",
    .epilogue = STATUS "See tutti-cifar(1).",
    .model = any_model,
    .format = any_format,
    .recipe = any_recipe,
    .defaults = cifar_defaults,
};

/* ---- tutti-imagenet ---- */

enum { PHOTOGRAPH = 100 /* models for images of at least this height are made for photographs */ };

static const char *photograph_model(int i)
{
    for (int m = 0; tutti_models[m]; m++)
        if (tutti_models[m]->input.H >= PHOTOGRAPH && i-- == 0) return tutti_models[m]->name;
    return NULL;
}

/* Formats of small images are tutti-cifar's. */
static const char *photograph_format(int i)
{
    static const char *const small[] = {"cifar10", "cifar100", "idx", NULL};
    for (int r = 0; tutti_image_sources[r]; r++) {
        int s = 0;
        while (small[s] && strcmp(small[s], tutti_image_sources[r]->name) != 0) s++;
        if (!small[s] && i-- == 0) return tutti_image_sources[r]->name;
    }
    return NULL;
}

/* Recipes for small images are tutti-cifar's. */
static const char *photograph_recipe(int i)
{
    for (int r = 0; tutti_train_recipes[r].name; r++)
        if (strcmp(tutti_train_recipes[r].name, "he") != 0 && i-- == 0)
            return tutti_train_recipes[r].name;
    return NULL;
}

static const tutti_train_default imagenet_defaults[] = {
    {"model", "resnet50"}, {"epochs", "90"}, {0}};

const tutti_train_program tutti_train_imagenet = {
    .name = "tutti-imagenet",
    .summary = "Trains a classifier of photographs on P ranks (tutti-run -n P tutti-imagenet ...). "
               "Every rank computes on its own images, and collectives that are nodes of the "
               "StarPU task graph sum the gradients over all ranks.",
    .epilogue = STATUS "See tutti-imagenet(1).",
    .model = photograph_model,
    .format = photograph_format,
    .recipe = photograph_recipe,
    .defaults = imagenet_defaults,
};
