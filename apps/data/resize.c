#include "apps/data/resize.h"

#include "dag/base/clones.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, VECTOR = 4 };

/* One pixel of float, and something that is ignored. */
typedef float pixel __attribute__((vector_size(VECTOR * sizeof(float))));
typedef int32_t whole_pixel __attribute__((vector_size(VECTOR * sizeof(int32_t))));

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

static void fill_taps(double start, double length, int low, int high, int size, taps *out)
{
    double scale = length / size, width = filter_width(length, size);
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
    }
}

/* sums[i] += weight * values[i], or = */
TUTTI_CLONES static void add_row(
    const uint8_t *restrict values, float weight, int count, int begin, float *restrict sums)
{
    if (begin)
        for (int i = 0; i < count; i++) sums[i] = weight * (float)values[i];
    else
        for (int i = 0; i < count; i++) sums[i] += weight * (float)values[i];
}

/* One output row from the weighted sum of rows, which begins at column `left`. */
static void make_row(const tutti_resize *r, const taps *across, const float *row, uint8_t *out)
{
    for (int x = 0; x < r->out_width; x++) {
        const taps *t = &across[x];
        const float *from = row + (size_t)(t->first - r->left) * CHANNELS;
        pixel sum = {0.5f, 0.5f, 0.5f, 0};
        for (int k = 0; k < t->count; k++, from += CHANNELS) {
            pixel p;
            memcpy(&p, from, sizeof p);
            sum += t->weight[k] * p;
        }
        whole_pixel rounded = __builtin_convertvector(sum, whole_pixel);
        uint8_t *to = out + (size_t)(r->flip ? r->out_width - 1 - x : x) * CHANNELS;
        for (int c = 0; c < CHANNELS; c++) to[c] = (uint8_t)clamp(rounded[c], 0, 255);
    }
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
    size_t sums = (size_t)count + VECTOR; /* the last pixel is read as four floats */
    taps *across = reserve(memory,
        (columns + rows) * sizeof(taps) + (columns * wide + rows * high + sums) * sizeof(float));
    if (!across) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to resize an image");
    taps *down = across + columns;
    float *weight = (float *)(down + rows), *row = weight + columns * wide + rows * high;
    for (size_t i = 0; i < columns; i++) across[i].weight = weight + i * wide;
    for (size_t i = 0; i < rows; i++) down[i].weight = weight + columns * wide + i * high;
    fill_taps(r->x, r->across, r->left, r->right, r->out_width, across);
    fill_taps(r->y, r->down, r->top, r->bottom, r->out_height, down);
    memset(row + count, 0, VECTOR * sizeof *row);
    for (size_t y = 0; y < rows; y++) {
        const taps *t = &down[y];
        for (int k = 0; k < t->count; k++) {
            const uint8_t *from =
                pixels + ((size_t)(t->first + k) * (size_t)r->width + (size_t)r->left) * CHANNELS;
            add_row(from, t->weight[k], count, k == 0, row);
        }
        make_row(r, across, row, out + y * columns * CHANNELS);
    }
    return TUTTI_OK;
}
