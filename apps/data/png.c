#include "apps/data/png.h"

#include "apps/data/exif.h"
#include "apps/data/formats.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { SIGNATURE = 8, CHANNELS = 3 };
/* A chunk: length, type, contents, checksum. */
enum { WORD = 4, CHUNK_HEAD = 2 * WORD };

int tutti_png_recognise(const uint8_t *bytes, size_t count)
{
    return count >= SIGNATURE && !png_sig_cmp(bytes, 0, SIGNATURE);
}

/* ---- what libpng calls ---- */

static _Noreturn void on_error(png_structp reader, png_const_charp words)
{
    tutti_png *png = png_get_error_ptr(reader);
    png->starved = strstr(words, "memory") != NULL;
    snprintf(png->fault, sizeof png->fault, "corrupt PNG: %s", words);
    png_longjmp(reader, 1);
}

/* About chunks that are not used, or that libpng leaves out; wrong pixels are errors. */
static void on_warning(png_structp reader, png_const_charp words)
{
    (void)reader, (void)words;
}

static void on_read(png_structp reader, png_bytep to, size_t count)
{
    tutti_png *png = png_get_io_ptr(reader);
    if (count > png->count - png->at) png_error(reader, "it ends too early");
    memcpy(to, png->bytes + png->at, count);
    png->at += count;
}

/* ---- orientation ---- */

static uint32_t big_endian(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* eXIf may follow the pixels, where libpng would find it only after decoding them. */
static int find_orientation(const uint8_t *bytes, size_t count)
{
    static const uint8_t exif[WORD] = {'e', 'X', 'I', 'f'};
    for (size_t at = SIGNATURE; count - at >= CHUNK_HEAD + WORD;) {
        const uint8_t *type = bytes + at + WORD, *contents = type + WORD;
        size_t length = big_endian(bytes + at);
        if (length > count - at - CHUNK_HEAD - WORD) return 1;
        if (!memcmp(type, exif, WORD) &&
            crc32_z(crc32_z(0, NULL, 0), type, WORD + length) == big_endian(contents + length))
            return tutti_exif_orientation(contents, length);
        at += CHUNK_HEAD + length + WORD;
    }
    return 1;
}

/* ---- reading ---- */

static void read_header(tutti_png *png)
{
    png_structp reader = png->reader;
    /* Chunks that are not used are not looked into: they may be damaged, or huge when unpacked. */
    static const png_byte unused[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
                                     "sBIT\0sCAL\0sPLT\0sRGB\0sTER\0tEXt\0tIME\0tRNS\0zTXt";
    png_set_keep_unknown_chunks(reader, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(
        reader, PNG_HANDLE_CHUNK_NEVER, unused, (int)(sizeof unused / (WORD + 1)));
    png_set_benign_errors(reader, 1);
    png_set_read_fn(reader, png, on_read);
    png_read_info(reader, png->about);
}

tutti_status tutti_png_begin(
    tutti_png *png, const uint8_t *bytes, size_t count, int *width, int *height, int *orientation)
{
    *png = (tutti_png){.bytes = bytes, .count = count};
    png->reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, png, on_error, on_warning);
    if (png->reader) png->about = png_create_info_struct(png->reader);
    if (!png->about) {
        tutti_png_end(png);
        return TUTTI_ERR_NOMEM;
    }
    if (setjmp(png_jmpbuf(png->reader))) {
        tutti_png_end(png);
        return png->starved ? TUTTI_ERR_NOMEM : TUTTI_ERR_FORMAT;
    }
    read_header(png);
    png_uint_32 columns = png_get_image_width(png->reader, png->about),
                rows = png_get_image_height(png->reader, png->about);
    if ((int64_t)columns * rows > TUTTI_IMAGE_PIXELS_MAX) {
        snprintf(png->fault, sizeof png->fault, "is %ux%u pixels; an image can have %d million",
            columns, rows, TUTTI_IMAGE_PIXELS_MAX / 1000000);
        tutti_png_end(png);
        return TUTTI_ERR_FORMAT;
    }
    *width = (int)columns;
    *height = (int)rows;
    *orientation = find_orientation(bytes, count);
    return TUTTI_OK;
}

/* Interlaced pictures come in several passes, each of which fills in pixels of the rows. What
 * follows the last row is not read. */
static void read_pixels(tutti_png *png, uint8_t *pixels)
{
    png_structp reader = png->reader;
    png_uint_32 width = png_get_image_width(reader, png->about),
                height = png_get_image_height(reader, png->about);
    png_set_strip_16(reader);
    png_set_palette_to_rgb(reader);
    png_set_expand_gray_1_2_4_to_8(reader);
    png_set_gray_to_rgb(reader);
    png_set_strip_alpha(reader);
    int passes = png_set_interlace_handling(reader);
    png_read_update_info(reader, png->about);
    if (png_get_rowbytes(reader, png->about) != (size_t)width * CHANNELS)
        png_error(reader, "its pixels do not become RGB");
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < height; y++)
            png_read_row(reader, pixels + (size_t)y * width * CHANNELS, NULL);
}

tutti_status tutti_png_decode(tutti_png *png, uint8_t *pixels)
{
    if (setjmp(png_jmpbuf(png->reader))) return png->starved ? TUTTI_ERR_NOMEM : TUTTI_ERR_FORMAT;
    read_pixels(png, pixels);
    return TUTTI_OK;
}

void tutti_png_end(tutti_png *png)
{
    if (png->reader) png_destroy_read_struct(&png->reader, &png->about, NULL);
}
