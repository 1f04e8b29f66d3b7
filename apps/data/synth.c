/* "synthetic": images made up as they are read, the same on every machine, with classes that can be
 * learnt.
 *
 * Each of 10 classes has a smooth pattern of its own: a sum of 4 waves a channel, of random
 * direction and phase. An image is its class's pattern, moved by up to 4 pixels each way, at a
 * contrast between 0.5 and 1, plus noise about twice as strong as the pattern. Image i is of class
 * i mod 10. 32x32x3; 50,000 train, 10,000 test; everything is a function of (split, index). */
#include "apps/data/formats.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 32,
    CHANNELS = 3,
    BYTES = SIDE * SIDE * CHANNELS,
    CLASSES = 10,
    WAVES = 4,
    SHIFT = 4
};
enum {
    SEED = 20,
    PATTERN_STREAM = 1,
    IMAGE_STREAM = 2,
    NOISE_STREAM = 4
}; /* image and noise: one a split */

typedef struct synth_state {
    tutti_split split;
    int8_t pattern[CLASSES][SIDE][SIDE][CHANNELS]; /* -48..48, periodic */
} synth_state;

static int synth_recognise(const char *path)
{
    return strcmp(path, "synthetic") ? TUTTI_FORMAT_NO : TUTTI_FORMAT_CONTENT;
}

/* Whole waves across the image, so that moving it around leaves no seam. */
static void draw_channel(int class, int channel, synth_state *state)
{
    double fx[WAVES], fy[WAVES], phase[WAVES];
    for (int w = 0; w < WAVES; w++) {
        uint64_t index = (uint64_t)((class * CHANNELS + channel) * WAVES + w) * 3;
        fx[w] = (double)tutti_rng_below(SEED, PATTERN_STREAM, index, 4);
        fy[w] = (double)tutti_rng_below(SEED, PATTERN_STREAM, index + 1, 7) - 3;
        phase[w] = tutti_rng_uniform(SEED, PATTERN_STREAM, index + 2);
    }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double sum = 0;
            for (int w = 0; w < WAVES; w++)
                sum += cos(2 * 3.14159265358979 * ((fx[w] * x + fy[w] * y) / SIDE + phase[w]));
            state->pattern[class][y][x][channel] = (int8_t)lrint(12 * sum);
        }
}

static tutti_status synth_open(const char *path, tutti_split split, tutti_dataset *dataset)
{
    synth_state *state = calloc(1, sizeof *state);
    if (!state) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its patterns", path);
    state->split = split;
    for (int k = 0; k < CLASSES; k++)
        for (int c = 0; c < CHANNELS; c++) draw_channel(k, c, state);
    dataset->state = state;
    dataset->count = split == TUTTI_TRAIN ? 50000 : 10000;
    dataset->height = dataset->width = SIDE;
    dataset->channels = CHANNELS;
    dataset->classes = CLASSES;
    return TUTTI_OK;
}

static tutti_status synth_read(
    const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label)
{
    const synth_state *state = dataset->state;
    uint32_t draw[4], noise[4] = {0};
    int class = (int)(index % CLASSES);
    tutti_rng_philox(SEED, IMAGE_STREAM + state->split, (uint64_t)index, draw);
    int dy = (int)(draw[0] % (2 * SHIFT + 1)) + SIDE - SHIFT,
        dx = (int)(draw[1] % (2 * SHIFT + 1)) + SIDE - SHIFT;
    int contrast = 128 + (int)(draw[2] % 129); /* of 256 */
    for (int i = 0; i < BYTES; i++) {
        int y = i / (SIDE * CHANNELS), x = i / CHANNELS % SIDE;
        if (i % 16 == 0)
            tutti_rng_philox(
                SEED, NOISE_STREAM + state->split, (uint64_t)index * BYTES + (uint64_t)i, noise);
        int wave =
            state->pattern[class][(y + dy) % SIDE][(x + dx) % SIDE][i % CHANNELS] * contrast / 256;
        int grain = (int)(noise[i / 4 % 4] >> (i % 4 * 8) & 255) - 128;
        pixels[i] = (uint8_t)(128 + wave + grain / 2); /* 128 +- 48 +- 64 */
    }
    *label = class;
    return TUTTI_OK;
}

static void synth_close(tutti_dataset *dataset)
{
    free(dataset->state);
}

const tutti_reader tutti_reader_synthetic = {
    .name = "synthetic",
    .summary = "no files: made-up images, 32x32x3, 10 classes that can be learnt",
    .recognise = synth_recognise,
    .open = synth_open,
    .read = synth_read,
    .close = synth_close,
};
