#include "apps/train/picture.h"

#include "apps/data/source.h"

/* A data set of one photograph, whose state is its path. */
static tutti_status fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    (void)index;
    sample->label = 0;
    return tutti_sample_load(dataset->state, sample);
}

tutti_status tutti_picture_read(
    const char *path, const tutti_model_input *input, int resize, uint8_t *pixels)
{
    static const tutti_image_source source = {
        .name = "photograph", .photographs = 1, .fetch = fetch};
    int longest = input->H > input->W ? input->H : input->W;
    const tutti_dataset alone = {.source = &source,
        .count = 1,
        .height = input->H,
        .width = input->W,
        .channels = input->C,
        .classes = input->classes,
        .resize = resize ? resize : longest,
        .state = (void *)path};
    int32_t label;
    return tutti_dataset_read(&alone, 0, pixels, &label);
}
