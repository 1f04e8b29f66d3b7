/* Decodes a PNG in memory to RGB; transparency is dropped, as Pillow's convert("RGB") does.
 *
 *   begin -> decode, once -> end (also without decode)
 *
 * Errors: FORMAT, not logged; the reason is in `fault`. Threads: [A], one thread per object. */
#ifndef TUTTI_PNG_H
#define TUTTI_PNG_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

#include <png.h>

typedef struct tutti_png {
    png_image image; /* libpng's */
    char fault[128];
} tutti_png;

/* Whether these bytes begin as a PNG does. */
int tutti_png_recognise(const uint8_t *bytes, size_t count);
/* Reads the header. The bytes are borrowed until end. */
tutti_status tutti_png_begin(
    tutti_png *png, const uint8_t *bytes, size_t count, int *width, int *height);
/* scratch: height*width*4 bytes; pixels: height*width*3, which may be the same memory. */
tutti_status tutti_png_decode(tutti_png *png, uint8_t *scratch, uint8_t *pixels);
/* Accepts a zeroed object. */
void tutti_png_end(tutti_png *png);

#endif
