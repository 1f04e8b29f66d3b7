#include "apps/train/picture.h"

#include "apps/data/decode.h"
#include "dag/base/log.h"

#include <stdlib.h>

enum { RGB = 3 };

/* A data set of one photograph, whose state is the file, which is taken once. */
static tutti_status fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const tutti_sample had = *sample;
    tutti_sample *file = dataset->state;
    (void)index;
    *sample = *file;
    *file = had;
    sample->label = 0;
    return TUTTI_OK;
}

/* To what the shorter side of a picture is resized, so that it just covers an image of the net. */
static tutti_status find_cover(const tutti_sample *file, const tutti_model_input *in, int *side)
{
    int width, height;
    tutti_decoder *decoder;
    tutti_status status = tutti_decoder_new(&decoder);
    if (status) return status;
    status = tutti_decoder_look(decoder, file, &width, &height);
    if (!status) {
        const int upright = width <= height;
        const int64_t shorter = upright ? width : height, longer = upright ? height : width;
        const int across = upright ? in->W : in->H, along = upright ? in->H : in->W;
        /* rounded up, because tutti_view_fit rounds down */
        const int least = (int)((along * shorter + longer - 1) / longer);
        *side = across > least ? across : least;
    } else if (*tutti_decoder_fault(decoder)) {
        tutti_fail(status, "%s", tutti_decoder_fault(decoder));
    }
    tutti_decoder_free(decoder);
    return status;
}

/* Brightness as Pillow's convert("L") has it, from the factors of ITU-R 601-2. */
static void make_grey(const uint8_t *rgb, int64_t count, uint8_t *grey)
{
    for (int64_t i = 0; i < count; i++, rgb += RGB)
        grey[i] = (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

static tutti_status read_file(
    tutti_sample *file, const tutti_model_input *input, int resize, uint8_t *pixels)
{
    static const tutti_image_source source = {
        .name = "photograph", .photographs = 1, .fetch = fetch};
    const int64_t count = (int64_t)input->H * input->W;
    const tutti_dataset alone = {.source = &source,
        .count = 1,
        .height = input->H,
        .width = input->W,
        .channels = RGB, /* whatever is read from a file has them */
        .classes = input->classes,
        .resize = resize,
        .state = file};
    uint8_t *rgb = input->C == RGB ? pixels : malloc((size_t)(count * RGB));
    int32_t label;
    if (!rgb) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %s", file->name);
    tutti_status status = tutti_dataset_read(&alone, 0, rgb, &label);
    if (rgb == pixels) return status;
    if (!status) make_grey(rgb, count, pixels);
    free(rgb);
    return status;
}

tutti_status tutti_picture_read(
    const char *path, const tutti_model_input *input, int resize, uint8_t *pixels)
{
    tutti_sample file = {0};
    tutti_status status = tutti_sample_load(path, &file);
    if (!status && !resize) status = find_cover(&file, input, &resize);
    if (!status) status = read_file(&file, input, resize, pixels);
    tutti_sample_free(&file);
    return status;
}
