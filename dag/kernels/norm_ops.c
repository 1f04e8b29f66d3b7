#include "dag/kernels/norm.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>

enum { BLOCK_BYTES = 16 << 10, LEAST_BLOCK_ROWS = 8 };

tutti_status tutti_check_norm(const tutti_norm_desc *d)
{
    const int64_t x[] = {d->N, d->H, d->W, d->C};
    tutti_status status = tutti_cpu_check("norm", "N", d->N, 1);
    if (!status) status = tutti_cpu_check("norm", "H", d->H, 1);
    if (!status) status = tutti_cpu_check("norm", "W", d->W, 1);
    if (!status) status = tutti_cpu_check("norm", "C", d->C, 1);
    if (!status) status = tutti_cpu_check_count("norm", x, 4);
    if (!status && !(d->eps > 0 && isfinite(d->eps)))
        status = tutti_fail(TUTTI_ERR_INVAL, "norm: eps is %g, not above 0", (double)d->eps);
    if (!status && !(d->limit >= 0 && isfinite(d->limit)))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "norm: the limit is %g, not a positive number", (double)d->limit);
    if (!status && d->limit > 0 && !d->relu)
        status = tutti_fail(
            TUTTI_ERR_INVAL, "norm: the limit is %g, but no ReLU has it", (double)d->limit);
    return status;
}

tutti_status tutti_check_norm_add(const tutti_norm_desc *d)
{
    if (!d->relu) return tutti_check_norm(d);
    return tutti_fail(TUTTI_ERR_INVAL, "norm_add: relu is %d, not 0", d->relu);
}

int64_t tutti_norm_block_rows(int64_t C)
{
    const int64_t rows = BLOCK_BYTES / (int64_t)sizeof(float) / C;
    return rows < LEAST_BLOCK_ROWS ? LEAST_BLOCK_ROWS : rows;
}

/* ---- Running statistics ---- */

tutti_status tutti_open_norm_running(const void *desc, void **args)
{
    const tutti_norm_running_desc *d = desc;
    tutti_status status = tutti_cpu_check("norm_running", "C", d->C, 1);
    if (!status && !(d->momentum >= 0 && d->momentum <= 1))
        status = tutti_fail(TUTTI_ERR_INVAL, "norm_running: the momentum is %g, not in [0, 1]",
            (double)d->momentum);
    if (!status && !(d->weight > 0 && isfinite(d->weight) && d->unbias > 0 && isfinite(d->unbias)))
        status = tutti_fail(TUTTI_ERR_INVAL, "norm_running: weight and unbias must be above 0");
    return status ? status : tutti_cpu_copy("norm_running", d, sizeof *d, args);
}

TUTTI_OP(norm, "x,scaleshift:F32->y,stats:F32", TUTTI_PART_FORWARD, sizeof(tutti_norm_desc));
TUTTI_OP(
    norm_infer, "x,scaleshift:F32,running:F32->y", TUTTI_PART_FORWARD, sizeof(tutti_norm_desc));
TUTTI_OP(norm_bwd, "x,dy,scaleshift:F32,stats:F32->dx,dscaleshift:F32", TUTTI_PART_BACKWARD,
    sizeof(tutti_norm_desc));
TUTTI_OP(
    norm_add, "x,scaleshift:F32,other->y,stats:F32", TUTTI_PART_FORWARD, sizeof(tutti_norm_desc));
TUTTI_OP(norm_add_bwd, "x,y,dy,scaleshift:F32,stats:F32->dx,dother,dscaleshift:F32",
    TUTTI_PART_BACKWARD, sizeof(tutti_norm_desc));
TUTTI_OP(
    norm_running, "stats_sum->running(rw)", TUTTI_PART_UPDATE, sizeof(tutti_norm_running_desc));
