#include "apps/data/rand_augment.h"

#include "apps/data/draw.h"
#include "apps/data/jitter.h"
#include "dag/base/rng.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { C = 3, LEVELS = 256, MOST = TUTTI_RAND_MAGNITUDE, ONE = 1 << 16 };

tutti_rand_augment tutti_rand_augment_choose(
    const tutti_rand_range *range, uint64_t seed, int64_t epoch, int64_t image)
{
    enum { STRIDE = 16 };
    tutti_rand_augment a = {.operations = range->operations};
    for (int i = 0; i < a.operations; i++) {
        uint32_t word[4];
        tutti_rng_philox(seed ^ tutti_rng_stream("view.rand_augment"), (uint64_t)epoch,
            (uint64_t)image * STRIDE + (uint64_t)i, word);
        a.kind[i] = (tutti_rand_kind)tutti_draw_below(word[0], TUTTI_RAND_KINDS);
        const int is_signed = a.kind[i] >= TUTTI_RAND_SHEAR_X && a.kind[i] <= TUTTI_RAND_SHARPNESS;
        a.magnitude[i] = is_signed && word[1] & 1 ? -range->magnitude : range->magnitude;
    }
    return a;
}

/* An image on which an operation works. */
typedef struct image {
    int width, height;
    uint8_t *from, *to; /* from: a copy, which some operations make */
} image;

static size_t count_bytes(const image *i)
{
    return (size_t)i->width * (size_t)i->height * C;
}

/* ---- places ---- */

/* From pixel (x,y) to the place (ax x + bx y + cx, ay x + by y + cy) from which it comes; in 1/ONE. */
typedef struct affine {
    int64_t ax, bx, cx, ay, by, cy;
} affine;

static int64_t fix(double x)
{
    return (int64_t)floor(x * ONE + 0.5);
}

/* Of centres of pixels. */
static affine make_affine(double ax, double bx, double cx, double ay, double by, double cy)
{
    return (affine){fix(ax), fix(bx), fix(cx + ax * 0.5 + bx * 0.5), fix(ay), fix(by),
        fix(cy + ay * 0.5 + by * 0.5)};
}

static void move_image(const image *i, affine a)
{
    uint8_t *to = i->to;
    memcpy(i->from, i->to, count_bytes(i));
    for (int y = 0; y < i->height; y++)
        for (int x = 0; x < i->width; x++, to += C) {
            const int64_t from_x = (a.cx + a.ax * x + a.bx * y) >> 16,
                          from_y = (a.cy + a.ay * x + a.by * y) >> 16;
            if (from_x < 0 || from_x >= i->width || from_y < 0 || from_y >= i->height)
                memset(to, 0, C);
            else
                memcpy(to, i->from + (from_y * i->width + from_x) * C, C);
        }
}

/* Sine and cosine of |x| < 1, with the same bits on every machine. */
static void turn_by(double x, double *sine, double *cosine)
{
    double s = 0, c = 0;
    for (int n = 20; n > 0; n -= 2) {
        c = 1 - (n == 20 ? 0 : c) * x * x / (n * (n - 1.0));
        s = 1 - (n == 20 ? 0 : s) * x * x / (n * (n + 1.0));
    }
    *sine = s * x;
    *cosine = c;
}

static void rotate(const image *i, int degrees)
{
    const double right = -degrees * (3.14159265358979323846 / 180), x = i->width / 2.0,
                 y = i->height / 2.0;
    double s, c;
    turn_by(right, &s, &c);
    move_image(i, make_affine(c, s, x - c * x - s * y, -s, c, y + s * x - c * y));
}

/* 150/331 M/30 of a side, towards 0. */
static int way(int side, int magnitude)
{
    return (int)((int64_t)side * 150 * magnitude / (331 * MOST));
}

/* ---- colours ---- */

static int factor_of(int magnitude)
{
    enum { TENTHS = 9 };
    const double more = magnitude * (double)TENTHS / (10 * MOST);
    return (int)floor((1 + more) * TUTTI_JITTER_ONE + 0.5);
}

static void change(const image *i, tutti_jitter_operation operation, int magnitude)
{
    const tutti_jitter jitter = {{operation, operation, operation},
        {factor_of(magnitude), TUTTI_JITTER_ONE, TUTTI_JITTER_ONE}};
    tutti_jitter_apply(&jitter, (int64_t)i->width * i->height, i->to);
}

/* Away from the mean of the pixel, five times, and its neighbours; at the edges that is the pixel. */
static void sharpen(const image *i, int magnitude)
{
    const int factor = factor_of(magnitude), row = i->width * C;
    memcpy(i->from, i->to, count_bytes(i));
    for (int y = 1; y < i->height - 1; y++)
        for (int b = C; b < row - C; b++) {
            const uint8_t *p = i->from + (ptrdiff_t)y * row + b;
            int sum = 4 * p[0];
            for (int d = -row; d <= row; d += row) sum += p[d - C] + p[d] + p[d + C];
            const int mean = (2 * sum + 13) / 26;
            const int moved = (mean * TUTTI_JITTER_ONE + factor * (p[0] - mean)) >> 14;
            i->to[(ptrdiff_t)y * row + b] = (uint8_t)(moved < 0 ? 0 : moved > 255 ? 255 : moved);
        }
}

