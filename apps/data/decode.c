#include "apps/data/decode.h"

#include "apps/data/exif.h"
#include "apps/data/file.h"
#include "apps/data/formats.h"
#include "apps/data/jpeg.h"
#include "apps/data/other_file.h"
#include "apps/data/png.h"
#include "apps/data/resize.h"
#include "apps/data/webp.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 3, SHRINK_MOST = 8 };

/* Memory that grows. */
typedef struct buffer {
    uint8_t *bytes;
    size_t room;
} buffer;

typedef enum file_kind { JPEG, PNG, WEBP } file_kind;

struct tutti_decoder {
    tutti_sample sample;
    tutti_jpeg *jpeg;
    tutti_png png;
    tutti_webp webp;
    buffer stored, upright; /* pixels of an image file, as they are stored and turned */
    buffer shrunk;          /* a whole picture */
    buffer changed;         /* a copy of a view, while its pixels are changed */
    tutti_resize_memory resizing;
    /* Of the file that was looked at; its sides as they are stored. */
    file_kind kind;
    int width, height, orientation;
    char fault[TUTTI_SAMPLE_NAME + 300];
};

/* ---- memory ---- */

tutti_status tutti_sample_reserve(tutti_sample *sample, size_t count)
{
    if (count > sample->room) {
        uint8_t *bytes = realloc(sample->bytes, count);
        if (!bytes)
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an image of %zu bytes", count);
        sample->bytes = bytes;
        sample->room = count;
    }
    sample->count = count;
    return TUTTI_OK;
}

tutti_status tutti_sample_load(const char *path, tutti_sample *sample)
{
    tutti_data_file file = {0};
    tutti_status status = tutti_data_file_open(path, &file);
    if (status) return status;
    if (file.bytes > TUTTI_IMAGE_BYTES_MAX)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: %lld bytes cannot be an image of a data set",
            path, (long long)file.bytes);
    if (!status) status = tutti_sample_reserve(sample, (size_t)file.bytes);
    if (!status) status = tutti_data_file_read(&file, 0, sample->bytes, sample->count);
    tutti_data_file_close(&file);
    sample->kind = TUTTI_SAMPLE_FILE;
    snprintf(sample->name, sizeof sample->name, "%s", path);
    return status;
}

void tutti_sample_free(tutti_sample *sample)
{
    free(sample->bytes);
    *sample = (tutti_sample){0};
}

/* The contents are lost. */
static tutti_status reserve(buffer *b, int width, int height, int channels)
{
    size_t bytes =
        tutti_mem_product(tutti_mem_product((size_t)width, (size_t)height), (size_t)channels);
    if (bytes <= b->room) return TUTTI_OK;
    free(b->bytes);
    *b = (buffer){malloc(bytes), bytes};
    if (b->bytes) return TUTTI_OK;
    b->room = 0;
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an image of %dx%d pixels", width, height);
}

tutti_status tutti_decoder_new(tutti_decoder **decoder)
{
    tutti_decoder *d = calloc(1, sizeof *d);
    if (!d) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to decode images");
    tutti_status status = tutti_jpeg_new(&d->jpeg);
    if (status)
        free(d);
    else
        *decoder = d;
    return status;
}

void tutti_decoder_free(tutti_decoder *decoder)
{
    if (!decoder) return;
    tutti_jpeg_free(decoder->jpeg);
    tutti_png_end(&decoder->png);
    tutti_resize_free(&decoder->resizing);
    tutti_sample_free(&decoder->sample);
    free(decoder->stored.bytes);
    free(decoder->upright.bytes);
    free(decoder->shrunk.bytes);
    free(decoder->changed.bytes);
    free(decoder);
}

/* ---- faults ---- */

