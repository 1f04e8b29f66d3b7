#include "apps/data/other_file.h"

#include <string.h>
#include <strings.h>

#define MAGICK "not read here; convert it, as with ImageMagick: convert FILE FILE.png"
#define WEBP                                                                                       \
    "this build has no libwebp: install libwebp-dev and configure again, or convert FILE FILE.png"
#define HEIF "not read here; convert it, as with libheif: heif-convert FILE FILE.jpg"
#define DOWNLOAD "no picture: the download failed, so get the file again"

/* By their first bytes: `count` of them at `at`. */
static const struct {
    size_t at, count;
    const char *bytes, *advice;
} kinds[] = {
    {8, 4, "WEBP", "is a WebP picture; " WEBP},
    {0, 4, "GIF8", "is a GIF; " MAGICK},
    {0, 4, "II*\0", "is a TIFF; " MAGICK},
    {0, 4, "MM\0*", "is a TIFF; " MAGICK},
    {0, 4, "II+\0", "is a BigTIFF; " MAGICK},
    {0, 4, "MM\0+", "is a BigTIFF; " MAGICK},
    {4, 8, "ftypavif", "is an AVIF picture; " HEIF},
    {4, 8, "ftypavis", "is an AVIF picture; " HEIF},
    {4, 7, "ftyphei", "is a HEIC picture; " HEIF},
    {4, 7, "ftyphev", "is a HEIC picture; " HEIF},
    {4, 8, "ftypmif1", "is a HEIF picture (HEIC or AVIF); " HEIF},
    {4, 8, "ftypmsf1", "is a HEIF picture (HEIC or AVIF); " HEIF},
    {4, 4, "ftyp", "is a film (MP4 or QuickTime), not a picture; remove it"},
    {0, 12, "\0\0\0\x0cjP  \r\n\x87\n", "is a JPEG 2000 picture; " MAGICK},
    {0, 4, "\xff\x4f\xff\x51", "is a JPEG 2000 picture; " MAGICK},
    {0, 12, "\0\0\0\x0cJXL \r\n\x87\n", "is a JPEG XL picture; " MAGICK},
    {0, 2, "\xff\x0a", "is a JPEG XL picture; " MAGICK},
    {0, 4, "8BPS", "is a Photoshop file; " MAGICK},
    {0, 4, "\0\0\1\0", "is an icon (ICO); " MAGICK},
    {0, 4, "qoif", "is a QOI picture; " MAGICK},
    {0, 4, "\x76\x2f\x31\x01", "is an OpenEXR picture; " MAGICK},
    {0, 4, "%PDF", "is a PDF document, no picture; remove it"},
    {0, 2, "\x1f\x8b", "is compressed (gzip), no picture: unpack it"},
    {0, 4, "PK\3\4", "is a zip archive, no picture: unpack it"},
    {0, 4, "\0\5\x16\7", "is what a Mac keeps beside a file (AppleDouble), no picture; remove it"},
    {0, 26, "version https://git-lfs.gi", "is a pointer of Git LFS, no picture: run git lfs pull"},
};

/* Text that is recognised by how it begins, in upper or lower case, after blanks. */
static const struct {
    const char *begin, *advice;
} texts[] = {
    {"<!doctype html", "is an HTML page, " DOWNLOAD},
    {"<html", "is an HTML page, " DOWNLOAD},
    {"<svg", "is an SVG drawing; " MAGICK},
    {"<?xml", "is XML text (or an SVG drawing), no picture; convert or remove it"},
};

static const char *find_kind(const uint8_t *bytes, size_t count)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (count >= kinds[k].at + kinds[k].count &&
            !memcmp(bytes + kinds[k].at, kinds[k].bytes, kinds[k].count))
            return kinds[k].advice;
    return NULL;
}

/* BM, the file's size (which is often wrong), four zeros, the place of the pixels, a header's size. */
static int is_bmp(const uint8_t *b, size_t count)
{
    return count >= 18 && b[0] == 'B' && b[1] == 'M' && !memcmp(b + 6, "\0\0\0\0", 4) &&
           !memcmp(b + 15, "\0\0\0", 3);
}

/* P1 to P7, and a blank. */
static int is_pnm(const uint8_t *b, size_t count)
{
    return count >= 3 && b[0] == 'P' && b[1] >= '1' && b[1] <= '7' &&
           (b[2] == '\n' || b[2] == ' ' || b[2] == '\r' || b[2] == '\t');
}

/* Whether the first bytes are those of text: printable, or beyond ASCII as UTF-8 has them. */
static int is_text(const uint8_t *bytes, size_t count)
{
    enum { ENOUGH = 256 };
    for (size_t i = 0; i < count && i < ENOUGH; i++)
        if (bytes[i] == 0x7f || (bytes[i] < ' ' && !strchr("\t\n\r\f\x1b", bytes[i])) || !bytes[i])
            return 0;
    return count > 0;
}

static const char *text_advice(const uint8_t *bytes, size_t count)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (count >= 3 && !memcmp(bytes, mark, 3)) bytes += 3, count -= 3;
    while (count && strchr(" \t\r\n", *bytes) && *bytes) bytes++, count--;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        size_t length = strlen(texts[t].begin);
        if (count >= length && !strncasecmp((const char *)bytes, texts[t].begin, length))
            return texts[t].advice;
    }
    return "is text, " DOWNLOAD;
}

static int is_zero(const uint8_t *bytes, size_t count)
{
    size_t i = 0;
    while (i < count && !bytes[i]) i++;
    return i == count;
}

const char *tutti_other_file_advice(const uint8_t *bytes, size_t count)
{
    if (count >= 2 && bytes[0] == 0xff && bytes[1] == 0xd8) return NULL;
    const char *advice = find_kind(bytes, count);
    if (advice) return advice;
    if (is_bmp(bytes, count)) return "is a BMP picture; " MAGICK;
    if (is_pnm(bytes, count)) return "is a PNM picture (PBM, PGM or PPM); " MAGICK;
    if (is_text(bytes, count)) return text_advice(bytes, count);
    if (is_zero(bytes, count)) return "holds nothing but zeros, " DOWNLOAD;
    return "is neither a JPEG nor a PNG, and is damaged or of an unknown kind: convert or remove "
           "it";
}

int tutti_other_file_is_picture(const char *ending)
{
    static const char *const endings[] = {"webp", "gif", "bmp", "tif", "tiff", "heic", "heif",
        "hif", "avif", "jp2", "j2k", "jxl", "psd", "svg", "ico", "ppm", "pgm", "pbm", "pnm", "tga",
        "dng", "cr2", "nef", "arw", "raw", "jfif", "jpe", "png", "jpg", "jpeg"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        if (!strcasecmp(ending, endings[e])) return 1;
    return 0;
}
