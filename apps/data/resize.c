#include "apps/data/resize.h"

#include "dag/base/clones.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, VECTOR = 4, LANES = 16, AT_ONCE = 4 /* rows */ };

/* One pixel of float, and something that is ignored. */
typedef float pixel __attribute__((vector_size(VECTOR * sizeof(float))));
typedef int32_t whole_pixel __attribute__((vector_size(VECTOR * sizeof(int32_t))));
typedef uint8_t byte_lanes __attribute__((vector_size(LANES)));

/* Which input pixels an output pixel is made of. */
typedef struct taps {
    int first, count;
    float *weight;
} taps;

static double filter_width(double length, int size)
{
    double scale = length / size;
    return scale > 1 ? scale : 1;
}

/* Input pixels of an output pixel, at most. */
static size_t most_taps(double length, int size)
{
    return 2 * (size_t)ceil(filter_width(length, size)) + 2;
}

static int clamp(int k, int low, int high)
{
    return k < low ? low : k > high ? high : k;
}

/* Returns the largest count. */
static int fill_taps(double start, double length, int low, int high, int size, taps *out)
{
    double scale = length / size, width = filter_width(length, size);
    int most = 0;
    for (int i = 0; i < size; i++) {
        double centre = start + (i + 0.5) * scale, sum = 0;
        int first = clamp((int)floor(centre - width + 0.5), low, high - 1);
        int end = clamp((int)floor(centre + width + 0.5), first + 1, high);
        for (int k = first; k < end; k++) sum += fmax(0, 1 - fabs(k + 0.5 - centre) / width);
        out[i].first = first;
        out[i].count = end - first;
        for (int k = first; k < end; k++) {
            double w = fmax(0, 1 - fabs(k + 0.5 - centre) / width);
            out[i].weight[k - first] = (float)(sum > 0 ? w / sum : 1.0 / (end - first));
        }
        if (out[i].count > most) most = out[i].count;
    }
    return most;
}

/* `lanes` columns of v[0..3], weighted, added in this order; `more`: to sums. */
#define ADD_LANES(lanes)                                                                           \
    for (int j = 0; j < (lanes); j++) {                                                            \
        float sum = more ? sums[i + j] : 0;                                                        \
        sum += w[0] * (float)(int)v0[i + j];                                                       \
        sum += w[1] * (float)(int)v1[i + j];                                                       \
        sum += w[2] * (float)(int)v2[i + j];                                                       \
        sum += w[3] * (float)(int)v3[i + j];                                                       \
        sums[i + j] = sum;                                                                         \
    }

/* A fixed count lets the compiler vectorise at any level of optimisation. */
TUTTI_CLONES(add_rows,
    (const uint8_t *const v[AT_ONCE], const float weight[AT_ONCE], int count, int more,
        float *restrict sums),
    (v, weight, count, more, sums))
{
    const uint8_t *v0 = v[0], *v1 = v[1], *v2 = v[2], *v3 = v[3];
    const float w[AT_ONCE] = {weight[0], weight[1], weight[2], weight[3]};
    int i = 0;
    for (; i <= count - LANES; i += LANES) ADD_LANES(LANES)
    ADD_LANES(count - i)
}

/* The weighted sum of the rows of an output row. A tap that is missing weighs 0, which changes no
 * sum. */
static void sum_rows(
    const tutti_resize *r, const taps *t, const uint8_t *pixels, int count, float *sums)
{
    size_t row_bytes = (size_t)r->width * CHANNELS;
    const uint8_t *first = pixels + (size_t)t->first * row_bytes + (size_t)r->left * CHANNELS;
    for (int k = 0; k < t->count; k += AT_ONCE) {
        const uint8_t *from[AT_ONCE];
        float weight[AT_ONCE];
        for (int n = 0; n < AT_ONCE; n++) {
            int there = k + n < t->count;
            from[n] = first + (size_t)(there ? k + n : k) * row_bytes;
            weight[n] = there ? t->weight[k + n] : 0;
        }
        add_rows(from, weight, count, k > 0, sums);
    }
}

/* Output pixels of a row that begins at column `left`, each with a fourth value. All have the same
 * number of taps, so that the processor can foresee the end of the loop. They need no limits:
 * weights are at least 0, and their sum is 1. */
