#include "apps/data/png.h"

#include "apps/data/formats.h"

#include <stdio.h>
#include <string.h>

enum { SIGNATURE = 8, CHANNELS = 3, WITH_ALPHA = 4 };

int tutti_png_recognise(const uint8_t *bytes, size_t count)
{
    return count >= SIGNATURE && !png_sig_cmp(bytes, 0, SIGNATURE);
}

static tutti_status fail(tutti_png *png)
{
    snprintf(png->fault, sizeof png->fault, "corrupt PNG: %s", png->image.message);
    return TUTTI_ERR_FORMAT;
}

tutti_status tutti_png_begin(
    tutti_png *png, const uint8_t *bytes, size_t count, int *width, int *height)
{
    *png = (tutti_png){.image = {.version = PNG_IMAGE_VERSION}};
    if (!png_image_begin_read_from_memory(&png->image, bytes, count)) return fail(png);
    if ((int64_t)png->image.width * png->image.height > TUTTI_IMAGE_PIXELS_MAX) {
        snprintf(png->fault, sizeof png->fault, "is %ux%u pixels; an image can have %d million",
            png->image.width, png->image.height, TUTTI_IMAGE_PIXELS_MAX / 1000000);
        tutti_png_end(png);
        return TUTTI_ERR_FORMAT;
    }
    *width = (int)png->image.width;
    *height = (int)png->image.height;
    return TUTTI_OK;
}

tutti_status tutti_png_decode(tutti_png *png, uint8_t *scratch, uint8_t *pixels)
{
    size_t count = (size_t)png->image.width * png->image.height;
    png->image.format = PNG_FORMAT_RGBA;
    png->image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16 bits are not linear light, either */
    if (!png_image_finish_read(&png->image, NULL, scratch, 0, NULL)) return fail(png);
    for (size_t p = 0; p < count; p++)
        for (int c = 0; c < CHANNELS; c++)
            pixels[p * CHANNELS + (size_t)c] = scratch[p * WITH_ALPHA + (size_t)c];
    return TUTTI_OK;
}

void tutti_png_end(tutti_png *png)
{
    png_image_free(&png->image);
}
