#include "config.h" /* first: it asks libc for mkstemp */

#include "apps/bench/photos.h"

#include "apps/data/decode.h"
#include "dag/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tutti_status fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const tutti_photos *photos = dataset->state;
    const tutti_sample *from = &photos->sample[index];
    tutti_status status = tutti_sample_reserve(sample, from->count);
    if (status) return status;
    memcpy(sample->bytes, from->bytes, from->count);
    memcpy(sample->name, from->name, sizeof sample->name);
    sample->kind = TUTTI_SAMPLE_FILE;
    sample->label = from->label;
    return TUTTI_OK;
}

static const tutti_image_source in_memory = {
    .name = "memory", .summary = "photographs in memory", .photographs = 1, .fetch = fetch};

static tutti_status take_images(
    const tutti_dataset *from, int64_t most, const char *path, tutti_photos *p)
{
    p->count = from->count < most ? from->count : most;
    p->sample = calloc((size_t)p->count, sizeof *p->sample);
    if (!p->sample)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %" PRId64 " images", p->count);
    for (int64_t i = 0; i < p->count; i++) {
        tutti_status status = tutti_dataset_fetch(from, i * from->count / p->count, &p->sample[i]);
        if (status) return status;
        if (p->sample[i].kind != TUTTI_SAMPLE_FILE)
            return tutti_fail(TUTTI_ERR_USAGE,
                "--data %s: its images (%s) are stored as pixels, so nothing is to be decoded",
                path, from->source->name);
    }
    p->dataset = *from;
    p->dataset.source = &in_memory;
    p->dataset.count = p->count;
    p->dataset.state = p;
    return TUTTI_OK;
}

tutti_status tutti_photos_load(
    const tutti_dataset_options *options, int64_t most, tutti_photos *photos)
{
    tutti_dataset from = {0};
    tutti_status status = tutti_dataset_open_as(options, TUTTI_TRAIN, &from);
    if (!status) status = take_images(&from, most, options->path, photos);
    tutti_dataset_close(&from);
    return status;
}

tutti_status tutti_photos_describe(const tutti_photos *photos, double *pixels, double *bytes)
{
    tutti_decoder *decoder;
    tutti_status status = tutti_decoder_new(&decoder);
    if (status) return status;
    *pixels = *bytes = 0;
    for (int64_t i = 0; i < photos->count && !status; i++) {
        int width = 0, height = 0;
        status = tutti_decoder_look(decoder, &photos->sample[i], &width, &height);
        if (status) tutti_fail(status, "%s", tutti_decoder_fault(decoder));
        *pixels += (double)width * height / (double)photos->count;
        *bytes += (double)photos->sample[i].count / (double)photos->count;
    }
    tutti_decoder_free(decoder);
    return status;
}

static int write_photos(const tutti_photos *photos, FILE *file)
{
    for (int64_t i = 0; i < photos->count; i++) {
        const tutti_sample *s = &photos->sample[i];
        for (int b = 0; b < 8; b++)
            if (putc((int)(((uint64_t)s->count >> (8 * b)) & 0xff), file) == EOF) return 0;
        if (fwrite(s->bytes, 1, s->count, file) != s->count) return 0;
    }
    return 1;
}

tutti_status tutti_photos_write(const tutti_photos *photos, char *path)
{
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int whole = file && write_photos(photos, file);
    if (file && fclose(file)) whole = 0;
    if (whole) return TUTTI_OK;
    if (fd >= 0) unlink(path);
    return tutti_fail(TUTTI_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
}

void tutti_photos_free(tutti_photos *photos)
{
    for (int64_t i = 0; photos->sample && i < photos->count; i++)
        tutti_sample_free(&photos->sample[i]);
    free(photos->sample);
    *photos = (tutti_photos){0};
}
