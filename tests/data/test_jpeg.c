/* apps/data: a window of a JPEG is cut out of the whole picture, bit for bit; and Exif. */
#include "apps/data/exif.h"
#include "apps/data/jpeg.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <jpeglib.h>

enum { WIDTH = 203, HEIGHT = 149, CHANNELS = 3 };

/* How a picture is stored. */
typedef struct storage {
    const char *name;
    int across, down; /* pixels per chroma sample */
    int progressive, components;
} storage;

static const storage stored[] = {
    {"4:4:4", 1, 1, 0, 3},
    {"4:2:2", 2, 1, 0, 3},
    {"4:2:0", 2, 2, 0, 3},
    {"4:4:0", 1, 2, 0, 3},
    {"4:1:1", 4, 1, 0, 3},
    {"4:2:0, progressive", 2, 2, 1, 3},
    {"grey", 1, 1, 0, 1},
    {"CMYK", 1, 1, 0, 4},
};
enum { STORED = sizeof stored / sizeof *stored };

/* Random blocks of colour, so that chroma has edges. The caller frees it. */
static uint8_t *make_jpeg(const storage *how, size_t *count)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    uint8_t row[WIDTH * 4];
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &size);
    c.image_width = WIDTH;
    c.image_height = HEIGHT;
    c.input_components = how->components;
    c.in_color_space = how->components == 1   ? JCS_GRAYSCALE
                       : how->components == 3 ? JCS_RGB
                                              : JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    c.comp_info[0].h_samp_factor = how->across;
    c.comp_info[0].v_samp_factor = how->down;
    if (how->progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++)
            for (int k = 0; k < how->components; k++)
                row[x * how->components + k] =
                    (uint8_t)tutti_rng_below(3, (uint64_t)(y / 5 * 64 + x / 3), (uint64_t)k, 256);
        JSAMPROW rows[] = {row};
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *count = size;
    return bytes;
}

static void decode(tutti_jpeg *jpeg, const uint8_t *bytes, size_t count,
    const tutti_jpeg_window *window, uint8_t *pixels)
{
    int width, height, orientation;
    ck_assert_ok(tutti_jpeg_begin(jpeg, bytes, count, &width, &height, &orientation));
    ck_assert(width == WIDTH && height == HEIGHT && orientation == 1);
    ck_assert_msg(!tutti_jpeg_decode(jpeg, window, pixels), "%s", tutti_jpeg_fault(jpeg));
}

START_TEST(a_window_is_cut_out_of_the_picture)
{
    const storage *how = &stored[_i / 4];
    int shrink = 1 << _i % 4, width = (WIDTH + shrink - 1) / shrink,
        height = (HEIGHT + shrink - 1) / shrink;
    static uint8_t whole[WIDTH * HEIGHT * CHANNELS], part[WIDTH * HEIGHT * CHANNELS];
    size_t count;
    uint8_t *bytes = make_jpeg(how, &count);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    tutti_jpeg_window all = {.shrink = shrink, .width = width, .height = height};
    decode(jpeg, bytes, count, &all, whole);
    uint64_t seed = testing_seed(5);
    for (uint64_t n = 0; n < 60; n++) {
        tutti_jpeg_window w = {.shrink = shrink};
        w.x = (int)tutti_rng_below(seed, n, 0, (uint64_t)width);
        w.y = (int)tutti_rng_below(seed, n, 1, (uint64_t)height);
        w.width = 1 + (int)tutti_rng_below(seed, n, 2, (uint64_t)(width - w.x));
        w.height = 1 + (int)tutti_rng_below(seed, n, 3, (uint64_t)(height - w.y));
        decode(jpeg, bytes, count, &w, part);
        for (int y = 0; y < w.height; y++)
            ck_assert_msg(
                !memcmp(part + y * w.width * CHANNELS, whole + ((w.y + y) * width + w.x) * CHANNELS,
                    (size_t)w.width * CHANNELS),
                "%s at 1/%d: row %d of %dx%d at %d,%d differs", how->name, shrink, y, w.width,
                w.height, w.x, w.y);
    }
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) &&                                                              \
    !defined(__SANITIZE_THREAD__) /* whose malloc ends the program instead */
