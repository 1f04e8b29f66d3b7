/* Decodes a PNG in memory to RGB, as Pillow's convert("RGB") and OpenCV do:
 *
 *   values are used as they are stored: gAMA, cHRM, sRGB and iCCP are not applied
 *   of 16 bits the upper 8 count; grey of 1, 2 and 4 bits is spread over 0..255
 *   transparency (an alpha channel, tRNS) is dropped
 *
 *   begin -> decode, once -> end (also without decode)
 *
 * Errors: FORMAT, not logged; the reason is in `fault`. NOMEM, not logged. Threads: [A], one thread per object.
 * Source: W3C, Portable Network Graphics Specification, third edition, with its chunk eXIf. */
#ifndef TUTTI_PNG_H
#define TUTTI_PNG_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

#include <png.h>

typedef struct tutti_png {
    png_structp reader; /* libpng's; NULL: none */
    png_infop about;
    const uint8_t *bytes; /* of the file */
    size_t count, at;
    int starved; /* libpng or zlib got no memory: the picture may be right */
    char fault[128];
} tutti_png;

/* Whether these bytes begin as a PNG does. */
int tutti_png_recognise(const uint8_t *bytes, size_t count);
/* Reads the header. The bytes are borrowed until end. orientation: of the chunk eXIf, 1..8; 1 if
 * there is none. Width and height are those of the stored picture, before it is turned. */
tutti_status tutti_png_begin(
    tutti_png *png, const uint8_t *bytes, size_t count, int *width, int *height, int *orientation);
/* pixels: height*width*3 bytes. */
tutti_status tutti_png_decode(tutti_png *png, uint8_t *pixels);
/* Accepts a zeroed object. */
void tutti_png_end(tutti_png *png);

#endif
