#include "apps/train/picture.h"

#include "apps/data/source.h"
#include "dag/base/log.h"

#include <stdlib.h>

enum { RGB = 3 };

/* A data set of one photograph, whose state is its path. */
static tutti_status fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    (void)index;
    sample->label = 0;
    return tutti_sample_load(dataset->state, sample);
}

/* Brightness as Pillow's convert("L") has it, from the factors of ITU-R 601-2. */
static void make_grey(const uint8_t *rgb, int64_t count, uint8_t *grey)
{
    for (int64_t i = 0; i < count; i++, rgb += RGB)
        grey[i] = (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

tutti_status tutti_picture_read(
    const char *path, const tutti_model_input *input, int resize, uint8_t *pixels)
{
    static const tutti_image_source source = {
        .name = "photograph", .photographs = 1, .fetch = fetch};
    const int64_t count = (int64_t)input->H * input->W;
    int longest = input->H > input->W ? input->H : input->W;
    const tutti_dataset alone = {.source = &source,
        .count = 1,
        .height = input->H,
        .width = input->W,
        .channels = RGB, /* whatever is read from a file has them */
        .classes = input->classes,
        .resize = resize ? resize : longest,
        .state = (void *)path};
    uint8_t *rgb = input->C == RGB ? pixels : malloc((size_t)(count * RGB));
    int32_t label;
    if (!rgb) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %s", path);
    tutti_status status = tutti_dataset_read(&alone, 0, rgb, &label);
    if (rgb == pixels) return status;
    if (!status) make_grey(rgb, count, pixels);
    free(rgb);
    return status;
}
