#include "apps/data/jpeg.h"

#include "apps/data/exif.h"
#include "apps/data/formats.h"
#include "dag/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>
#include <setjmp.h>

/* Progressive files may have any number of scans, each a pass over the whole picture; real ones
 * have about ten. */
enum { SCANS_MAX = 100, CHANNELS = 3, INKS = 4 };
/* What libjpeg may allocate for one picture: a progressive one keeps all its coefficients. */
enum { MEMORY_MAX = 512 << 20 };
/* Chroma samples are interpolated between their neighbours, so pixels at the border of what is
 * decoded come out differently. */
enum { MARGIN = 16 };
enum { EXIF_MARKER = JPEG_APP0 + 1, MARKER_MAX = 0xffff };

/* libjpeg's objects, and the target of its error jumps. The jump crosses only libjpeg's frames; afterwards its setter
 * reads nothing but this struct. */
struct tutti_jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    uint8_t *row; /* a decoded row, from libjpeg's pool */
    int ended;    /* libjpeg has asked for bytes beyond the end */
    int starved;  /* it got no memory: the picture may be right */
    char fault[JMSG_LENGTH_MAX + 64];
};

static _Noreturn void fail(tutti_jpeg *jpeg, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Noreturn void fail(tutti_jpeg *jpeg, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(jpeg->fault, sizeof jpeg->fault, format, args);
    va_end(args);
    longjmp(jpeg->failed, 1);
}

static _Noreturn void on_error(j_common_ptr common)
{
    char words[JMSG_LENGTH_MAX];
    common->err->format_message(common, words);
    ((tutti_jpeg *)common->client_data)->starved = common->err->msg_code == JERR_OUT_OF_MEMORY;
    fail(common->client_data, "corrupt JPEG: %s", words);
}

/* All other warnings are damage, also those that a later libjpeg adds. Extraneous bytes at the end of the data may be
 * the only sign of a flipped bit, too; but they are mostly a habit of the program that wrote the file. */
static int is_harmless(int warning)
{
    switch (warning) {
    case JWRN_ADOBE_XFORM: /* the components then have their usual meaning */
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL: /* fields that only progressive files use */
        return 1;
    default:
        return 0;
    }
}

static void on_message(j_common_ptr common, int level)
{
    tutti_jpeg *jpeg = common->client_data;
    if (level >= 0) return; /* a warning is below 0 */
    /* libjpeg reads ahead, and continues as if the end mark followed: a bit that is missing in truth
     * is another warning. */
    if (common->err->msg_code == JWRN_JPEG_EOF)
        jpeg->ended = 1;
    else if (!is_harmless(common->err->msg_code))
        on_error(common); /* the data is damaged, and libjpeg would guess */
}

static void on_progress(j_common_ptr common)
{
    tutti_jpeg *jpeg = common->client_data;
    if (jpeg->cinfo.input_scan_number > SCANS_MAX)
        fail(jpeg, "corrupt JPEG: it has more than %d scans", SCANS_MAX);
}

tutti_status tutti_jpeg_new(tutti_jpeg **jpeg)
{
    tutti_jpeg *j = calloc(1, sizeof *j);
    if (!j) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to decode images");
    j->cinfo.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = on_error;
    j->errors.emit_message = on_message;
    j->progress.progress_monitor = on_progress;
    j->cinfo.client_data = j;
    if (setjmp(j->failed)) {
        free(j);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to decode images");
    }
    jpeg_create_decompress(&j->cinfo);
    j->cinfo.mem->max_memory_to_use = MEMORY_MAX;
    j->cinfo.progress = &j->progress;
    jpeg_save_markers(&j->cinfo, EXIF_MARKER, MARKER_MAX);
    *jpeg = j;
    return TUTTI_OK;
}

void tutti_jpeg_free(tutti_jpeg *jpeg)
{
    if (!jpeg) return;
    jpeg_destroy_decompress(&jpeg->cinfo);
    free(jpeg);
}

const char *tutti_jpeg_fault(const tutti_jpeg *jpeg)
{
    return jpeg->fault;
}

static int find_orientation(const struct jpeg_decompress_struct *cinfo)
{
    static const char head[] =
        "Exif\0"; /* and the 0 that ends the string; XMP has the same marker */
    for (jpeg_saved_marker_ptr m = cinfo->marker_list; m; m = m->next)
        if (m->marker == EXIF_MARKER && m->data_length > sizeof head &&
            !memcmp(m->data, head, sizeof head))
            return tutti_exif_orientation(m->data, m->data_length);
    return 1;
}

/* Without the zeros that a file ends in, but for one, which may be data. In a download that was cut off
 * they are in the place of data, and would decode. */
static size_t without_zeros(const uint8_t *bytes, size_t count)
{
    while (count > 1 && !bytes[count - 1] && !bytes[count - 2]) count--;
    return count;
}

/* Whether these bytes are a segment that may lie between two scans; *length: its bytes. */
static int is_between_scans(const uint8_t *at, size_t count, size_t *length)
{
    enum { DHT = 0xc4, DAC = 0xcc, SOS = 0xda, DQT = 0xdb, DNL = 0xdc, DRI = 0xdd, COM = 0xfe };
    static const uint8_t known[] = {DHT, DAC, SOS, DQT, DNL, DRI, COM};
    enum { HEAD = 4 };
    if (count < HEAD) return 0;
    *length = 2 + ((size_t)at[2] << 8 | at[3]);
    return *length >= HEAD && *length <= count &&
           (memchr(known, at[1], sizeof known) || (at[1] & 0xf0) == JPEG_APP0);
}

/* From the data of the first scan to the end of the picture, its mark included if it has one. */
static size_t picture_bytes(const uint8_t *bytes, size_t count)
{
    enum { MARK = 2 };
    for (size_t at = 0; count - at >= MARK;) {
        const uint8_t *found = memchr(bytes + at, 0xff, count - at - 1);
        if (!found) break;
        size_t length = 0;
        at = (size_t)(found - bytes);
        int mark = found[1], is_data = !mark || (mark >= JPEG_RST0 && mark < JPEG_EOI - 1);
        if (mark == 0xff)
            at++;
        else if (is_data)
            at += MARK;
        else if (is_between_scans(found, count - at, &length))
            at += length;
        else
            return mark == JPEG_EOI ? at + MARK : at;
    }
    return count;
}

/* With several scans, libjpeg reads on until it finds the mark of the end: without one, it would take
 * what follows the picture, such as a second picture, for a part of it. */
static void hide_trailer(struct jpeg_source_mgr *src)
{
    src->bytes_in_buffer = picture_bytes(src->next_input_byte, src->bytes_in_buffer);
}

static void read_header(tutti_jpeg *jpeg, const uint8_t *bytes, size_t count)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    jpeg->ended = 0;
    jpeg_mem_src(cinfo, bytes, without_zeros(bytes, count));
    jpeg_read_header(cinfo, TRUE);
    if (jpeg_has_multiple_scans(cinfo)) hide_trailer(cinfo->src);
    if ((int64_t)cinfo->image_width * cinfo->image_height > TUTTI_IMAGE_PIXELS_MAX)
        fail(jpeg, "is %ux%u pixels; an image can have %d million", cinfo->image_width,
            cinfo->image_height, TUTTI_IMAGE_PIXELS_MAX / 1000000);
}