/* A progressive picture keeps all its coefficients: these need 150 MB, more than there is. */
START_TEST(no_memory_is_no_damage)
{
    enum { SIDE = 5000, MORE = 32 << 20, PAGE = 4096 };
    size_t count, at = 0;
    long pages = 0;
    int width, height, orientation;
    uint8_t *bytes = make_jpeg(&stored[5], &count), pixels[16 * 16 * CHANNELS];
    tutti_jpeg *jpeg;
    struct rlimit usual;
    while (bytes[at] != 0xff || bytes[at + 1] != 0xc2) at++; /* the header of its frame */
    for (int k = 0; k < 2; k++)
        bytes[at + 5 + 2 * (size_t)k] = SIDE >> 8, bytes[at + 6 + 2 * (size_t)k] = SIDE & 0xff;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    ck_assert_ok(tutti_jpeg_begin(jpeg, bytes, count, &width, &height, &orientation));
    ck_assert(width == SIDE && height == SIDE);
    FILE *mine = fopen("/proc/self/statm", "re");
    ck_assert(mine && fscanf(mine, "%ld", &pages) == 1);
    fclose(mine);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
    const struct rlimit less = {(rlim_t)pages * PAGE + MORE, usual.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &less), 0);
    const tutti_jpeg_window w = {.shrink = 1, .width = 16, .height = 16};
    const tutti_status status = tutti_jpeg_decode(jpeg, &w, pixels);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &usual), 0);
    ck_assert_int_eq(status, TUTTI_ERR_NOMEM);
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST
#endif

