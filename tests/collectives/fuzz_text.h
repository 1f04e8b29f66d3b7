/* Damaged texts of a format: texts that are right are changed, joined and cut in random places. Whatever comes, the
 * reader reads it or says what is wrong; what it reads, it prints so that it reads the same again. */
#ifndef TUTTI_TEST_FUZZ_TEXT_H
#define TUTTI_TEST_FUZZ_TEXT_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FUZZ_TEXT = 4096 };

/* Random numbers of an iteration, which the seed replays. */
typedef struct fuzz_dice {
    uint64_t seed, iteration, next;
} fuzz_dice;

size_t fuzz_roll(fuzz_dice *d, size_t bound); /* below it */

typedef struct fuzz_format {
    uint64_t seed;
    double most_right; /* of all texts: few that are wrong would test little */
    void (*draw)(fuzz_dice *d, char text[FUZZ_TEXT]);
    /* Reads a text; its mistakes are FORMAT. */
    tutti_status (*read)(const char *text, const char *name, uint64_t iteration, void **value);
    tutti_status (*print)(const void *value, FILE *out);
    void (*release)(void *value);
} fuzz_format;

/* For draw: most of these lines, in their order; then a few bytes are others. */
void fuzz_draw_lines(
    fuzz_dice *d, const char *const lines[], size_t count, const char *bytes, char text[FUZZ_TEXT]);
/* The program: PROGRAM [ITERATIONS]. */
int fuzz_text_main(int argc, char **argv, const fuzz_format *format);

#endif
