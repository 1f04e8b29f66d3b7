/* Decodes a window of a JPEG in memory to RGB, at full size or at a half, a quarter or an eighth of
 * it: pixels outside the window cost little, and shrinking in the inverse DCT saves most of the
 * rest.
 *
 *   new -> { begin -> window }* -> free
 *
 * Grey is expanded to RGB; CMYK and YCCK are converted (R = C*K/255 on Adobe's inverted scale).
 * Damage that libjpeg only warns about counts as corrupt: otherwise the network would learn from a
 * picture whose second half is grey. Some warnings are harmless, and such pictures are decoded:
 * extraneous bytes before a marker, an unknown colour transform of Adobe's, an unknown revision of
 * JFIF, progressive fields in a sequential file. What lies below the window is not looked at, nor what
 * follows the last row: a picture may lack the mark of its end, and be followed by anything.
 *
 * Errors: FORMAT, not logged; tutti_jpeg_fault has the sentence. NOMEM, not logged. Threads: [A], one thread per
 * decompressor. Source: libjpeg-turbo's libjpeg.txt, "Partial decompression". */
#ifndef TUTTI_JPEG_H
#define TUTTI_JPEG_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_jpeg tutti_jpeg;

typedef struct tutti_jpeg_window {
    int shrink;              /* 1, 2, 4 or 8 */
    int x, y, width, height; /* inside the shrunk picture, whose sides are rounded up */
} tutti_jpeg_window;

/* NOMEM (logged). */
tutti_status tutti_jpeg_new(tutti_jpeg **jpeg);
/* Accepts NULL. */
void tutti_jpeg_free(tutti_jpeg *jpeg);

/* Reads the header. The bytes are borrowed until the window is decoded. orientation: of Exif, 1..8;
 * 1 if there is none. Width and height are those of the stored picture, before it is turned. */
tutti_status tutti_jpeg_begin(tutti_jpeg *jpeg, const uint8_t *bytes, size_t count, int *width,
    int *height, int *orientation);
/* Decodes the window, once, into height*width*3 bytes: the very pixels that decoding the whole
 * picture at this size would give. */
tutti_status tutti_jpeg_decode(tutti_jpeg *jpeg, const tutti_jpeg_window *window, uint8_t *pixels);

/* Why the last call failed, without the file's name. */
const char *tutti_jpeg_fault(const tutti_jpeg *jpeg);

#endif