tutti_status tutti_jpeg_begin(
    tutti_jpeg *jpeg, const uint8_t *bytes, size_t count, int *width, int *height, int *orientation)
{
    jpeg->fault[0] = '\0';
    jpeg->starved = 0;
    jpeg_abort_decompress(&jpeg->cinfo); /* whatever the last picture left */
    if (setjmp(jpeg->failed)) return jpeg->starved ? TUTTI_ERR_NOMEM : TUTTI_ERR_FORMAT;
    read_header(jpeg, bytes, count);
    *width = (int)jpeg->cinfo.image_width;
    *height = (int)jpeg->cinfo.image_height;
    *orientation = find_orientation(&jpeg->cinfo);
    return TUTTI_OK;
}

/* Adobe writes CMYK inverted: 255 is no ink. */
static void cmyk_to_rgb(const uint8_t *cmyk, int inverted, int width, uint8_t *rgb)
{
    for (int x = 0; x < width; x++, cmyk += INKS) {
        int k = inverted ? cmyk[3] : 255 - cmyk[3];
        for (int c = 0; c < CHANNELS; c++) {
            int paper = inverted ? cmyk[c] : 255 - cmyk[c];
            *rgb++ = (uint8_t)((paper * k + 127) / 255);
        }
    }
}

/* Sets the output's colours and size; returns the number of channels. */
static int set_output(tutti_jpeg *jpeg, int shrink)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    J_COLOR_SPACE space = cinfo->jpeg_color_space;
    int inks = space == JCS_CMYK || space == JCS_YCCK;
    if (!inks && space != JCS_GRAYSCALE && space != JCS_RGB && space != JCS_YCbCr)
        fail(jpeg,
            "a JPEG of %d components in an unknown colour space; only grey, RGB, YCbCr, CMYK and "
            "YCCK become RGB; convert it first",
            cinfo->num_components);
    cinfo->out_color_space = inks ? JCS_CMYK : JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->scale_num = 1;
    cinfo->scale_denom = (unsigned)shrink;
    return inks ? INKS : CHANNELS;
}

