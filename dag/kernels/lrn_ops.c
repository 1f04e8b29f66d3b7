#include "dag/kernels/lrn.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>

tutti_status tutti_check_lrn(const tutti_lrn_desc *d)
{
    const struct {
        const char *what;
        int64_t value;
    } rows[] = {{"N", d->N}, {"H", d->H}, {"W", d->W}, {"C", d->C}, {"size", d->size}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_status status = tutti_cpu_check("lrn", rows[i].what, rows[i].value, 1);
        if (status) return status;
    }
    if (d->size % 2 == 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "lrn: a window of %lld channels has no middle: its size must be odd",
            (long long)d->size);
    if (!(d->alpha >= 0 && isfinite(d->alpha) && isfinite(d->beta) && d->k > 0 && isfinite(d->k)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "lrn: alpha %g must be at least 0, k %g above 0, and these and beta %g finite",
            (double)d->alpha, (double)d->k, (double)d->beta);
    const int64_t x[] = {d->N, d->H, d->W, d->C};
    return tutti_cpu_check_count("lrn", x, 4);
}

TUTTI_OP(lrn, "x->y", TUTTI_PART_FORWARD, sizeof(tutti_lrn_desc));
TUTTI_OP(lrn_bwd, "x,dy->dx", TUTTI_PART_BACKWARD, sizeof(tutti_lrn_desc));
