/* Opening kernels, as far as it is the same on every device; defined with the ops of each
 * family. Internal to dag/kernels. */
#ifndef TUTTI_OPEN_H
#define TUTTI_OPEN_H

#include "dag/kernels/codec.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/lrn.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"

/* Defines an op; `...`: its buffers, its part of a step, the bytes of its descriptor, then .flops and .bytes. */
#define TUTTI_OP(op, ...) const tutti_op tutti_op_##op = {.name = #op, .buffers = __VA_ARGS__}

/* Convolution and dense layers: y of x and w; dx of dy and w; dw and db of x and dy. */
typedef enum tutti_pass {
    TUTTI_PASS_FORWARD,
    TUTTI_PASS_BACKWARD_DATA,
    TUTTI_PASS_BACKWARD_WEIGHTS
} tutti_pass;

/* Of kernels that need only their descriptor: rows of every device name these, and tutti_cpu_free,
 * which closes. */
tutti_status tutti_open_relu(const void *desc, void **args);
tutti_status tutti_open_dropout(const void *desc, void **args);
tutti_status tutti_open_sum(const void *desc, void **args);
tutti_status tutti_open_sum_narrow(const void *desc, void **args);
tutti_status tutti_open_widen(const void *desc, void **args);  /* narrow, accumulate */
tutti_status tutti_open_concat(const void *desc, void **args); /* and split */
tutti_status tutti_open_put(const void *desc, void **args);
tutti_status tutti_open_take(const void *desc, void **args);
tutti_status tutti_open_shortcut(const void *desc, void **args);
tutti_status tutti_open_gate(const void *desc, void **args);
tutti_status tutti_open_mixup_draw(const void *desc, void **args);
tutti_status tutti_open_mixup(const void *desc, void **args);
tutti_status tutti_open_cutmix_draw(const void *desc, void **args);
tutti_status tutti_open_cutmix(const void *desc, void **args);
tutti_status tutti_open_normalise(const void *desc, void **args);
tutti_status tutti_open_sgd(const void *desc, void **args);
tutti_status tutti_open_adam(const void *desc, void **args);
tutti_status tutti_open_norm_running(const void *desc, void **args);
tutti_status tutti_open_lengths(const void *desc, void **args);
tutti_status tutti_open_clip_factor(const void *desc, void **args);
tutti_status tutti_open_clip(const void *desc, void **args);
tutti_status tutti_open_average(const void *desc, void **args);
tutti_status tutti_open_divide(const void *desc, void **args);
tutti_status tutti_open_outer(const void *desc, void **args);
tutti_status tutti_open_pair(const void *desc, void **args);
tutti_status tutti_open_share_set(const void *desc, void **args);
tutti_status tutti_open_share_halve(const void *desc, void **args);
tutti_status tutti_open_share_weigh(const void *desc, void **args);
tutti_status tutti_open_share_mix(const void *desc, void **args);
tutti_status tutti_open_share_scale(const void *desc, void **args);
tutti_status tutti_open_onebit(const void *desc, void **args);
tutti_status tutti_open_topk(const void *desc, void **args);
tutti_status tutti_open_powersgd(const void *desc, void **args);
/* A copy of the descriptor, which tutti_cpu_free releases. */
tutti_status tutti_cpu_copy(const char *op, const void *desc, size_t bytes, void **args);
void tutti_cpu_free(void *args);

/* The others check their descriptor with these: INVAL, logged. */
tutti_status tutti_check_conv(const tutti_conv_desc *desc);
tutti_status tutti_check_dense(const tutti_dense_desc *desc);
tutti_status tutti_check_norm(const tutti_norm_desc *desc);
tutti_status tutti_check_norm_add(const tutti_norm_desc *desc);
tutti_status tutti_check_pool(const tutti_pool_desc *desc);
tutti_status tutti_check_lrn(const tutti_lrn_desc *desc);
tutti_status tutti_check_xent(const tutti_xent_desc *desc);
tutti_status tutti_check_length(const tutti_length_desc *desc);
tutti_status tutti_check_lars(const tutti_lars_desc *desc);
tutti_status tutti_check_topk(const tutti_topk_desc *desc);
tutti_status tutti_check_powersgd(const tutti_powersgd_desc *desc);

/* So many rows (pixels) of C channels are a block, which is summed in float32. The sums of TUTTI_NORM_GROUP blocks are
 * added one after another in double, and the groups' sums one after another: chains stay short on a GPU. [P] */
int64_t tutti_norm_block_rows(int64_t C);
enum { TUTTI_NORM_GROUP = 64 };

#endif
