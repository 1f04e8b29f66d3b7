/* "synthetic": images generated when they are read, the same on every machine, with learnable classes.
 *
 * Each class has its own smooth 32x32 pattern: a sum of 4 waves per channel, of random direction and phase. An image is
 * its class's pattern, moved by up to 4 pixels each way, at a contrast between 0.5 and 1, stretched to the image's
 * size, plus noise about twice as strong as the pattern. Image i is of class i mod classes. Everything is a function of
 * (split, index).
 *
 * "synthetic" is 32x32x3 in 10 classes, "synthetic:HxWxC:CLASSES" anything else. At 32x32 there are 50,000 training and
 * 10,000 test images. There are fewer larger ones, so that a pass over all takes about as long, but at least two
 * (train) per class. */
#include "apps/data/formats.h"
#include "dag/base/clones.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, CHANNELS = 3, WAVES = 4, SHIFT = 4, TRAIN_IMAGES = 50000 };
enum {
    SEED = 20,
    PATTERN_STREAM = 1,
    IMAGE_STREAM = 2,
    NOISE_STREAM = 4
}; /* image and noise: one per split */

typedef struct synth_state {
    tutti_split split;
    int8_t pattern[][SIDE][SIDE][CHANNELS]; /* per class; -48..48, periodic */
} synth_state;

static const char word[] = "synthetic";

static int synth_recognise(const char *path)
{
    size_t length = sizeof word - 1;
    return !strncmp(path, word, length) && (!path[length] || path[length] == ':')
               ? TUTTI_FORMAT_CONTENT
               : TUTTI_FORMAT_NO;
}

/* Sets the shape given in the path, or the default. */
static tutti_status read_shape(const char *path, tutti_dataset *d)
{
    int used = 0;
    d->height = d->width = SIDE;
    d->channels = CHANNELS;
    d->resize = 0;
    d->classes = 10;
    if (!synth_recognise(path) || !path[sizeof word - 1]) return TUTTI_OK;
    const char *shape = path + sizeof word;
    if (sscanf(shape, "%dx%dx%d:%d%n", &d->height, &d->width, &d->channels, &d->classes, &used) !=
            4 ||
        shape[used])
        return tutti_fail(
            TUTTI_ERR_USAGE, "%s: must be like synthetic:224x224x3:1000 (HxWxC:classes)", path);
    if (d->height < 1 || d->height > TUTTI_IMAGE_SIDE_MAX || d->width < 1 ||
        d->width > TUTTI_IMAGE_SIDE_MAX || (d->channels != 1 && d->channels != 3) ||
        d->classes < 1 || d->classes > TUTTI_CLASSES_MAX)
        return tutti_fail(TUTTI_ERR_USAGE,
            "%s: sides are 1 to %d, channels 1 or 3, classes 1 to %d", path, TUTTI_IMAGE_SIDE_MAX,
            TUTTI_CLASSES_MAX);
    return TUTTI_OK;
}

static int64_t count_images(const tutti_dataset *d, tutti_split split)
{
    int64_t area = (int64_t)d->height * d->width, train = TRAIN_IMAGES;
    if (area > SIDE * SIDE) train = train * (SIDE * SIDE) / area;
    if (train < 2 * d->classes) train = 2 * d->classes;
    return split == TUTTI_TRAIN ? train : (train + 4) / 5;
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
    synth_state *state;
    tutti_status status = read_shape(path, dataset);
    if (status) return status;
    state = calloc(1, sizeof *state + (size_t)dataset->classes * sizeof *state->pattern);
    if (!state) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its patterns", path);
    state->split = split;
    for (int k = 0; k < dataset->classes; k++)
        for (int c = 0; c < dataset->channels; c++) draw_channel(k, c, state);
    dataset->state = state;
    dataset->count = count_images(dataset, split);
    return TUTTI_OK;
}

/* The bytes of the draws' words, each from the lowest on. */
static void draw_grain(const synth_state *state, uint64_t first, size_t bytes, uint8_t grain[])
{
    enum { DRAWN = 16, DRAWS = 64 };
    uint32_t drawn[DRAWS][4];
    for (size_t i = 0, n; i < bytes; i += n) {
        n = bytes - i < DRAWN * DRAWS ? bytes - i : DRAWN * DRAWS;
        tutti_rng_philoxes(
            SEED, NOISE_STREAM + state->split, first + i, DRAWN, (n + DRAWN - 1) / DRAWN, drawn);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        for (int d = 0; d < DRAWS; d++)
            for (int w = 0; w < 4; w++) drawn[d][w] = __builtin_bswap32(drawn[d][w]);
#endif
        memcpy(grain + i, drawn, n);
    }
}

/* Waves upon the grain: 128 +- 48 +- 64. */
static inline __attribute__((always_inline)) void shade(
    const int8_t *restrict wave, int n, int contrast, uint8_t *restrict byte)
{
    for (int i = 0; i < n; i++) {
        int16_t light = (int16_t)(wave[i] * contrast);
        byte[i] = (uint8_t)(128 + light / 256 + (byte[i] - 128) / 2);
    }
}

TUTTI_CLONES(
    shade_row, (const int8_t *wave, int n, int contrast, uint8_t *byte), (wave, n, contrast, byte))
{
    enum { STRIP = 32 }; /* a number that the compiler knows becomes vectors */
    int i = 0;
    for (; i + STRIP <= n; i += STRIP) shade(wave + i, STRIP, contrast, byte + i);
    shade(wave + i, n - i, contrast, byte + i);
}

static tutti_status synth_fetch(const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    const synth_state *state = dataset->state;
    uint32_t draw[4];
    const int H = dataset->height, W = dataset->width, C = dataset->channels;
    const size_t bytes = (size_t)H * (size_t)W * (size_t)C;
    const int class = (int)(index % dataset->classes);
    tutti_status status = tutti_sample_reserve(sample, bytes);
    if (status) return status;
    tutti_rng_philox(SEED, IMAGE_STREAM + state->split, (uint64_t)index, draw);
    const int dy = (int)(draw[0] % (2 * SHIFT + 1)) + SIDE - SHIFT,
              dx = (int)(draw[1] % (2 * SHIFT + 1)) + SIDE - SHIFT;
    const int contrast = 128 + (int)(draw[2] % 129); /* of 256 */
    draw_grain(state, (uint64_t)index * bytes, bytes, sample->bytes);
    uint8_t column[TUTTI_IMAGE_SIDE_MAX];
    for (int x = 0; x < W; x++) column[x] = (uint8_t)((x * SIDE / W + dx) % SIDE);
    /* Whole elements of the pattern are copied, each over the end of the one before. */
    int8_t wave[(TUTTI_IMAGE_SIDE_MAX + 1) * CHANNELS];
    for (int y = 0; y < H; y++) {
        const int8_t(*row)[CHANNELS] = state->pattern[class][(y * SIDE / H + dy) % SIDE];
        for (int x = 0; x < W; x++) memcpy(wave + x * C, row[column[x]], CHANNELS);
        shade_row(wave, W * C, contrast, sample->bytes + (size_t)y * (size_t)(W * C));
    }
    tutti_sample_pixels(dataset, class, sample);
    return TUTTI_OK;
}

static void synth_close(tutti_dataset *dataset)
{
    free(dataset->state);
}

const tutti_image_source tutti_image_source_synthetic = {
    .name = "synthetic",
    .summary =
        "no files: generated images, 32x32x3 in 10 classes or as synthetic:HxWxC:CLASSES says",
    .recognise = synth_recognise,
    .open = synth_open,
    .fetch = synth_fetch,
    .close = synth_close,
};
