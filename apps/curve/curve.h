/* A curve of a training: places, which do not decrease, and values; as JSON, [[places], [values]].
 * Threads: [M]. */
#ifndef TUTTI_CURVE_H
#define TUTTI_CURVE_H

#include <jansson.h>
#include <stdint.h>

typedef struct tutti_curve {
    int64_t count, room;
    double *x, *y;
} tutti_curve;

/* Adds a point; one whose value is not finite is left out. Returns 0 without memory. */
int tutti_curve_add(tutti_curve *curve, double x, double y);
/* Takes the points back whose places are `x` and later: of a run that was resumed before them. */
void tutti_curve_take_back(tutti_curve *curve, double x);
/* The points themselves, or, where they are more than `most`, their means in `most` equal ranges of
 * places: there may be more of them in some parts than in others. Returns 0 without memory. */
int tutti_curve_thin(const tutti_curve *curve, int64_t most, tutti_curve *thin);
/* NULL without memory. */
json_t *tutti_curve_json(const tutti_curve *curve);
/* Adds the points of such a value whose places are at most `last`; nothing from any other value.
 * Returns 0 without memory. */
int tutti_curve_read(const json_t *value, double last, tutti_curve *curve);
void tutti_curve_free(tutti_curve *curve);

#endif
