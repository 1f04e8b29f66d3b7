/* Resizes a rectangle of an RGB picture, antialiased: a triangle filter, as wide as an output pixel
 * when it shrinks, as Pillow's BILINEAR. [A], one thread per memory.
 *
 *   out[i] = sum over k of w(k + 0.5 - c_i) * in[k] / sum over k of w(...)    along each axis
 *   c_i = start + (i + 0.5) * s,  s = length / size,  w(d) = max(0, 1 - |d| / max(s, 1))
 *
 * First along y, then along x; between them values are float32, so a result is at most 1 from the
 * exact one, and has the same bits on every machine.
 * Cost: about 6 * out_height * (columns + out_width) * max(s, 1) multiplications.
 * Source: Pillow, src/libImaging/Resample.c (the definition); Smith 1995, "A Pixel Is Not A Little
 * Square" (why pixel k is at k + 0.5). */
#ifndef TUTTI_RESIZE_H
#define TUTTI_RESIZE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed before its first use; grows and is used again. */
typedef struct tutti_resize_memory {
    void *block;
    size_t bytes;
} tutti_resize_memory;

typedef struct tutti_resize {
    int width;                       /* of a row of the picture */
    double x, y, across, down;       /* the rectangle that is resized, inside the picture */
    int left, top, right, bottom;    /* only pixels in here count: left <= k < right */
    int out_width, out_height, flip; /* flip: about the vertical axis */
} tutti_resize;

/* pixels [in]: rows of width*3 bytes. out [out]: out_height*out_width*3 bytes. NOMEM. */
tutti_status tutti_resize_make(
    tutti_resize_memory *memory, const tutti_resize *resize, const uint8_t *pixels, uint8_t *out);
void tutti_resize_free(tutti_resize_memory *memory);

#endif