TUTTI_CLONES(sum_columns,
    (const taps *across, int each, int count, int left, const float *row, int32_t *restrict out),
    (across, each, count, left, row, out))
{
    for (int x = 0; x < count; x++) {
        const taps *t = &across[x];
        const float *from = row + (size_t)(t->first - left) * CHANNELS;
        pixel sum = {0.5f, 0.5f, 0.5f, 0};
        for (int k = 0; k < each; k++, from += CHANNELS) {
            pixel p;
            memcpy(&p, from, sizeof p);
            sum += t->weight[k] * p;
        }
        whole_pixel rounded = __builtin_convertvector(sum, whole_pixel);
        memcpy(out + (size_t)x * VECTOR, &rounded, sizeof rounded);
    }
}

/* The first three of each four values, which are 0..255, in order or mirrored. */
TUTTI_CLONES(narrow, (const int32_t *pixels, int count, int mirrored, uint8_t *out),
    (pixels, count, mirrored, out))
{
    enum { PIXELS = LANES / VECTOR, BYTES = PIXELS * CHANNELS };
    const byte_lanes in_order = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14},
                     backwards = {12, 13, 14, 8, 9, 10, 4, 5, 6, 0, 1, 2};
    byte_lanes places = mirrored ? backwards : in_order;
    int x = 0;
    for (; x <= count - PIXELS; x += PIXELS) {
        uint8_t small[LANES];
        for (int j = 0; j < LANES; j++) small[j] = (uint8_t)pixels[x * VECTOR + j];
        byte_lanes b;
        memcpy(&b, small, sizeof b);
        b = __builtin_shuffle(b, places);
        memcpy(out + (mirrored ? count - PIXELS - x : x) * CHANNELS, &b, BYTES);
    }
    for (; x < count; x++)
        for (int c = 0; c < CHANNELS; c++)
            out[(mirrored ? count - 1 - x : x) * CHANNELS + c] = (uint8_t)pixels[x * VECTOR + c];
}

static void *reserve(tutti_resize_memory *memory, size_t bytes)
{
    if (bytes <= memory->bytes) return memory->block;
    free(memory->block);
    *memory = (tutti_resize_memory){malloc(bytes), bytes};
    if (!memory->block) memory->bytes = 0;
    return memory->block;
}

void tutti_resize_free(tutti_resize_memory *memory)
{
    free(memory->block);
    *memory = (tutti_resize_memory){0};
}

tutti_status tutti_resize_make(
    tutti_resize_memory *memory, const tutti_resize *r, const uint8_t *pixels, uint8_t *out)
{
    size_t columns = (size_t)r->out_width, rows = (size_t)r->out_height;
    size_t wide = most_taps(r->across, r->out_width), high = most_taps(r->down, r->out_height);
    int count = (r->right - r->left) * CHANNELS;
    /* Taps that weigh nothing may be beyond a row's end; the last one is read as a vector. */
    size_t beyond = wide * CHANNELS + VECTOR, weights = columns * wide + rows * high;
    size_t floats = weights + (size_t)count + beyond + columns * VECTOR;
    taps *across = reserve(memory, (columns + rows) * sizeof(taps) + floats * sizeof(float));
    if (!across) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to resize an image");
    taps *down = across + columns;
    float *weight = (float *)(down + rows), *row = weight + weights;
    int32_t *whole = (int32_t *)(row + count + beyond);
    memset(weight, 0, weights * sizeof *weight);
    memset(row + count, 0, beyond * sizeof *row);
    for (size_t i = 0; i < columns; i++) across[i].weight = weight + i * wide;
    for (size_t i = 0; i < rows; i++) down[i].weight = weight + columns * wide + i * high;
    int each = fill_taps(r->x, r->across, r->left, r->right, r->out_width, across);
    fill_taps(r->y, r->down, r->top, r->bottom, r->out_height, down);
    for (size_t y = 0; y < rows; y++) {
        sum_rows(r, &down[y], pixels, count, row);
        sum_columns(across, each, r->out_width, r->left, row, whole);
        narrow(whole, r->out_width, r->flip, out + y * columns * CHANNELS);
    }
    return TUTTI_OK;
}