/* Decodes only the columns of the window and a margin: returns the first column, which libjpeg moves to the left. */
static int crop_columns(tutti_jpeg *jpeg, const tutti_jpeg_window *w)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    int all = (int)cinfo->output_width;
    int left = w->x > MARGIN ? w->x - MARGIN : 0;
    int right = w->x + w->width < all - MARGIN ? w->x + w->width + MARGIN : all;
    JDIMENSION first = (JDIMENSION)left, columns = (JDIMENSION)(right - left);
    if (columns == cinfo->output_width) return 0;
    jpeg_crop_scanline(cinfo, &first, &columns);
    return (int)first;
}

/* Whether all scans are there: a picture of several scans can end between two of them. */
static int has_all_scans(const struct jpeg_decompress_struct *cinfo)
{
    for (int c = 0; c < cinfo->num_components; c++) {
        if (!cinfo->comp_info[c].quant_table) return 0; /* no scan had it */
        for (int k = 0; cinfo->coef_bits && k < DCTSIZE2; k++)
            if (cinfo->coef_bits[c][k] != 0) return 0; /* -1, or how many bits are missing */
    }
    return 1;
}

/* After the last row. What follows is not read, so that nothing there can do harm: it need not be the
 * mark of the end. */
static void check_end(tutti_jpeg *jpeg)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    int is_cut = jpeg_has_multiple_scans(cinfo) && !has_all_scans(cinfo);
    /* an arithmetic decoder takes what is missing for zeros */
    if (jpeg->ended && (is_cut || cinfo->arith_code))
        fail(jpeg, "corrupt JPEG: it ends before its last scan");
}

static void read_pixels(tutti_jpeg *jpeg, const tutti_jpeg_window *w, uint8_t *pixels)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    int channels = set_output(jpeg, w->shrink);
    jpeg_start_decompress(cinfo);
    int first = crop_columns(jpeg, w);
    size_t row_bytes = (size_t)cinfo->output_width * (size_t)channels;
    jpeg->row = cinfo->mem->alloc_large((j_common_ptr)cinfo, JPOOL_IMAGE, row_bytes);
    const uint8_t *from = jpeg->row + (size_t)(w->x - first) * (size_t)channels;
    if (w->y > MARGIN) jpeg_skip_scanlines(cinfo, (JDIMENSION)(w->y - MARGIN));
    for (int y = (int)cinfo->output_scanline; y < w->y + w->height; y++) {
        uint8_t *to = pixels + (size_t)(y - w->y) * (size_t)w->width * CHANNELS;
        JSAMPROW rows[] = {jpeg->row};
        jpeg_read_scanlines(cinfo, rows, 1);
        if (y < w->y) continue;
        if (channels == INKS)
            cmyk_to_rgb(from, cinfo->saw_Adobe_marker, w->width, to);
        else
            memcpy(to, from, (size_t)w->width * CHANNELS);
    }
    if (cinfo->output_scanline == cinfo->output_height) check_end(jpeg);
}

tutti_status tutti_jpeg_decode(tutti_jpeg *jpeg, const tutti_jpeg_window *window, uint8_t *pixels)
{
    if (setjmp(jpeg->failed)) return jpeg->starved ? TUTTI_ERR_NOMEM : TUTTI_ERR_FORMAT;
    read_pixels(jpeg, window, pixels);
    return TUTTI_OK;
}
