#include "apps/data/decode.h"

#include "apps/data/exif.h"
#include "apps/data/jpeg.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 3 };

/* Memory that grows. */
typedef struct buffer {
    uint8_t *bytes;
    size_t room;
} buffer;

struct tutti_decoder {
    tutti_sample sample;
    tutti_jpeg *jpeg;
    buffer stored, upright; /* pixels of an image file, as they are stored and turned */
    /* Of the file that was looked at. */
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

void tutti_sample_free(tutti_sample *sample)
{
    free(sample->bytes);
    *sample = (tutti_sample){0};
}

/* The contents are lost. */
static tutti_status reserve(buffer *b, int width, int height)
{
    size_t bytes = tutti_mem_product(tutti_mem_product((size_t)width, (size_t)height), CHANNELS);
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
    tutti_sample_free(&decoder->sample);
    free(decoder->stored.bytes);
    free(decoder->upright.bytes);
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

const char *tutti_decoder_fault(const tutti_decoder *decoder)
{
    return decoder->fault;
}

/* ---- image files ---- */

tutti_status tutti_decoder_look(
    tutti_decoder *d, const tutti_sample *sample, int *width, int *height)
{
    int w, h;
    d->fault[0] = '\0';
    if (!sample->count) return fault(d, sample, "0 bytes cannot be an image");
    if (tutti_jpeg_begin(d->jpeg, sample->bytes, sample->count, &w, &h, &d->orientation))
        return fault(d, sample, "%s", tutti_jpeg_fault(d->jpeg));
    d->width = w;
    d->height = h;
    *width = tutti_exif_transposes(d->orientation) ? h : w;
    *height = tutti_exif_transposes(d->orientation) ? w : h;
    return TUTTI_OK;
}

/* The whole picture, upright. */
static tutti_status decode_all(tutti_decoder *d, const tutti_sample *sample, const uint8_t **pixels)
{
    tutti_jpeg_window all = {.shrink = 1, .width = d->width, .height = d->height};
    tutti_status status = reserve(&d->stored, d->width, d->height);
    if (!status && d->orientation > 1) status = reserve(&d->upright, d->width, d->height);
    if (status) return status;
    if (tutti_jpeg_decode(d->jpeg, &all, d->stored.bytes))
        return fault(d, sample, "%s", tutti_jpeg_fault(d->jpeg));
    *pixels = d->stored.bytes;
    if (d->orientation == 1) return TUTTI_OK;
    tutti_exif_turn(
        d->orientation, d->width, d->height, CHANNELS, d->stored.bytes, d->upright.bytes);
    *pixels = d->upright.bytes;
    return TUTTI_OK;
}

static tutti_status make_file(tutti_decoder *d, const tutti_dataset *data,
    const tutti_view_choice *choice, int64_t image, uint8_t *pixels)
{
    const tutti_sample *sample = &d->sample;
    int width, height;
    tutti_status status = tutti_decoder_look(d, sample, &width, &height);
    if (status) return status;
    if (width != data->width || height != data->height)
        return fault(d, sample,
            "is %dx%d pixels, but the data set's first image is %dx%d; all must have one size",
            width, height, data->width, data->height);
    const uint8_t *upright = NULL;
    tutti_view view = tutti_view_choose(choice, image, width, height);
    status = decode_all(d, sample, &upright);
    if (!status) tutti_view_copy(&view, width, height, CHANNELS, upright, pixels);
    return status;
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
    } else {
        tutti_view view = tutti_view_choose(choice, image, sample->width, sample->height);
        tutti_view_copy(
            &view, sample->width, sample->height, sample->channels, sample->bytes, pixels);
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