static tutti_status fault(tutti_decoder *d, const tutti_sample *sample, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static tutti_status fault(tutti_decoder *d, const tutti_sample *sample, const char *format, ...)
{
    va_list args;
    int used = snprintf(d->fault, sizeof d->fault, "%s: ", sample->name);
    va_start(args, format);
    vsnprintf(d->fault + used, sizeof d->fault - (size_t)used, format, args);
    va_end(args);
    return TUTTI_ERR_FORMAT;
}

/* What a library says of an image file; without memory, that is nothing about the file. */
static tutti_status refuse(
    tutti_decoder *d, const tutti_sample *sample, tutti_status status, const char *words)
{
    if (status == TUTTI_ERR_NOMEM)
        return tutti_fail(status, "%s: no memory to decode it", sample->name);
    return fault(d, sample, "%s", words);
}

const char *tutti_decoder_fault(const tutti_decoder *decoder)
{
    return decoder->fault;
}

/* ---- image files ---- */

static tutti_status look_at_png(tutti_decoder *d, const tutti_sample *sample)
{
    const tutti_status status = tutti_png_begin(
        &d->png, sample->bytes, sample->count, &d->width, &d->height, &d->orientation);
    return status ? refuse(d, sample, status, d->png.fault) : TUTTI_OK;
}

static tutti_status look_at_webp(tutti_decoder *d, const tutti_sample *sample)
{
    if (tutti_webp_begin(&d->webp, sample->bytes, sample->count))
        return fault(d, sample, "%s", d->webp.fault);
    if ((int64_t)d->webp.width * d->webp.height > TUTTI_IMAGE_PIXELS_MAX)
        return fault(d, sample, "is %dx%d pixels; an image can have %d million", d->webp.width,
            d->webp.height, TUTTI_IMAGE_PIXELS_MAX / 1000000);
    d->width = d->webp.width;
    d->height = d->webp.height;
    d->orientation = d->webp.orientation;
    return TUTTI_OK;
}

static tutti_status look_at_jpeg(tutti_decoder *d, const tutti_sample *sample)
{
    const char *advice = tutti_other_file_advice(sample->bytes, sample->count);
    if (advice) return fault(d, sample, "%s", advice);
    const tutti_status status = tutti_jpeg_begin(
        d->jpeg, sample->bytes, sample->count, &d->width, &d->height, &d->orientation);
    return status ? refuse(d, sample, status, tutti_jpeg_fault(d->jpeg)) : TUTTI_OK;
}

tutti_status tutti_decoder_look(
    tutti_decoder *d, const tutti_sample *sample, int *width, int *height)
{
    d->fault[0] = '\0';
    tutti_png_end(&d->png);
    if (!sample->count) return fault(d, sample, "0 bytes cannot be an image");
    d->kind = tutti_png_recognise(sample->bytes, sample->count)    ? PNG
              : tutti_webp_recognise(sample->bytes, sample->count) ? WEBP
                                                                   : JPEG;
    tutti_status status = d->kind == PNG    ? look_at_png(d, sample)
                          : d->kind == WEBP ? look_at_webp(d, sample)
                                            : look_at_jpeg(d, sample);
    if (status) return status;
    int transposes = tutti_exif_transposes(d->orientation);
    *width = transposes ? d->height : d->width;
    *height = transposes ? d->width : d->height;
    return TUTTI_OK;
}

/* The decoded part of a picture, and where it is. */
typedef struct window {
    const uint8_t *pixels;
    int left, top; /* in the upright picture; a shrunk pixel may begin before its edge */
    int width, height, shrink;
} window;

/* What a view needs of the upright picture. */
typedef struct area {
    int left, top, right, bottom;
} area;

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* How far the pixels around a rectangle have an influence. */
static int reach(const tutti_view *view, double length, int size)
{
    return view->clip ? 0 : (int)ceil(fmax(1, length / size)) + 1;
}

static area needed(const tutti_view *v, int width, int height)
{
    int x = reach(v, v->width, v->out_width), y = reach(v, v->height, v->out_height);
    return (area){most((int)floor(v->x) - x, 0), most((int)floor(v->y) - y, 0),
        least((int)ceil(v->x + v->width) + x, width),
        least((int)ceil(v->y + v->height) + y, height)};
}

/* The inverse DCT may shrink as long as the view is not enlarged again. */
static int shrink_for(const tutti_view *v)
{
    int shrink = SHRINK_MOST;
    while (shrink > 1 &&
           (v->width < (double)v->out_width * shrink || v->height < (double)v->out_height * shrink))
        shrink /= 2;
    return shrink;
}

/* An area of the upright picture, in the stored one. */
static area rotate_back(const tutti_decoder *d, area a)
{
    if (tutti_exif_transposes(d->orientation)) a = (area){a.top, a.left, a.bottom, a.right};
    if (tutti_exif_mirrors_x(d->orientation))
        a = (area){d->width - a.right, a.top, d->width - a.left, a.bottom};
    if (tutti_exif_mirrors_y(d->orientation))
        a = (area){a.left, d->height - a.bottom, a.right, d->height - a.top};
    return a;
}

/* For a window of the stored picture, and where that must be turned also of the upright one. */
static tutti_status reserve_window(tutti_decoder *d, const tutti_jpeg_window *w)
{
    tutti_status status = reserve(&d->stored, w->width, w->height, CHANNELS);
    if (status || d->orientation == 1) return status;
    return reserve(&d->upright, w->width, w->height, CHANNELS);
}

/* A window of the stored picture becomes one of the upright picture. */
static void turn_upright(tutti_decoder *d, const tutti_jpeg_window *w, window *upright)
{
    *upright = (window){
        d->stored.bytes, w->x * w->shrink, w->y * w->shrink, w->width, w->height, w->shrink};
    if (d->orientation == 1) return;
    int left = w->x * w->shrink, right = left + w->width * w->shrink;
    int top = w->y * w->shrink, bottom = top + w->height * w->shrink;
    if (tutti_exif_mirrors_x(d->orientation)) left = d->width - right;
    if (tutti_exif_mirrors_y(d->orientation)) top = d->height - bottom;
    tutti_exif_orient(
        d->orientation, w->width, w->height, CHANNELS, d->stored.bytes, d->upright.bytes);
    *upright = (window){d->upright.bytes, left, top, w->width, w->height, w->shrink};
    if (tutti_exif_transposes(d->orientation))
        *upright = (window){d->upright.bytes, top, left, w->height, w->width, w->shrink};
}

static tutti_status decode_jpeg(
    tutti_decoder *d, const tutti_sample *sample, area of_upright, int shrink, window *made)
{
    area a = rotate_back(d, of_upright);
    tutti_jpeg_window w = {.shrink = shrink, .x = a.left / shrink, .y = a.top / shrink};
    w.width = (a.right + shrink - 1) / shrink - w.x;
    w.height = (a.bottom + shrink - 1) / shrink - w.y;
    tutti_status status = reserve_window(d, &w);
    if (status) return status;
    status = tutti_jpeg_decode(d->jpeg, &w, d->stored.bytes);
    if (status) return refuse(d, sample, status, tutti_jpeg_fault(d->jpeg));
    turn_upright(d, &w, made);
    return TUTTI_OK;
}

/* A PNG or a WebP. */
static tutti_status decode_all(tutti_decoder *d, const tutti_sample *sample, window *made)
{
    const tutti_jpeg_window all = {.shrink = 1, .width = d->width, .height = d->height};
    tutti_status status = reserve_window(d, &all);
    if (status) return status;
    status = d->kind == PNG ? tutti_png_decode(&d->png, d->stored.bytes)
                            : tutti_webp_decode(&d->webp, d->stored.bytes);
    if (status) return refuse(d, sample, status, d->kind == PNG ? d->png.fault : d->webp.fault);
    turn_upright(d, &all, made);
    return TUTTI_OK;
}

/* The pixels of a view, once they are in place. */
static tutti_status change_pixels(
    tutti_decoder *d, const tutti_view *v, int channels, uint8_t *pixels)
{
    tutti_status status = TUTTI_OK;
    if (channels == CHANNELS && v->rand_augment.operations) {
        status = reserve(&d->changed, v->out_width, v->out_height, CHANNELS);
        if (status) return status;
        tutti_rand_augment_apply(
            &v->rand_augment, v->out_width, v->out_height, d->changed.bytes, pixels);
    }
    if (channels == TUTTI_JITTER_CHANNELS)
        tutti_jitter_apply(&v->jitter, (int64_t)v->out_width * v->out_height, pixels);
    tutti_erase_apply(&v->erase, v->out_width, channels, pixels);
    return status;
}

/* A view of a photograph. */
static tutti_status resize(tutti_decoder *d, const tutti_view *v, const window *w, uint8_t *pixels)
{
    tutti_resize r = {.width = w->width,
        .x = (v->x - w->left) / w->shrink,
        .y = (v->y - w->top) / w->shrink,
        .across = v->width / w->shrink,
        .down = v->height / w->shrink,
        .right = w->width,
        .bottom = w->height,
        .out_width = v->out_width,
        .out_height = v->out_height,
        .flip = v->flip};
    if (v->clip) {
        r.left = most((int)floor(r.x), 0);
        r.top = most((int)floor(r.y), 0);
        r.right = least((int)ceil(r.x + r.across), w->width);
        r.bottom = least((int)ceil(r.y + r.down), w->height);
    }
    return tutti_resize_make(&d->resizing, &r, w->pixels, pixels);
}

static tutti_status make_file(tutti_decoder *d, const tutti_dataset *data,
    const tutti_view_choice *choice, int64_t image, uint8_t *pixels)
{
    const tutti_sample *sample = &d->sample;
    const tutti_view_shape shape = {data->width, data->height, data->resize};
    int width, height;
    tutti_status status = tutti_decoder_look(d, sample, &width, &height);
    if (status) return status;
    if (!data->resize && (width != data->width || height != data->height))
        return fault(d, sample,
            "is %dx%d pixels, but the data set's first image is %dx%d; all must have one size",
            width, height, data->width, data->height);
    tutti_view view = tutti_view_choose(choice, &shape, image, width, height);
    area all = {0, 0, width, height};
    window made = {0};
    if (d->kind != JPEG)
        status = decode_all(d, sample, &made);
    else if (data->resize)
        status = decode_jpeg(d, sample, needed(&view, width, height), shrink_for(&view), &made);
    else
        status = decode_jpeg(d, sample, all, 1, &made);
    if (status || !pixels) return status;
    if (data->resize)
        status = resize(d, &view, &made, pixels);
    else
        tutti_view_copy(&view, width, height, CHANNELS, made.pixels, pixels);
    return status ? status : change_pixels(d, &view, CHANNELS, pixels);
}

/* ---- whole pictures ---- */

static tutti_status decode_whole(
    tutti_decoder *d, const tutti_sample *sample, int width, int height, int shrink, window *made)
{
    const area all = {0, 0, width, height};
    return d->kind != JPEG ? decode_all(d, sample, made)
                           : decode_jpeg(d, sample, all, shrink, made);
}

tutti_status tutti_decoder_check(tutti_decoder *d, const tutti_sample *sample)
{
    int width, height;
    window made;
    tutti_status status = tutti_decoder_look(d, sample, &width, &height);
    return status ? status : decode_whole(d, sample, width, height, SHRINK_MOST, &made);
}

tutti_status tutti_decoder_shrink(tutti_decoder *d, const tutti_sample *sample, int side,
    const uint8_t **pixels, int *width, int *height)
{
    int w, h;
    window made;
    tutti_status status = tutti_decoder_look(d, sample, &w, &h);
    if (status) return status;
    tutti_view view = {.width = w, .height = h};
    tutti_view_fit(side, w, h, &view.out_width, &view.out_height);
    status = decode_whole(d, sample, w, h, shrink_for(&view), &made);
    if (!status) status = reserve(&d->shrunk, view.out_width, view.out_height, CHANNELS);
    if (!status) status = resize(d, &view, &made, d->shrunk.bytes);
    if (status) return status;
    *pixels = d->shrunk.bytes;
    *width = view.out_width;
    *height = view.out_height;
    return TUTTI_OK;
}

/* ---- any image ---- */

tutti_status tutti_decoder_make(tutti_decoder *d, const tutti_dataset *data,
    const tutti_view_choice *choice, int64_t image, uint8_t *pixels, int32_t *label)
{
    tutti_sample *sample = &d->sample;
    d->fault[0] = '\0';
    tutti_status status = tutti_dataset_fetch(data, image, sample);
    if (status) return status;
    if (sample->kind == TUTTI_SAMPLE_FILE) {
        status = make_file(d, data, choice, image, pixels);
    } else if (pixels) {
        const tutti_view_shape shape = {data->width, data->height, 0};
        tutti_view view = tutti_view_choose(choice, &shape, image, sample->width, sample->height);
        tutti_view_copy(
            &view, sample->width, sample->height, sample->channels, sample->bytes, pixels);
        status = change_pixels(d, &view, sample->channels, pixels);
    }
    if (!status) *label = sample->label;
    return status;
}

tutti_status tutti_dataset_read(
    const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label)
{
    const tutti_view_choice as_it_is = {0};
    tutti_decoder *decoder;
    tutti_status status = tutti_decoder_new(&decoder);
    if (status) return status;
    status = tutti_decoder_make(decoder, dataset, &as_it_is, index, pixels, label);
    if (*tutti_decoder_fault(decoder)) tutti_fail(status, "%s", tutti_decoder_fault(decoder));
    tutti_decoder_free(decoder);
    return status;
}
