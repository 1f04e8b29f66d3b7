#include "apps/models/torch_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER = 80, STAGES = 5 };

/* ---- layers ---- */

/* VGG: how many convolutions each stage has (vgg.c), and whether batch normalisation follows them. */
typedef struct vgg {
    const char *model;
    int norm, depth[STAGES];
} vgg;

static const vgg vggs[] = {
    {"vgg11-224", 0, {1, 1, 2, 2, 2}},
    {"vgg13-224", 0, {2, 2, 2, 2, 2}},
    {"vgg16-224", 0, {2, 2, 3, 3, 3}},
    {"vgg19-224", 0, {2, 2, 4, 4, 4}},
    {"vgg11-bn-224", 1, {1, 1, 2, 2, 2}},
    {"vgg16-bn-224", 1, {2, 2, 3, 3, 3}},
    {"vgg19-bn-224", 1, {2, 2, 4, 4, 4}},
};
enum { VGGS = sizeof vggs / sizeof *vggs };

static const vgg *find_vgg(const char *model)
{
    for (int i = 0; i < VGGS; i++)
        if (strcmp(vggs[i].model, model) == 0) return &vggs[i];
    return NULL;
}

/* The number behind a word: 12 of "conv12"; 0 if it is not that word and a number. */
static int number_behind(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(text, word, length) != 0) return 0;
    char *end;
    long number = strtol(text + length, &end, 10);
    return end > text + length && !*end && number > 0 && number < 100 ? (int)number : 0;
}

/* The place of convolution `number` (from 1) in torchvision's list of modules, which has the
 * convolutions, what follows each of them, and a pooling behind each stage. */
static int vgg_place(const vgg *v, int number)
{
    int poolings = 0, before = 0;
    while (poolings < STAGES - 1 && number > before + v->depth[poolings])
        before += v->depth[poolings++];
    return (number - 1) * (v->norm ? 3 : 2) + poolings;
}

static void rename_layer(const char *model, const char *layer, char name[LAYER])
{
    const vgg *v = find_vgg(model);
    int conv = number_behind(layer, "conv"), norm = number_behind(layer, "bn"),
        dense = number_behind(layer, "fc");
    if (v && conv)
        snprintf(name, LAYER, "features.%d", vgg_place(v, conv));
    else if (v && norm)
        snprintf(name, LAYER, "features.%d", vgg_place(v, norm) + 1);
    else if (v && dense) /* a ReLU and a dropout are in between */
        snprintf(name, LAYER, "classifier.%d", 3 * (dense - 1));
    else
        snprintf(name, LAYER, "%s", layer);
}

/* ---- tensors ---- */

static const struct {
    const char *ours, *theirs[TUTTI_TORCH_PARTS];
} pairs[] = {
    {"scaleshift", {"weight", "bias"}},
    {"running", {"running_mean", "running_var"}},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static void name_part(tutti_torch_part *part, const char *layer, const char *suffix)
{
    snprintf(part->name, sizeof part->name, "%s.%s", layer, suffix);
}

static tutti_torch_part vector(int64_t first, int64_t count)
{
    return (tutti_torch_part){.rank = 1,
        .dim = {count},
        .count = count,
        .first = first,
        .rows = 1,
        .pixels = 1,
        .channels = count};
}

/* (K,R,S,C) or (K,H*W*C); returns 0 for other shapes. */
static int describe_weight(const tutti_torch_tensor *ours, tutti_torch_part *part)
{
    const int64_t *dim = ours->dim;
    *part = (tutti_torch_part){.rank = ours->rank, .rows = dim[0]};
    if (ours->rank == 4) {
        part->pixels = dim[1] * dim[2];
        part->channels = dim[3];
        part->dim[1] = dim[3];
        part->dim[2] = dim[1];
        part->dim[3] = dim[2];
    } else if (ours->rank == 2 && ours->H * ours->W * ours->C == dim[1]) {
        part->pixels = ours->H * ours->W;
        part->channels = ours->C;
        part->dim[1] = dim[1];
    } else
        return 0;
    part->dim[0] = dim[0];
    part->count = part->rows * part->pixels * part->channels;
    return 1;
}

int tutti_torch_parts(const tutti_torch_tensor *ours, tutti_torch_part part[TUTTI_TORCH_PARTS])
{
    const char *dot = strrchr(ours->name, '.');
    if (!dot || dot - ours->name >= LAYER) return 0;
    char layer[LAYER], name[LAYER];
    snprintf(layer, sizeof layer, "%.*s", (int)(dot - ours->name), ours->name);
    rename_layer(ours->model, layer, name);
    const char *suffix = dot + 1;
    for (int i = 0; i < PAIRS; i++) {
        if (strcmp(pairs[i].ours, suffix) != 0) continue;
        if (ours->rank != 2 || ours->dim[0] != TUTTI_TORCH_PARTS) return 0;
        for (int p = 0; p < TUTTI_TORCH_PARTS; p++) {
            part[p] = vector(p * ours->dim[1], ours->dim[1]);
            name_part(&part[p], name, pairs[i].theirs[p]);
        }
        return TUTTI_TORCH_PARTS;
    }
    if (strcmp(suffix, "bias") == 0 && ours->rank == 1)
        part[0] = vector(0, ours->dim[0]);
    else if (strcmp(suffix, "weight") != 0 || !describe_weight(ours, &part[0]))
        return 0;
    name_part(&part[0], name, suffix);
    return 1;
}

/* The element of ours for row r, pixel p and channel c. */
static int64_t place_of(const tutti_torch_part *part, int64_t r, int64_t p, int64_t c)
{
    return part->first + (r * part->pixels + p) * part->channels + c;
}

void tutti_torch_pack(const tutti_torch_part *part, const float *ours, float *theirs)
{
    for (int64_t r = 0; r < part->rows; r++)
        for (int64_t c = 0; c < part->channels; c++)
            for (int64_t p = 0; p < part->pixels; p++) *theirs++ = ours[place_of(part, r, p, c)];
}

void tutti_torch_unpack(const tutti_torch_part *part, const float *theirs, float *ours)
{
    for (int64_t r = 0; r < part->rows; r++)
        for (int64_t c = 0; c < part->channels; c++)
            for (int64_t p = 0; p < part->pixels; p++) ours[place_of(part, r, p, c)] = *theirs++;
}
