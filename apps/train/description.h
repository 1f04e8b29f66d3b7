/* What a file of weights says of its network's images: the metadata that predicting, evaluating and
 * exporting need, as texts and as numbers. One list names them; checkpoints and both exports write
 * all of it, and a reader of some of it gets every number checked. Threads: [A]. */
#ifndef TUTTI_TRAIN_DESCRIPTION_H
#define TUTTI_TRAIN_DESCRIPTION_H

#include "apps/models/model.h"
#include "apps/train/checkpoint.h"
#include "dag/kernels/pixel.h"
#include "dag/net/net.h"

enum { TUTTI_DESCRIPTION_KEYS = 10, TUTTI_DESCRIPTION_TEXT = 96 };
extern const char *const tutti_description_keys[TUTTI_DESCRIPTION_KEYS];

/* As numbers. What is not known is 0 or NULL. */
typedef struct tutti_description {
    const tutti_model *model;
    int height, width, channels, classes; /* as the training saw its images */
    int normalised;                       /* mean and deviation are known */
    float mean[TUTTI_PIXEL_CHANNELS], deviation[TUTTI_PIXEL_CHANNELS]; /* on a scale of 0 to 1 */
    int resize;               /* of an evaluation's photographs: the shorter side */
    int eval_size;            /* evaluations see squares of this side */
    float epsilon;            /* batch normalisation divides by sqrt(variance + this) */
    char *const *class_names; /* only for print: as many as classes, then NULL */
} tutti_description;

/* The epsilon of a net's batch normalisation; 0: it has none. */
float tutti_description_epsilon(const tutti_net *net);

/* As texts. */
typedef struct tutti_description_text {
    char text[TUTTI_DESCRIPTION_KEYS][TUTTI_DESCRIPTION_TEXT];
    const char *value[TUTTI_DESCRIPTION_KEYS]; /* NULL: not known */
    char *names;                               /* of the classes; freed by free */
} tutti_description_text;

/* The texts of the numbers; NOMEM. */
tutti_status tutti_description_print(
    const tutti_description *description, tutti_description_text *text);
void tutti_description_free(tutti_description_text *text);
/* The texts of a file, which live as long as it. */
void tutti_description_of(const tutti_checkpoint *file, tutti_description_text *text);
/* Appends those that are known as pairs; returns how many there are then. */
int tutti_description_append(
    const tutti_description_text *text, int pairs, tutti_checkpoint_pair pair[]);

/* The numbers of a file, checked: whole, finite, and in their ranges. FORMAT (logged: the file, the key
 * and its value). */
tutti_status tutti_description_read(const tutti_checkpoint *file, tutti_description *description);

#endif
