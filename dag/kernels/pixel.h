/* From bytes to numbers, what the first layer reads.
 *   NORMALISE: y = (x/255 - mean[c]) / deviation[c] in float32, each operation rounded, in this order.
 *   NORMALISE_NARROW: the same, rounded to bf16 at the end.
 *   x: bytes (pixels,C)     y: float32 or bf16, the same shape
 * y is one of 256 numbers per channel, which the CPU's kernel computes when it is opened and looks up. */
#ifndef TUTTI_PIXEL_H
#define TUTTI_PIXEL_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

enum { TUTTI_PIXEL_CHANNELS = 4 /* at most */ };

typedef struct tutti_normalise_desc {
    int64_t pixels, C;                                                 /* pixels: N*H*W */
    float mean[TUTTI_PIXEL_CHANNELS], deviation[TUTTI_PIXEL_CHANNELS]; /* of the first C */
} tutti_normalise_desc;

extern const tutti_op tutti_op_normalise, tutti_op_normalise_narrow;

#endif
