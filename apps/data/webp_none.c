/* A build without libwebp. */
#include "apps/data/webp.h"

#include <stdio.h>

int tutti_webp_reads(void)
{
    return 0;
}

int tutti_webp_recognise(const uint8_t *bytes, size_t count)
{
    (void)bytes, (void)count;
    return 0;
}

tutti_status tutti_webp_begin(tutti_webp *webp, const uint8_t *bytes, size_t count)
{
    *webp = (tutti_webp){.bytes = bytes, .count = count, .orientation = 1};
    snprintf(webp->fault, sizeof webp->fault, "is a WebP picture, which this build cannot read");
    return TUTTI_ERR_FORMAT;
}

tutti_status tutti_webp_decode(tutti_webp *webp, uint8_t *pixels)
{
    (void)webp, (void)pixels;
    return TUTTI_ERR_FORMAT;
}
