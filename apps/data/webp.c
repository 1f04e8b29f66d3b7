#include "apps/data/webp.h"

#include "apps/data/exif.h"

#include <stdio.h>
#include <string.h>
#include <webp/decode.h>

enum { CHANNELS = 3, WORD = 4, RIFF = 3 * WORD, CHUNK_HEAD = 2 * WORD };

int tutti_webp_reads(void)
{
    return 1;
}

int tutti_webp_recognise(const uint8_t *bytes, size_t count)
{
    return count >= RIFF && !memcmp(bytes, "RIFF", WORD) && !memcmp(bytes + 2 * WORD, "WEBP", WORD);
}

static size_t little_endian(const uint8_t *b)
{
    return (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

/* Chunks have an even length. */
static int find_orientation(const uint8_t *bytes, size_t count)
{
    for (size_t at = RIFF; count >= at + CHUNK_HEAD;) {
        const size_t length = little_endian(bytes + at + WORD);
        if (length > count - at - CHUNK_HEAD) return 1;
        if (!memcmp(bytes + at, "EXIF", WORD))
            return tutti_exif_orientation(bytes + at + CHUNK_HEAD, length);
        at += CHUNK_HEAD + length + length % 2;
    }
    return 1;
}

static tutti_status refuse(tutti_webp *webp, const char *words)
{
    snprintf(webp->fault, sizeof webp->fault, "%s", words);
    return TUTTI_ERR_FORMAT;
}

tutti_status tutti_webp_begin(tutti_webp *webp, const uint8_t *bytes, size_t count)
{
    WebPBitstreamFeatures has;
    *webp = (tutti_webp){.bytes = bytes, .count = count, .orientation = 1};
    if (WebPGetFeatures(bytes, count, &has) != VP8_STATUS_OK)
        return refuse(webp, "corrupt WebP: its header is damaged or cut off");
    if (has.has_animation)
        return refuse(webp, "is an animation (WebP); take a single picture of it");
    webp->width = has.width;
    webp->height = has.height;
    webp->orientation = find_orientation(bytes, count);
    return TUTTI_OK;
}

tutti_status tutti_webp_decode(tutti_webp *webp, uint8_t *pixels)
{
    const size_t row = (size_t)webp->width * CHANNELS, bytes = row * (size_t)webp->height;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return refuse(webp, "this libwebp is of another version");
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){.rgba = pixels, .stride = (int)row, .size = bytes};
    const VP8StatusCode code = WebPDecode(webp->bytes, webp->count, &config);
    if (code == VP8_STATUS_OUT_OF_MEMORY) return TUTTI_ERR_NOMEM;
    return code ? refuse(webp, "corrupt WebP: its pixels are damaged or cut off") : TUTTI_OK;
}
