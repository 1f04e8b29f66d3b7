/* Decodes one JPEG in memory to RGB pixels.
 *
 * Grey is expanded to RGB; CMYK and YCCK are converted (R = C*K/255 on Adobe's inverted scale).
 * Anything that libjpeg warns about counts as corrupt: otherwise the network would learn from a
 * picture whose second half is grey. Threads: [A]. */
#ifndef TUTTI_JPEG_H
#define TUTTI_JPEG_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Width and height from the header. `path` is for messages. FORMAT (logged). */
tutti_status tutti_jpeg_size(
    const char *path, const uint8_t *bytes, size_t count, int *width, int *height);
/* Decodes into height*width*3 bytes. FORMAT (logged, with both sizes) if the picture has another
 * size, is corrupt, or has a colour space without a conversion. */
tutti_status tutti_jpeg_decode(
    const char *path, const uint8_t *bytes, size_t count, int width, int height, uint8_t *pixels);

#endif
