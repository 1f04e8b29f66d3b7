#include "tests/support/cpu_kernel.h"

#include "dag/base/bf16.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static tutti_status open_and_run(const tutti_kernel *kernel, const void *desc, void *const buf[])
{
    void *args = NULL;
    tutti_status status = kernel->open(desc, &args);
    if (status) return status;
    status = kernel->fn(args, buf, NULL);
    kernel->close(args);
    return status;
}

static float *widen(const cpu_operand *operand)
{
    const uint16_t *from = operand->data;
    float *to = malloc((operand->count + 1) * sizeof *to);
    for (size_t i = 0; to && i < operand->count; i++) to[i] = tutti_bf16_widen(from[i]);
    return to;
}

/* Leaves alone what has not changed: others may read an input meanwhile. */
static void narrow(const cpu_operand *operand, const float *from)
{
    uint16_t *to = operand->data;
    for (size_t i = 0; i < operand->count; i++) {
        const uint16_t half = tutti_bf16_narrow(from[i]);
        if (to[i] != half) to[i] = half;
    }
}

static tutti_status run_widened(
    const tutti_kernel *wide, const void *desc, const cpu_operand operand[], int count)
{
    void *buf[MOST];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < count; i++) {
        buf[i] = operand[i].dtype == TUTTI_BF16 ? widen(&operand[i]) : operand[i].data;
        if (!buf[i]) status = TUTTI_ERR_NOMEM;
    }
    if (!status) status = open_and_run(wide, desc, buf);
    for (int i = 0; i < count; i++) {
        if (operand[i].dtype != TUTTI_BF16) continue;
        if (!status) narrow(&operand[i], buf[i]);
        free(buf[i]);
    }
    return status;
}

tutti_status cpu_kernel_run(const tutti_kernel *kernel, const tutti_kernel *wide, const void *desc,
    const cpu_operand operand[], int count)
{
    void *buf[MOST];
    if (!kernel || count > MOST) return TUTTI_ERR_UNSUPPORTED;
    for (int i = 0; i < count; i++) buf[i] = operand[i].data;
    const tutti_status status = open_and_run(kernel, desc, buf);
    if (status != TUTTI_ERR_UNSUPPORTED || kernel->dtype != TUTTI_BF16 || !wide) return status;
    return run_widened(wide, desc, operand, count);
}
