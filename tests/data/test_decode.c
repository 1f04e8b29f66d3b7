/* apps/data: views of photographs, from stored bytes of any kind. */
#include "apps/data/decode.h"
#include "apps/data/exif.h"
#include "apps/data/jpeg.h"
#include "apps/data/other_file.h"
#include "apps/data/png.h"
#include "apps/data/webp.h"
#include "apps/data/resize.h"
#include "dag/base/rng.h"
#include "tests/data/fixture.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

enum { C = 3, SIDE = 40 };

/* A data set of one image in memory. */
typedef struct fake {
    const uint8_t *bytes;
    size_t count;
} fake;

static tutti_status fake_fetch(const tutti_dataset *d, int64_t index, tutti_sample *sample)
{
    const fake *f = d->state;
    tutti_status status = tutti_sample_reserve(sample, f->count);
    if (status) return status;
    if (f->count) memcpy(sample->bytes, f->bytes, f->count);
    sample->kind = TUTTI_SAMPLE_FILE;
    sample->label = 5;
    snprintf(sample->name, sizeof sample->name, "image %d", (int)index);
    return TUTTI_OK;
}

static const tutti_image_source fake_source = {.name = "fake", .fetch = fake_fetch};

static tutti_dataset dataset_of(fake *f)
{
    return (tutti_dataset){.source = &fake_source,
        .count = 1,
        .height = SIDE,
        .width = SIDE,
        .channels = C,
        .classes = 10,
        .resize = 48,
        .state = f};
}

/* A smooth picture that no symmetry leaves as it is. */
static int value(int x, int y, int c, int width, int height)
{
    return (20 + 100 * x / width + 50 * y / height + 20 * c + 30 * (x * 3 < width)) & 255;
}

