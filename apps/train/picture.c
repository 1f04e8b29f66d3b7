#include "apps/train/picture.h"

#include "apps/data/file.h"
#include "apps/data/jpeg.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RGB = 3 };

static const int64_t most_bytes = (int64_t)64 << 20;

/* ---- scaling ---- */

/* One axis: place i of the result is a weighted mean of count[i] places from first[i] on. */
typedef struct axis {
    int most; /* weights of each place */
    int *first, *count;
    float *weight; /* (places, most) */
} axis;

static void axis_free(axis *a)
{
    free(a->first);
    free(a->count);
    free(a->weight);
}

/* `places` places that show `extent` pixels from `begin` on, of `size` pixels. */
static int axis_make(int size, double begin, double extent, int places, axis *a)
{
    double scale = extent / places, reach = scale > 1 ? scale : 1;
    *a = (axis){.most = (int)ceil(2 * reach) + 2};
    a->first = calloc((size_t)places, sizeof *a->first);
    a->count = calloc((size_t)places, sizeof *a->count);
    a->weight = calloc((size_t)places * (size_t)a->most, sizeof *a->weight);
    if (!a->first || !a->count || !a->weight) return 0;
    for (int i = 0; i < places; i++) {
        double middle = begin + (i + 0.5) * scale, sum = 0;
        int low = (int)floor(middle - reach), high = (int)ceil(middle + reach);
        if (low < 0) low = 0;
        if (high > size) high = size;
        float *weight = a->weight + (size_t)i * (size_t)a->most;
        a->first[i] = low;
        for (int p = low; p < high && p - low < a->most; p++) {
            double w = 1 - fabs(p + 0.5 - middle) / reach;
            weight[a->count[i]++] = (float)(w > 0 ? w : 0);
            sum += w > 0 ? w : 0;
        }
        for (int k = 0; k < a->count[i]; k++) weight[k] = (float)(weight[k] / sum);
    }
    return 1;
}

static uint8_t round_pixel(float x)
{
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : lrintf(x));
}

/* Rows first, into floats (h,W,3); then columns. */
static void scale_both(const uint8_t *from, int h, int w, const axis *x, const axis *y, int H,
    int W, float *between, uint8_t *to)
{
    for (int r = 0; r < h; r++)
        for (int i = 0; i < W; i++)
            for (int c = 0; c < RGB; c++) {
                float sum = 0;
                for (int k = 0; k < x->count[i]; k++)
                    sum +=
                        x->weight[(size_t)i * (size_t)x->most + (size_t)k] *
                        from[((size_t)r * (size_t)w + (size_t)(x->first[i] + k)) * RGB + (size_t)c];
                between[((size_t)r * (size_t)W + (size_t)i) * RGB + (size_t)c] = sum;
            }
    for (int j = 0; j < H; j++)
        for (size_t i = 0; i < (size_t)W * RGB; i++) {
            float sum = 0;
            for (int k = 0; k < y->count[j]; k++)
                sum += y->weight[(size_t)j * (size_t)y->most + (size_t)k] *
                       between[(size_t)(y->first[j] + k) * (size_t)W * RGB + i];
            to[(size_t)j * (size_t)W * RGB + i] = round_pixel(sum);
        }
}

tutti_status tutti_picture_scale(const uint8_t *from, int h, int w, int H, int W, uint8_t *to)
{
    /* The part of the picture that is shown: as large as fits, in the middle. */
    double scale = fmin((double)h / H, (double)w / W), high = scale * H, wide = scale * W;
    axis x = {0}, y = {0};
    float *between = calloc((size_t)h * (size_t)W * RGB, sizeof *between);
    int made = between && axis_make(w, (w - wide) / 2, wide, W, &x) &&
               axis_make(h, (h - high) / 2, high, H, &y);
    if (made) scale_both(from, h, w, &x, &y, H, W, between, to);
    axis_free(&x);
    axis_free(&y);
    free(between);
    return made ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory to scale a picture");
}

/* ---- files ---- */

static tutti_status read_bytes(const char *path, uint8_t **bytes, size_t *count)
{
    tutti_data_file file;
    tutti_status status = tutti_data_file_open(path, &file);
    if (status) return status;
    if (file.bytes < 1 || file.bytes > most_bytes)
        status = tutti_fail(TUTTI_ERR_FORMAT, "%s: %s", path,
            file.bytes < 1 ? "the file is empty" : "too large for a photograph (64 MB)");
    *count = (size_t)file.bytes;
    *bytes = status ? NULL : malloc(*count);
    if (!status && !*bytes) status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory", path);
    if (!status) status = tutti_data_file_read(&file, 0, *bytes, *count);
    tutti_data_file_close(&file);
    if (!status) return TUTTI_OK;
    free(*bytes);
    return status;
}

/* Decodes into memory that the caller frees: (h,w,3). */
static tutti_status decode(
    const char *path, const uint8_t *bytes, size_t count, int *h, int *w, uint8_t **pixels)
{
    tutti_status status = tutti_jpeg_size(path, bytes, count, w, h);
    if (status) return status;
    *pixels = malloc((size_t)*h * (size_t)*w * RGB);
    if (!*pixels) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory", path);
    status = tutti_jpeg_decode(path, bytes, count, *w, *h, *pixels);
    if (status) free(*pixels);
    return status;
}

/* ITU-R BT.601, as in JPEG. */
static void make_grey(const uint8_t *rgb, size_t count, uint8_t *grey)
{
    for (size_t i = 0; i < count; i++, rgb += RGB)
        grey[i] = (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

tutti_status tutti_picture_read(const char *path, int H, int W, int C, uint8_t *pixels)
{
    uint8_t *bytes, *whole = NULL, *scaled = NULL;
    size_t count, size = (size_t)H * (size_t)W;
    int h, w;
    tutti_status status = read_bytes(path, &bytes, &count);
    if (status) return status;
    status = decode(path, bytes, count, &h, &w, &whole);
    free(bytes);
    if (status) return status;
    if (h != H || w != W) {
        scaled = malloc(size * RGB);
        status = scaled ? tutti_picture_scale(whole, h, w, H, W, scaled)
                        : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory", path);
    }
    const uint8_t *shown = scaled ? scaled : whole;
    if (!status && C == 1) make_grey(shown, size, pixels);
    if (!status && C != 1) memcpy(pixels, shown, size * RGB);
    free(scaled);
    free(whole);
    return status;
}