/* The decompressor is as new after a picture that was damaged, or not decoded to its end. */
START_TEST(a_failure_leaves_nothing_behind)
{
    static uint8_t first[WIDTH * HEIGHT * CHANNELS], again[WIDTH * HEIGHT * CHANNELS];
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    int width, height, orientation;
    size_t count;
    uint8_t *bytes = make_jpeg(&stored[2], &count);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    decode(jpeg, bytes, count, &all, first);
    for (size_t keep = 0; keep < count; keep += 101) {
        int begun = tutti_jpeg_begin(jpeg, bytes, keep, &width, &height, &orientation);
        if (!begun) begun = tutti_jpeg_decode(jpeg, &all, again);
        ck_assert_int_eq(begun, TUTTI_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(tutti_jpeg_fault(jpeg), "corrupt JPEG"));
    }
    decode(jpeg, bytes, count, &all, again);
    ck_assert_mem_eq(first, again, sizeof first);
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST

enum { JFIF_AT = 2, JFIF_END = 20, JFIF_REVISION = 11, EOI_BYTES = 2 };

/* Bytes from..to of a file become others. */
typedef struct splice {
    const char *name;
    int from, to; /* from the end if negative */
    uint8_t bytes[16];
    size_t count;
} splice;

static const splice harmless[] = {
    {"bytes before the tables", JFIF_END, JFIF_END, {0, 7, 0}, 3},
    {"bytes before the end", -EOI_BYTES, -EOI_BYTES, {0, 7, 0, 0}, 4},
    {"a transform of Adobe's", JFIF_AT, JFIF_END,
        {0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 9}, 16},
    {"no end", -EOI_BYTES, -1, {0}, 0},
    {"a revision of JFIF", JFIF_REVISION, JFIF_REVISION + 1, {3}, 1},
};
enum { HARMLESS = sizeof harmless / sizeof *harmless };

static const splice damaged[] = {
    {"half of the data, and an end", -9000, -EOI_BYTES, {0}, 0},
    {"bits that are no code", -2000, -1984,
        {0xfe, 0xfe, 0xfe, 0xfe, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0}, 16},
};
enum { DAMAGED = sizeof damaged / sizeof *damaged };

/* The caller frees it. */
static uint8_t *make_spliced(const splice *s, size_t *count)
{
    uint8_t *bytes = make_jpeg(&stored[2], count), *out = malloc(*count + sizeof s->bytes);
    size_t from = s->from < 0 ? *count - (size_t)-s->from : (size_t)s->from,
           to = s->to < 0 ? *count - (size_t)-s->to : (size_t)s->to;
    ck_assert(from <= to && to <= *count);
    memcpy(out, bytes, from);
    memcpy(out + from, s->bytes, s->count);
    memcpy(out + from + s->count, bytes + to, *count - to);
    *count -= to - from - s->count;
    free(bytes);
    return out;
}

/* Every pixel is as without them. */
START_TEST(harmless_warnings_are_no_damage)
{
    static uint8_t whole[WIDTH * HEIGHT * CHANNELS], warned[WIDTH * HEIGHT * CHANNELS];
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    size_t count, spliced_count;
    uint8_t *bytes = make_jpeg(&stored[2], &count),
            *spliced = make_spliced(&harmless[_i], &spliced_count);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    decode(jpeg, bytes, count, &all, whole);
    decode(jpeg, spliced, spliced_count, &all, warned);
    ck_assert_mem_eq(whole, warned, sizeof whole);
    tutti_jpeg_free(jpeg);
    free(spliced);
    free(bytes);
}
END_TEST

START_TEST(warnings_of_damage_are_failures)
{
    static uint8_t pixels[WIDTH * HEIGHT * CHANNELS];
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    int width, height, orientation;
    size_t count;
    uint8_t *bytes = make_spliced(&damaged[_i], &count);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    ck_assert_ok(tutti_jpeg_begin(jpeg, bytes, count, &width, &height, &orientation));
    ck_assert_msg(tutti_jpeg_decode(jpeg, &all, pixels) == TUTTI_ERR_FORMAT, "%s is accepted",
        damaged[_i].name);
    printf("%s: %s\n", damaged[_i].name, tutti_jpeg_fault(jpeg));
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST

/* What may follow a picture, with the mark of its end or without. */
static const struct {
    const char *name;
    uint8_t bytes[24];
    size_t count;
} trailers[] = {
    {"nothing", {0}, 0},
    {"zeros", {0}, 24},
    {"text", "SEFH, a camera's trailer", 24},
    {"half a mark", {0xff}, 1},
    {"filling bytes", {0xff, 0xff, 0xff}, 3},
    {"the mark of a beginning", {0xff, 0xd8, 0xff, 0xe1, 0, 8, 'E', 'x', 'i', 'f', 0, 0}, 12},
    {"an unknown mark", {0xff, 0x02, 0xff, 0xc0, 0xff, 0xff}, 6},
    {"a segment that goes beyond the end", {0xff, 0xe1, 0xff, 0xff, 1, 2, 3}, 7},
};
enum { TRAILERS = sizeof trailers / sizeof *trailers };

START_TEST(whatever_follows_a_picture_does_no_harm)
{
    const storage *how = &stored[_i / 2];
    static uint8_t whole[WIDTH * HEIGHT * CHANNELS], again[WIDTH * HEIGHT * CHANNELS];
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    size_t count;
    uint8_t *bytes = make_jpeg(how, &count), *longer = malloc(2 * count + sizeof trailers[0].bytes);
    size_t end = count - (_i % 2 ? EOI_BYTES : 0);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    decode(jpeg, bytes, count, &all, whole);
    memcpy(longer, bytes, count);
    for (int t = 0; t <= TRAILERS; t++) {
        size_t more = t == TRAILERS ? count : trailers[t].count; /* at last, a second picture */
        memcpy(longer + end, t == TRAILERS ? bytes : trailers[t].bytes, more);
        decode(jpeg, longer, end + more, &all, again);
        ck_assert_msg(!memcmp(whole, again, sizeof whole), "%s, end mark %s, then %s: differs",
            how->name, _i % 2 ? "missing" : "there", t < TRAILERS ? trailers[t].name : "another");
    }
    tutti_jpeg_free(jpeg);
    free(longer);
    free(bytes);
}
END_TEST

/* A file that was cut, or whose last part was never written. */
START_TEST(a_picture_that_lacks_rows_is_refused)
{
    const storage *how = &stored[_i];
    static uint8_t pixels[WIDTH * HEIGHT * CHANNELS];
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    int width, height, orientation;
    size_t count;
    uint8_t *bytes = make_jpeg(how, &count);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    for (int zeros = 1; zeros >= 0; zeros--)
        for (size_t keep = count - (zeros ? 60 : 12); keep > 700;
             keep -= keep > count - 40 ? 1 : 997) {
            if (zeros) memset(bytes + keep, 0, count - keep);
            tutti_status status =
                tutti_jpeg_begin(jpeg, bytes, zeros ? count : keep, &width, &height, &orientation);
            if (!status) status = tutti_jpeg_decode(jpeg, &all, pixels);
            ck_assert_msg(status == TUTTI_ERR_FORMAT, "%s: %zu of %zu bytes%s are accepted",
                how->name, keep, count, zeros ? ", then zeros," : "");
            if (keep < 1700) break;
        }
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST

/* Progressive pictures that end between two of their scans look whole, but are coarse. */
START_TEST(a_picture_that_lacks_scans_is_refused)
{
    enum { SOS = 0xda };
    static uint8_t pixels[WIDTH * HEIGHT * CHANNELS];
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    int width, height, orientation, scans = 0;
    size_t count;
    uint8_t *bytes = make_jpeg(&stored[5], &count);
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    for (size_t at = 0; at + 1 < count; at++) {
        if (bytes[at] != 0xff || bytes[at + 1] != SOS || !scans++) continue;
        ck_assert_ok(tutti_jpeg_begin(jpeg, bytes, at, &width, &height, &orientation));
        ck_assert_int_eq(tutti_jpeg_decode(jpeg, &all, pixels), TUTTI_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(tutti_jpeg_fault(jpeg), "before its last scan"));
    }
    ck_assert_int_ge(scans, 6);
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST

/* The fields of the scan that only progressive files use. */
START_TEST(progressive_fields_of_a_sequential_file_are_ignored)
{
    static uint8_t whole[WIDTH * HEIGHT * CHANNELS], warned[WIDTH * HEIGHT * CHANNELS];
    static const uint8_t scan[] = {0xff, 0xda, 0, 12, 3};
    enum { LAST_COEFFICIENT = 12 };
    tutti_jpeg_window all = {.shrink = 1, .width = WIDTH, .height = HEIGHT};
    size_t count;
    uint8_t *bytes = make_jpeg(&stored[2], &count), *at = bytes;
    tutti_jpeg *jpeg;
    ck_assert_ok(tutti_jpeg_new(&jpeg));
    decode(jpeg, bytes, count, &all, whole);
    while (memcmp(at, scan, sizeof scan)) at++; /* there is one */
    ck_assert_int_eq(at[LAST_COEFFICIENT], 63);
    at[LAST_COEFFICIENT] = 62;
    decode(jpeg, bytes, count, &all, warned);
    ck_assert_mem_eq(whole, warned, sizeof whole);
    tutti_jpeg_free(jpeg);
    free(bytes);
}
END_TEST

/* Exif as cameras write it, most and least significant byte first. */
START_TEST(orientations_are_read)
{
    uint8_t big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2, 1, 0, 0, 3, 0, 0, 0, 1, 0, 7, 0, 0, 1, 0x12,
        0, 3, 0, 0, 0, 1, 0, 0, 0, 0};
    uint8_t little[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    for (int o = 0; o < 12; o++) {
        int expected = o >= 1 && o <= 8 ? o : 1;
        big[31] = little[18] = (uint8_t)o;
        ck_assert_int_eq(tutti_exif_orientation(big, sizeof big), expected);
        ck_assert_int_eq(tutti_exif_orientation(little, sizeof little), expected);
    }
    big[31] = little[18] = 0;
    for (int type = 1; type <= 4; type++) { /* BYTE, text, SHORT, LONG */
        static const int at[] = {0, 30, 0, 31, 33};
        uint8_t headed[6 + sizeof big] = "Exif";
        memset(big + 30, 0, 4);
        big[25] = little[12] = (uint8_t)type;
        little[18] = 6;
        if (at[type]) big[at[type]] = 6;
        int expected = at[type] ? 6 : 1;
        ck_assert_int_eq(tutti_exif_orientation(big, sizeof big), expected);
        ck_assert_int_eq(tutti_exif_orientation(little, sizeof little), expected);
        memcpy(headed + 6, big, sizeof big);
        ck_assert_int_eq(tutti_exif_orientation(headed, sizeof headed), expected);
    }
    little[12] = 3;
    for (size_t keep = 0; keep < 19; keep++)
        ck_assert_int_eq(tutti_exif_orientation(little, keep), 1);
    memset(little + 4, 0xff, 4); /* a folder beyond the end */
    ck_assert_int_eq(tutti_exif_orientation(little, sizeof little), 1);
}
END_TEST

/* 2x3 pixels, turned as Pillow 9.4's ImageOps.exif_transpose does. */
START_TEST(pictures_are_oriented)
{
    static const char *const upright[] = {
        "abcdef", "badcfe", "fedcba", "efcdab", "acebdf", "ecafdb", "fdbeca", "bdface"};
    for (int o = 1; o <= 8; o++) {
        char out[7] = "";
        tutti_exif_orient(o, 2, 3, 1, (const uint8_t *)"abcdef", (uint8_t *)out);
        ck_assert_str_eq(out, upright[o - 1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jpeg");
    TCase *tcase = testing_case(suite, "jpeg");
    tcase_add_loop_test(tcase, a_window_is_cut_out_of_the_picture, 0, 4 * STORED);
    tcase_add_test(tcase, a_failure_leaves_nothing_behind);
    tcase_add_loop_test(tcase, harmless_warnings_are_no_damage, 0, HARMLESS);
    tcase_add_loop_test(tcase, warnings_of_damage_are_failures, 0, DAMAGED);
    tcase_add_loop_test(tcase, whatever_follows_a_picture_does_no_harm, 0, 2 * STORED);
    tcase_add_loop_test(tcase, a_picture_that_lacks_rows_is_refused, 0, STORED);
    tcase_add_test(tcase, a_picture_that_lacks_scans_is_refused);
    tcase_add_test(tcase, progressive_fields_of_a_sequential_file_are_ignored);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tcase, no_memory_is_no_damage);
#endif
    tcase_add_test(tcase, orientations_are_read);
    tcase_add_test(tcase, pictures_are_oriented);
    return testing_run(suite);
}