/* Stored with Exif of this orientation. */
static uint8_t *make_jpeg(int width, int height, int orientation, int fine, size_t *count)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    const uint8_t exif[] = {'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
        3, 0, 0, 0, 1, 0, (uint8_t)orientation, 0, 0, 0, 0, 0, 0};
    uint8_t *row = malloc((size_t)width * C);
    ck_assert_ptr_nonnull(row);
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &size);
    cinfo.image_width = (JDIMENSION)width;
    cinfo.image_height = (JDIMENSION)height;
    cinfo.input_components = C;
    cinfo.in_color_space = JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, 95, TRUE);
    jpeg_start_compress(&cinfo, TRUE);
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, exif, sizeof exif);
    for (int y = 0; y < height; y++) {
        for (int i = 0; i < width * C; i++)
            row[i] = (uint8_t)(fine ? (int)tutti_rng_below(2, (uint64_t)y, (uint64_t)i, 256)
                                    : value(i / C, y, i % C, width, height));
        JSAMPROW rows[] = {row};
        jpeg_write_scanlines(&cinfo, rows, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    free(row);
    *count = size;
    return bytes;
}

static uint8_t *make_png(int width, int height, int with_alpha, size_t *count)
{
    int channels = with_alpha ? 4 : 3;
    png_image image = {.version = PNG_IMAGE_VERSION,
        .width = (png_uint_32)width,
        .height = (png_uint_32)height,
        .format = with_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB};
    uint8_t *pixels = malloc((size_t)(width * height * channels)), *bytes = malloc(1 << 20);
    ck_assert(pixels && bytes);
    for (int i = 0; i < width * height * channels; i++)
        pixels[i] = (uint8_t)(i % channels == 3 ? 100
                                                : value(i / channels % width, i / channels / width,
                                                      i % channels, width, height));
    png_alloc_size_t size = 1 << 20;
    ck_assert(png_image_write_to_memory(&image, bytes, &size, 0, pixels, 0, NULL));
    free(pixels);
    *count = size;
    return bytes;
}

static void make(const tutti_view_choice *choice, int64_t image, fake *f, uint8_t *out)
{
    tutti_dataset d = dataset_of(f);
    tutti_decoder *decoder;
    int32_t label = -1;
    ck_assert_ok(tutti_decoder_new(&decoder));
    tutti_status status = tutti_decoder_make(decoder, &d, choice, image, out, &label);
    ck_assert_msg(!status, "%s", tutti_decoder_fault(decoder));
    ck_assert_int_eq(label, 5);
    tutti_decoder_free(decoder);
}

/* Decodes everything, turns it, and resizes the view out of the whole picture. */
static void make_slowly(const tutti_view *v, const fake *f, uint8_t *out)
{
    tutti_jpeg *jpeg;
    tutti_resize_memory memory = {0};
    int width, height, orientation;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    ck_assert_ok(tutti_jpeg_begin(jpeg, f->bytes, f->count, &width, &height, &orientation));
    uint8_t *stored = malloc((size_t)(width * height * C)),
            *upright = malloc((size_t)(width * height * C));
    ck_assert(stored && upright);
    tutti_jpeg_window all = {1, 0, 0, width, height};
    ck_assert_ok(tutti_jpeg_decode(jpeg, &all, stored));
    tutti_exif_orient(orientation, width, height, C, stored, upright);
    int turned = tutti_exif_transposes(orientation);
    tutti_resize r = {turned ? height : width, v->x, v->y, v->width, v->height, 0, 0,
        turned ? height : width, turned ? width : height, v->out_width, v->out_height, v->flip};
    if (v->clip) {
        r.left = (int)v->x, r.right = (int)(v->x + v->width);
        r.top = (int)v->y, r.bottom = (int)(v->y + v->height);
    }
    ck_assert_ok(tutti_resize_make(&memory, &r, upright, out));
    tutti_resize_free(&memory);
    tutti_jpeg_free(jpeg);
    free(stored);
    free(upright);
}

static int farthest(const uint8_t *a, const uint8_t *b)
{
    int most = 0;
    for (int i = 0; i < SIDE * SIDE * C; i++)
        if (abs(a[i] - b[i]) > most) most = abs(a[i] - b[i]);
    return most;
}

static const tutti_augment augments[] = {
    TUTTI_AUGMENT_NONE, TUTTI_AUGMENT_CROP, TUTTI_AUGMENT_STANDARD};

/* Decoding only what a view needs gives what decoding everything gives, however the camera was held. Here no view is
 * small enough to shrink in the inverse DCT. */
START_TEST(a_view_is_that_of_the_whole_picture)
{
    int orientation = _i + 1, turned = tutti_exif_transposes(orientation);
    uint8_t fast[SIDE * SIDE * C], slow[SIDE * SIDE * C];
    size_t count;
    uint8_t *bytes = make_jpeg(79, 61, orientation, 1, &count);
    fake f = {bytes, count};
    const tutti_view_shape shape = {SIDE, SIDE, 48};
    for (int a = 0; a < 3; a++)
        for (int64_t image = 0; image < 25; image++) {
            const tutti_view_choice choice = {
                .augment = augments[a], .crop = 1, .seed = 8, .epoch = 2};
            make(&choice, image, &f, fast);
            tutti_view v =
                tutti_view_choose(&choice, &shape, image, turned ? 61 : 79, turned ? 79 : 61);
            make_slowly(&v, &f, slow);
            ck_assert_int_le(farthest(fast, slow), 1);
        }
    free(bytes);
}
END_TEST

/* The same where the inverse DCT shrinks: on a smooth picture the results are close. */
START_TEST(shrinking_in_the_inverse_dct_is_close)
{
    int orientation = _i + 1, turned = tutti_exif_transposes(orientation);
    static const int sizes[][2] = {{201, 163}, {403, 333}, {1001, 777}};
    uint8_t fast[SIDE * SIDE * C], slow[SIDE * SIDE * C];
    const tutti_view_shape shape = {SIDE, SIDE, 48};
    for (int s = 0; s < 3; s++) {
        int width = sizes[s][0], height = sizes[s][1];
        size_t count;
        uint8_t *bytes = make_jpeg(width, height, orientation, 0, &count);
        fake f = {bytes, count};
        for (int64_t image = 0; image < 20; image++) {
            const tutti_view_choice choice = {
                .augment = augments[image % 3], .crop = 1, .seed = 8, .epoch = 2};
            make(&choice, image, &f, fast);
            tutti_view v = tutti_view_choose(
                &choice, &shape, image, turned ? height : width, turned ? width : height);
            make_slowly(&v, &f, slow);
            int64_t sum = 0;
            for (int i = 0; i < SIDE * SIDE * C; i++) sum += abs(fast[i] - slow[i]);
            ck_assert_int_lt(sum, 2 * SIDE * SIDE * C);
            ck_assert_int_lt(farthest(fast, slow), 40); /* at the one edge of the picture */
        }
        free(bytes);
    }
}
END_TEST

/* Colours are changed after the view is made. */
START_TEST(colours_of_a_view_are_jittered)
{
    uint8_t plain[SIDE * SIDE * C], jittered[SIDE * SIDE * C];
    size_t count;
    uint8_t *bytes = _i ? make_png(79, 61, 0, &count) : make_jpeg(79, 61, 6, 1, &count);
    fake f = {bytes, count};
    for (int64_t image = 0; image < 10; image++) {
        tutti_view_choice choice = {
            .augment = TUTTI_AUGMENT_STANDARD, .crop = 1, .seed = 8, .epoch = 2};
        make(&choice, image, &f, plain);
        choice.jitter = (tutti_jitter_range){{9000, 7000, 5000}};
        make(&choice, image, &f, jittered);
        ck_assert_int_gt(farthest(plain, jittered), 0);
        tutti_jitter jitter = tutti_jitter_choose(&choice.jitter, 8, 2, image);
        tutti_jitter_apply(&jitter, (int64_t)SIDE * SIDE, plain);
        ck_assert_mem_eq(plain, jittered, sizeof plain);
    }
    free(bytes);
}
END_TEST

/* The first bytes say what an image is, whatever it is called. */
START_TEST(a_png_is_known_by_its_bytes)
{
    uint8_t out[SIDE * SIDE * C], jpeg[SIDE * SIDE * C];
    const tutti_view_choice centre = {0};
    size_t count, jpeg_count;
    uint8_t *bytes = make_png(90, 70, _i, &count);
    uint8_t *other = make_jpeg(90, 70, 1, 0, &jpeg_count);
    fake f = {bytes, count}, g = {other, jpeg_count};
    make(&centre, 0, &f, out);
    make(&centre, 0, &g, jpeg);
    int64_t sum = 0;
    for (int i = 0; i < SIDE * SIDE * C; i++) sum += abs(out[i] - jpeg[i]);
    ck_assert_int_lt(sum, 4 * SIDE * SIDE * C);
    free(bytes);
    free(other);
}
END_TEST

/* ---- PNG ---- */

enum { PNG_WIDTH = 13, PNG_HEIGHT = 11 };

/* How a PNG stores its pixels, and which chunks it has that say something about their colours. */
typedef struct png_storage {
    const char *name;
    int type, bits, interlaced, transparent, colours;
} png_storage;

static const png_storage png_stored[] = {
    {"grey, 1 bit", PNG_COLOR_TYPE_GRAY, 1, 0, 0, 0},
    {"grey, 2 bits", PNG_COLOR_TYPE_GRAY, 2, 0, 1, 1},
    {"grey, 4 bits, interlaced", PNG_COLOR_TYPE_GRAY, 4, 1, 0, 2},
    {"grey", PNG_COLOR_TYPE_GRAY, 8, 0, 1, 1},
    {"grey, 16 bits", PNG_COLOR_TYPE_GRAY, 16, 0, 0, 2},
    {"grey with alpha", PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, 0, 1},
    {"grey with alpha, 16 bits, interlaced", PNG_COLOR_TYPE_GRAY_ALPHA, 16, 1, 0, 1},
    {"RGB", PNG_COLOR_TYPE_RGB, 8, 0, 1, 1},
    {"RGB, interlaced", PNG_COLOR_TYPE_RGB, 8, 1, 0, 2},
    {"RGB, 16 bits", PNG_COLOR_TYPE_RGB, 16, 0, 1, 1},
    {"RGB with alpha", PNG_COLOR_TYPE_RGB_ALPHA, 8, 0, 0, 1},
    {"RGB with alpha, 16 bits, interlaced", PNG_COLOR_TYPE_RGB_ALPHA, 16, 1, 0, 2},
    {"palette, 1 bit", PNG_COLOR_TYPE_PALETTE, 1, 0, 1, 1},
    {"palette, 4 bits, interlaced", PNG_COLOR_TYPE_PALETTE, 4, 1, 1, 2},
    {"palette", PNG_COLOR_TYPE_PALETTE, 8, 0, 0, 1},
};
enum { PNG_STORED = sizeof png_stored / sizeof *png_stored };

/* What is stored for channel c of a pixel. */
static int stored_value(const png_storage *how, int x, int y, int c)
{
    return (int)tutti_rng_below(9, (uint64_t)(y * PNG_WIDTH + x), (uint64_t)c, 1u << how->bits);
}

/* Its red, green or blue, from the stored values alone. */
static int expected_value(const png_storage *how, int x, int y, int c)
{
    int is_grey = !(how->type & PNG_COLOR_MASK_COLOR);
    int stored = stored_value(how, x, y, is_grey || how->type == PNG_COLOR_TYPE_PALETTE ? 0 : c);
    if (how->type == PNG_COLOR_TYPE_PALETTE) return (stored * 37 + c * 91) & 255;
    return how->bits == 16 ? stored >> 8 : stored * 255 / ((1 << how->bits) - 1);
}

static void append_bytes(png_structp writer, png_bytep bytes, png_size_t count)
{
    fake *to = png_get_io_ptr(writer);
    to->bytes = realloc((void *)to->bytes, to->count + count);
    ck_assert_ptr_nonnull(to->bytes);
    memcpy((uint8_t *)to->bytes + to->count, bytes, count);
    to->count += count;
}

/* Transparency, and claims about the colours' meaning that would change them. */
static void describe(const png_storage *how, png_structp writer, png_infop about)
{
    static uint8_t alpha[] = {0, 100};
    png_color_16 clear = {.gray = 1, .red = 1};
    png_color palette[256];
    for (int i = 0; i < 256; i++)
        palette[i] =
            (png_color){(png_byte)(i * 37), (png_byte)(i * 37 + 91), (png_byte)(i * 37 + 182)};
    if (how->type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(writer, about, palette, 1 << how->bits);
    if (how->transparent)
        png_set_tRNS(writer, about, alpha, how->type == PNG_COLOR_TYPE_PALETTE ? 2 : 0, &clear);
    if (how->colours == 1) {
        png_set_gAMA_fixed(writer, about, 100000);
        png_set_cHRM_fixed(writer, about, 34570, 35850, 68000, 32000, 26500, 69000, 15000, 6000);
    } else if (how->colours == 2) {
        png_set_sRGB(writer, about, PNG_sRGB_INTENT_SATURATION);
    }
}

static fake write_png(const png_storage *how)
{
    fake made = {0};
    png_structp writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop about = png_create_info_struct(writer);
    uint8_t row[PNG_WIDTH * 8];
    png_set_write_fn(writer, &made, append_bytes, NULL);
    png_set_IHDR(writer, about, PNG_WIDTH, PNG_HEIGHT, how->bits, how->type,
        how->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    describe(how, writer, about);
    png_write_info(writer, about);
    int channels = png_get_channels(writer, about);
    png_set_packing(writer);
    for (int pass = 0, passes = png_set_interlace_handling(writer); pass < passes; pass++)
        for (int y = 0; y < PNG_HEIGHT; y++) {
            for (int x = 0, at = 0; x < PNG_WIDTH; x++)
                for (int c = 0; c < channels; c++) {
                    int stored = stored_value(how, x, y, c);
                    if (how->bits == 16) row[at++] = (uint8_t)(stored >> 8);
                    row[at++] = (uint8_t)stored;
                }
            png_write_row(writer, row);
        }
    png_write_end(writer, about);
    png_destroy_write_struct(&writer, &about);
    return made;
}

/* Inserts a chunk; at 33 it follows the header. The checksum is right unless `damaged`. */
static fake with_chunk(
    fake *png, size_t at, const char *type, const uint8_t *contents, size_t count, int damaged)
{
    fake made = {malloc(png->count + count + 12), png->count + count + 12};
    uint8_t *to = (uint8_t *)made.bytes;
    ck_assert_ptr_nonnull(to);
    memcpy(to, png->bytes, at);
    png_save_uint_32(to + at, (png_uint_32)count);
    memcpy(to + at + 4, type, 4);
    memcpy(to + at + 8, contents, count);
    uLong sum = crc32(crc32(0, NULL, 0), to + at + 4, (uInt)count + 4);
    png_save_uint_32(to + at + 8 + count, (png_uint_32)sum ^ (unsigned)damaged);
    memcpy(to + at + 12 + count, png->bytes + at, png->count - at);
    return made;
}

/* *orientation: as the file has it. */
static void read_png(const fake *f, uint8_t *pixels, int *orientation)
{
    tutti_png png;
    int width, height;
    tutti_status status = tutti_png_begin(&png, f->bytes, f->count, &width, &height, orientation);
    ck_assert_msg(!status && width == PNG_WIDTH && height == PNG_HEIGHT, "%s", png.fault);
    status = tutti_png_decode(&png, pixels);
    ck_assert_msg(!status, "%s", png.fault);
    tutti_png_end(&png);
}

START_TEST(a_png_is_read_as_it_is_stored)
{
    const png_storage *how = &png_stored[_i];
    static uint8_t pixels[PNG_WIDTH * PNG_HEIGHT * C];
    static const uint8_t profile[] = "a name\0\0no profile";
    fake f = write_png(how), g = with_chunk(&f, 33, "iCCP", profile, sizeof profile, 0),
         h = with_chunk(&f, 33, "gAMA", (const uint8_t *)"\0\1\x86\xa0", 4, 1);
    const fake *const files[] = {&f, &g, &h};
    for (int k = 0; k < 3; k++) {
        int orientation;
        read_png(files[k], pixels, &orientation);
        ck_assert_int_eq(orientation, 1);
        for (int i = 0; i < PNG_WIDTH * PNG_HEIGHT * C; i++) {
            int x = i / C % PNG_WIDTH, y = i / C / PNG_WIDTH;
            ck_assert_msg(pixels[i] == expected_value(how, x, y, i % C), "%s: %d,%d is %d",
                how->name, x, y, pixels[i]);
        }
        free((void *)files[k]->bytes);
    }
}
END_TEST

/* eXIf may be anywhere, and its checksum counts. */
START_TEST(a_png_is_oriented)
{
    enum { AFTER_HEADER = 33, END_CHUNK = 12 };
    static uint8_t pixels[PNG_WIDTH * PNG_HEIGHT * C];
    const uint8_t exif[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0,
        (uint8_t)(_i + 1), 0, 0, 0, 0, 0, 0};
    fake f = write_png(&png_stored[7]);
    for (int k = 0; k < 3; k++) {
        fake g = with_chunk(
            &f, k == 1 ? f.count - END_CHUNK : AFTER_HEADER, "eXIf", exif, sizeof exif, k == 2);
        int orientation, width, height, turned = k < 2 && _i + 1 >= 5;
        read_png(&g, pixels, &orientation);
        ck_assert_int_eq(orientation, k < 2 ? _i + 1 : 1);
        tutti_decoder *decoder;
        const uint8_t *all;
        tutti_sample sample = {
            .kind = TUTTI_SAMPLE_FILE, .bytes = (uint8_t *)g.bytes, .count = g.count};
        ck_assert_ok(tutti_decoder_new(&decoder));
        ck_assert_ok(tutti_decoder_shrink(decoder, &sample, PNG_HEIGHT, &all, &width, &height));
        ck_assert_int_eq(width, turned ? PNG_HEIGHT : PNG_WIDTH);
        ck_assert_int_eq(height, turned ? PNG_WIDTH : PNG_HEIGHT);
        static uint8_t upright[PNG_WIDTH * PNG_HEIGHT * C];
        tutti_exif_orient(orientation, PNG_WIDTH, PNG_HEIGHT, C, pixels, upright);
        ck_assert_mem_eq(all, upright, sizeof upright);
        tutti_decoder_free(decoder);
        free((void *)g.bytes);
    }
    free((void *)f.bytes);
}
END_TEST

static const struct {
    const char *bytes;
    size_t count;
    const char *words;
} others[] = {
    {"RIFF\x10\0\0\0WEBPVP8 ", 16, "a WebP picture"},
    {"GIF87a\1\0", 8, "a GIF"},
    {"\0\0\0\x18"
     "ftypheic",
        12, "a HEIC picture"},
    {"\0\0\0\x18"
     "ftypavif",
        12, "an AVIF picture"},
    {"\0\0\0\x18"
     "ftypmif1",
        12, "HEIC or AVIF"},
    {"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", 18, "a BMP"},
    {"II*\0\x08\0\0\0", 8, "a TIFF"},
    {"MM\0*\0\0\0\x08", 8, "a TIFF"},
    {"\n <!DOCTYPE HTML><p>", 20, "an HTML page, no picture: the download failed"},
    {"<html>", 6, "an HTML page"},
    {"\xef\xbb\xbf<html>", 9, "an HTML page"},
    {"404 not found", 13, "is text, no picture: the download failed"},
    {"version https://git-lfs.github.com/spec/v1", 42, "git lfs pull"},
    {"P6\n4 4\n255\n", 11, "a PNM"},
    {"%PDF-1.4", 8, "a PDF"},
    {"\0\0\0\0", 4, "nothing but zeros"},
    {"\x89PNX\r\n\x1a\n", 8, "damaged or of an unknown kind"},
    {"\0\5\x16\7\0\2", 6, "AppleDouble"},
};

START_TEST(other_files_are_named)
{
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const char *advice =
            tutti_other_file_advice((const uint8_t *)others[k].bytes, others[k].count);
        ck_assert_msg(
            advice && strstr(advice, others[k].words), "%s instead of %s", advice, others[k].words);
        ck_assert_int_le(strlen(advice), 120);
    }
    ck_assert_ptr_null(tutti_other_file_advice((const uint8_t *)"\xff\xd8", 2));
}
END_TEST

static void refuse(tutti_decoder *decoder, fake *f, const char *word)
{
    tutti_dataset d = dataset_of(f);
    const tutti_view_choice centre = {0};
    uint8_t out[SIDE * SIDE * C];
    int32_t label = 77;
    fixture_capture();
    tutti_status status = tutti_decoder_make(decoder, &d, &centre, 3, out, &label);
    const char *logged = fixture_uncapture();
    ck_assert_str_eq(logged, ""); /* only the caller knows whether it is an error */
    ck_assert_int_eq(status, TUTTI_ERR_FORMAT);
    ck_assert_int_eq(label, 77);
    ck_assert_ptr_nonnull(strstr(tutti_decoder_fault(decoder), "image 3: "));
    ck_assert_msg(strstr(tutti_decoder_fault(decoder), word) != NULL, "%s instead of %s",
        tutti_decoder_fault(decoder), word);
}

START_TEST(damaged_files_have_a_fault)
{
    tutti_decoder *decoder;
    size_t count, png_count;
    uint8_t *bytes = make_jpeg(90, 70, 1, 1, &count), *png = make_png(90, 70, 0, &png_count);
    ck_assert_ok(tutti_decoder_new(&decoder));
    refuse(decoder, &(fake){NULL, 0}, "0 bytes");
    refuse(decoder, &(fake){(const uint8_t *)"GIF89a, perhaps", 15}, "is a GIF");
    refuse(decoder, &(fake){bytes, count / 3}, "corrupt JPEG");
    refuse(decoder, &(fake){png, png_count / 2}, "corrupt PNG");
    refuse(decoder, &(fake){png, 30}, "corrupt PNG");
    png[18] = 0xff; /* the width, and with it the checksum */
    refuse(decoder, &(fake){png, png_count}, "corrupt PNG");
    tutti_decoder_free(decoder);
    free(bytes);
    free(png);
}
END_TEST

/* A build without libwebp says what the file is. */
START_TEST(a_webp_is_read_as_stored)
{
    enum { WIDTH = 12, HEIGHT = 16 };
    static uint8_t stored[WIDTH * HEIGHT * C], upright[WIDTH * HEIGHT * C];
    const fake f = {fixture_webp, sizeof fixture_webp};
    tutti_sample sample = {
        .kind = TUTTI_SAMPLE_FILE, .bytes = (uint8_t *)f.bytes, .count = f.count};
    tutti_decoder *decoder;
    const uint8_t *all;
    int width, height;
    ck_assert_ok(tutti_decoder_new(&decoder));
    if (!tutti_webp_reads()) {
        refuse(decoder, &(fake){f.bytes, f.count}, "is a WebP picture; this build has no libwebp");
        tutti_decoder_free(decoder);
        return;
    }
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            uint8_t *p = stored + (y * WIDTH + x) * C;
            p[0] = (uint8_t)(10 * x);
            p[1] = (uint8_t)(12 * y);
            p[2] = (uint8_t)(5 * (x + y));
        }
    ck_assert_ok(tutti_decoder_shrink(decoder, &sample, WIDTH, &all, &width, &height));
    ck_assert_int_eq(width, HEIGHT);
    ck_assert_int_eq(height, WIDTH);
    tutti_exif_orient(6, WIDTH, HEIGHT, C, stored, upright);
    ck_assert_mem_eq(all, upright, sizeof upright);
    refuse(decoder, &(fake){f.bytes, f.count / 2}, "corrupt WebP: its pixels");
    refuse(decoder, &(fake){f.bytes, 20}, "corrupt WebP: its header");
    refuse(decoder, &(fake){fixture_webp_animation, sizeof fixture_webp_animation},
        "is an animation (WebP)");
    tutti_decoder_free(decoder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode");
    TCase *tcase = testing_case(suite, "decode");
    tcase_add_test(tcase, a_webp_is_read_as_stored);
    tcase_add_loop_test(tcase, a_view_is_that_of_the_whole_picture, 0, 8);
    tcase_add_loop_test(tcase, shrinking_in_the_inverse_dct_is_close, 0, 8);
    tcase_add_loop_test(tcase, colours_of_a_view_are_jittered, 0, 2);
    tcase_add_loop_test(tcase, a_png_is_known_by_its_bytes, 0, 2);
    tcase_add_loop_test(tcase, a_png_is_read_as_it_is_stored, 0, PNG_STORED);
    tcase_add_loop_test(tcase, a_png_is_oriented, 0, 8);
    tcase_add_test(tcase, other_files_are_named);
    tcase_add_test(tcase, damaged_files_have_a_fault);
    return testing_run(suite);
}
