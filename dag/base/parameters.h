/* A choice with parameters, as people write it: "NAME", or "NAME:" and a list of "key=value" or "value", separated by
 * commas. Strategies, codecs, optimizers, types of stores and layouts are read with this. [P] */
#ifndef TUTTI_PARAMETERS_H
#define TUTTI_PARAMETERS_H

#include <stddef.h>

enum { TUTTI_PARAMETERS_MOST = 64, TUTTI_PARAMETERS_TEXT = 512 };

typedef struct tutti_parameters {
    const char *name;
    int count; /* 0: there is no colon */
    struct {
        const char *key, *value; /* key NULL: a value alone, which may be empty */
    } of[TUTTI_PARAMETERS_MOST];
    const char *twice; /* a key that occurs more than once; NULL: none does */
    char text[TUTTI_PARAMETERS_TEXT];
} tutti_parameters;

/* Cuts the text into its parts; named 0: it is a list alone. Returns 0 if it is longer, or has more parts, than
 * anything that can be meant. */
int tutti_parameters_cut(const char *text, int named, tutti_parameters *parameters);
/* Appends word i of a list to a sentence: " a", ", b", and with `last` (" or") instead of the comma the last one. */
void tutti_parameters_say(char *text, size_t size, int i, const char *last, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
