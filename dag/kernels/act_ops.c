#include "dag/kernels/act.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>

tutti_status tutti_open_relu(const void *desc, void **args)
{
    const tutti_relu_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "relu: the tensor is empty");
    if (!(d->limit >= 0) || isinf(d->limit))
        return tutti_fail(
            TUTTI_ERR_INVAL, "relu: the limit is %g, not a positive number", (double)d->limit);
    return tutti_cpu_copy("relu", d, sizeof *d, args);
}

tutti_status tutti_open_dropout(const void *desc, void **args)
{
    const tutti_dropout_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "dropout: the tensor is empty");
    if (d->offset < 0) return tutti_fail(TUTTI_ERR_INVAL, "dropout: the offset is negative");
    if (!(d->rate >= 0 && d->rate < 1))
        return tutti_fail(
            TUTTI_ERR_INVAL, "dropout: the rate is %g, not in [0, 1)", (double)d->rate);
    return tutti_cpu_copy("dropout", d, sizeof *d, args);
}

TUTTI_OP(relu, "x->y", TUTTI_PART_FORWARD, sizeof(tutti_relu_desc));
TUTTI_OP(relu_bwd, "y,dy->dx", TUTTI_PART_BACKWARD, sizeof(tutti_relu_desc));
TUTTI_OP(dropout, "x,step:I64->y", TUTTI_PART_FORWARD, sizeof(tutti_dropout_desc));
TUTTI_OP(dropout_bwd, "dy,step:I64->dx", TUTTI_PART_BACKWARD, sizeof(tutti_dropout_desc));