/* Each channel by its own table. */
static void look_up(const image *i, uint8_t table[C][LEVELS])
{
    uint8_t *end = i->to + count_bytes(i);
    for (uint8_t *p = i->to; p < end; p += C)
        for (int c = 0; c < C; c++) p[c] = table[c][p[c]];
}

static void posterize(const image *i, int magnitude)
{
    const int bits = (8 * magnitude + MOST) / (2 * MOST); /* of 4 M/30, never half a bit */
    for (size_t b = 0; b < count_bytes(i); b++) i->to[b] = (uint8_t)(i->to[b] >> bits << bits);
}

static void solarize(const image *i, int magnitude)
{
    for (size_t b = 0; b < count_bytes(i); b++)
        if (i->to[b] * MOST >= 255 * (MOST - magnitude)) i->to[b] = (uint8_t)(255 - i->to[b]);
}

static void count_levels(const image *i, int64_t count[C][LEVELS])
{
    const uint8_t *end = i->to + count_bytes(i);
    memset(count, 0, sizeof(int64_t[C][LEVELS]));
    for (const uint8_t *p = i->to; p < end; p += C)
        for (int c = 0; c < C; c++) count[c][p[c]]++;
}

static void stretch(const int64_t count[LEVELS], uint8_t table[LEVELS])
{
    int low = 0, high = LEVELS - 1;
    while (low < high && !count[low]) low++;
    while (high > low && !count[high]) high--;
    for (int v = 0; v < LEVELS; v++)
        table[v] = (uint8_t)(low == high ? v
                             : v <= low  ? 0
                             : v >= high ? 255
                                         : (v - low) * 255 / (high - low));
}

static void equalize(const int64_t count[LEVELS], uint8_t table[LEVELS])
{
    int64_t all = 0, last = 0, before;
    for (int v = 0; v < LEVELS; v++) {
        all += count[v];
        if (count[v]) last = count[v];
    }
    const int64_t step = (all - last) / 255;
    before = step / 2;
    for (int v = 0; v < LEVELS; v++) {
        const int64_t level = step ? before / step : v;
        table[v] = (uint8_t)(level > 255 ? 255 : level);
        before += count[v];
    }
}

static void spread(const image *i, void (*make)(const int64_t count[LEVELS], uint8_t table[LEVELS]))
{
    int64_t count[C][LEVELS];
    uint8_t table[C][LEVELS];
    count_levels(i, count);
    for (int c = 0; c < C; c++) make(count[c], table[c]);
    look_up(i, table);
}

/* ---- operations ---- */

static void apply(const image *i, tutti_rand_kind kind, int magnitude)
{
    const double sheared = 0.3 * magnitude / MOST;
    switch (kind) {
    case TUTTI_RAND_IDENTITY:
    case TUTTI_RAND_KINDS:
        break;
    case TUTTI_RAND_SHEAR_X:
        move_image(i, make_affine(1, sheared, 0, 0, 1, 0));
        break;
    case TUTTI_RAND_SHEAR_Y:
        move_image(i, make_affine(1, 0, 0, sheared, 1, 0));
        break;
    case TUTTI_RAND_TRANSLATE_X:
        move_image(i, make_affine(1, 0, -way(i->width, magnitude), 0, 1, 0));
        break;
    case TUTTI_RAND_TRANSLATE_Y:
        move_image(i, make_affine(1, 0, 0, 0, 1, -way(i->height, magnitude)));
        break;
    case TUTTI_RAND_ROTATE:
        rotate(i, magnitude);
        break;
    case TUTTI_RAND_BRIGHTNESS:
        change(i, TUTTI_JITTER_BRIGHTNESS, magnitude);
        break;
    case TUTTI_RAND_COLOUR:
        change(i, TUTTI_JITTER_SATURATION, magnitude);
        break;
    case TUTTI_RAND_CONTRAST:
        change(i, TUTTI_JITTER_CONTRAST, magnitude);
        break;
    case TUTTI_RAND_SHARPNESS:
        sharpen(i, magnitude);
        break;
    case TUTTI_RAND_POSTERIZE:
        posterize(i, magnitude);
        break;
    case TUTTI_RAND_SOLARIZE:
        solarize(i, magnitude);
        break;
    case TUTTI_RAND_AUTOCONTRAST:
        spread(i, stretch);
        break;
    case TUTTI_RAND_EQUALIZE:
        spread(i, equalize);
        break;
    }
}

void tutti_rand_augment_apply(
    const tutti_rand_augment *augment, int width, int height, uint8_t *scratch, uint8_t *pixels)
{
    const image i = {width, height, scratch, pixels};
    for (int o = 0; o < augment->operations; o++)
        apply(&i, augment->kind[o], augment->magnitude[o]);
}
