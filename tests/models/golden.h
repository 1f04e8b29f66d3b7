/* Golden numbers of a model (tests/golden/net): lines with a kind, a name and numbers, compared
 * with a trial's values. A failed comparison fails the test.
 *
 * The tolerance is the largest allowed distance, relative to the norm for a tensor's norm, and to
 * the root mean square for its elements. */
#ifndef TUTTI_GOLDEN_H
#define TUTTI_GOLDEN_H

#include "tests/step/trial.h"

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
/* The mean loss of the last batch. */
void golden_check_loss(const golden *g, const trial *t, const char *kind, const char *name);
/* All elements of a tensor, against the line "logits name". */
void golden_check_logits(const golden *g, const trial *t, const char *tensor, const char *name);
/* Norm and samples of the tensors named by the lines of a kind, after a prefix; there must be
 * `expected` of them. */
void golden_check_tensors(
    const golden *g, const trial *t, const char *kind, const char *prefix, int expected);
/* Tensors that are 0 but for rounding: the norm of each, relative to the number in its line. Returns how
 * many there are. */
int golden_check_zeros(const golden *g, const trial *t, const char *kind, const char *prefix);

#endif
