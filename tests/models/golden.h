/* Golden numbers of a model (tests/golden/net): lines of a kind, a name and numbers, compared with
 * what a trial holds. A failed comparison fails the test.
 *
 * The tolerance is the largest distance allowed, relative to the size of what is compared: for a
 * tensor's norm the norm, for its elements their root mean square. */
#ifndef TUTTI_GOLDEN_H
#define TUTTI_GOLDEN_H

#include "tests/net/trial.h"

enum { GOLDEN_NUMBERS = 64 };

typedef struct golden {
    const char *file; /* from the top of the tree */
    double tolerance;
} golden;

typedef struct golden_line {
    char kind[32], name[64];
    int count;
    double number[GOLDEN_NUMBERS];
} golden_line;

/* The line of this kind and name. */
golden_line golden_find(const golden *g, const char *kind, const char *name);
/* The mean loss of the batch that ran last. */
void golden_check_loss(const golden *g, const trial *t, const char *kind, const char *name);
/* All elements of a tensor, against the line "logits name". */
void golden_check_logits(const golden *g, const trial *t, const char *tensor, const char *name);
/* Norm and samples of the tensors that the lines of a kind name, behind a prefix; there must be
 * `expected` of them. */
void golden_check_tensors(
    const golden *g, const trial *t, const char *kind, const char *prefix, int expected);

#endif
