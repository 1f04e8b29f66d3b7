/* Compresses an RGB picture as a baseline JPEG with chroma at half its size (4:2:0), as most
 * cameras and Pillow do. Equal pixels give equal bytes with the same libjpeg-turbo.
 *
 * Errors: NOMEM (logged). Threads: [A], one thread per buffer. */
#ifndef TUTTI_JPEG_WRITE_H
#define TUTTI_JPEG_WRITE_H

#include "apps/data/bytes.h"
#include "dag/base/status.h"

#include <stdint.h>

/* pixels: (height,width,3), sides up to 65,500; quality: 1 to 100, on libjpeg's scale. */
tutti_status tutti_jpeg_append(
    tutti_bytes *to, const uint8_t *pixels, int width, int height, int quality);

#endif
