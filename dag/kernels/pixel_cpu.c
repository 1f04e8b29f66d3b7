#include "dag/kernels/pixel.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>
#include <stdlib.h>

enum { BYTES = 256 };

typedef struct normaliser {
    int64_t pixels, C;
    float value[TUTTI_PIXEL_CHANNELS][BYTES];
} normaliser;

static tutti_status check_channel(const tutti_normalise_desc *d, int64_t c)
{
    if (isfinite(d->mean[c]) && isfinite(d->deviation[c]) && d->deviation[c] > 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "normalise: channel %lld has mean %g and deviation %g; both must be finite, the deviation "
        "above 0",
        (long long)c, (double)d->mean[c], (double)d->deviation[c]);
}

static tutti_status check(const tutti_normalise_desc *d)
{
    const int64_t x[] = {d->pixels, d->C};
    tutti_status status = tutti_cpu_check("normalise", "pixels", d->pixels, 1);
    if (!status) status = tutti_cpu_check("normalise", "C", d->C, 1);
    if (!status && d->C > TUTTI_PIXEL_CHANNELS)
        status = tutti_fail(TUTTI_ERR_INVAL, "normalise: C is %lld, more than %d", (long long)d->C,
            TUTTI_PIXEL_CHANNELS);
    if (!status) status = tutti_cpu_check_count("normalise", x, 2);
    for (int64_t c = 0; !status && c < d->C; c++) status = check_channel(d, c);
    return status;
}

tutti_status tutti_open_normalise(const void *desc, void **args)
{
    const tutti_status status = check(desc);
    return status ? status : tutti_cpu_copy("normalise", desc, sizeof(tutti_normalise_desc), args);
}

/* With all values of y. */
TUTTI_CPU_OPEN(normalise)
{
    const tutti_normalise_desc *d = desc;
    const tutti_status status = check(d);
    if (status) return status;
    normaliser *n = calloc(1, sizeof *n);
    if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "normalise: no memory for a table");
    n->pixels = d->pixels;
    n->C = d->C;
    for (int64_t c = 0; c < d->C; c++)
        for (int v = 0; v < BYTES; v++)
            n->value[c][v] = ((float)v / 255.0f - d->mean[c]) / d->deviation[c];
    *args = n;
    return TUTTI_OK;
}

TUTTI_CPU_FN(normalise)
{
    const normaliser *n = args;
    const uint8_t *x = buf[0];
    float *y = buf[1];
    (void)queue;
    for (int64_t i = 0; i < n->pixels; i++)
        for (int64_t c = 0; c < n->C; c++) *y++ = n->value[c][*x++];
    return TUTTI_OK;
}

TUTTI_CPU_FN(normalise_narrow)
{
    const normaliser *n = args;
    const uint8_t *x = buf[0];
    uint16_t *y = buf[1], value[TUTTI_PIXEL_CHANNELS][BYTES];
    (void)queue;
    for (int64_t c = 0; c < n->C; c++)
        for (int v = 0; v < BYTES; v++) value[c][v] = tutti_bf16_narrow(n->value[c][v]);
    for (int64_t i = 0; i < n->pixels; i++)
        for (int64_t c = 0; c < n->C; c++) *y++ = value[c][*x++];
    return TUTTI_OK;
}

TUTTI_OP(normalise, "pixels->y:F32", TUTTI_PART_FORWARD, sizeof(tutti_normalise_desc));
TUTTI_OP(normalise_narrow, "pixels->y:BF16", TUTTI_PART_FORWARD, sizeof(tutti_normalise_desc));

const tutti_kernel tutti_kernels_pixel_cpu[] = {
    TUTTI_CPU_LOOP_OF(normalise, TUTTI_U8, normalise_open, normalise_run),
    TUTTI_CPU_LOOP_OF(normalise_narrow, TUTTI_U8, normalise_open, normalise_narrow_run),
    {0},
};
