/* Decodes a WebP picture in memory to RGB, as it is stored: colour profiles are not applied, transparency is dropped.
 * Animations are refused.
 *
 *   begin -> decode
 *
 * A build without libwebp recognises none, so that these files are refused as those of other kinds are (other_file.h).
 *
 * Errors: FORMAT, not logged; the reason is in `fault`. NOMEM, not logged. Threads: [A], one thread per object.
 * Source: RFC 9649, WebP Image Format (the container and its chunk EXIF). */
#ifndef TUTTI_WEBP_H
#define TUTTI_WEBP_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_webp {
    const uint8_t *bytes; /* of the file; borrowed */
    size_t count;
    int width, height; /* as it is stored, before it is turned */
    int orientation;   /* 1 to 8, from the EXIF chunk; 1 without one */
    char fault[128];
} tutti_webp;

/* Whether this build reads them. [P] */
int tutti_webp_reads(void);
/* Whether these bytes begin as a WebP does that this build reads. [P] */
int tutti_webp_recognise(const uint8_t *bytes, size_t count);
/* Reads the header; a picture may have 2^28 pixels. */
tutti_status tutti_webp_begin(tutti_webp *webp, const uint8_t *bytes, size_t count);
/* pixels: height*width*3 bytes. */
tutti_status tutti_webp_decode(tutti_webp *webp, uint8_t *pixels);

#endif
