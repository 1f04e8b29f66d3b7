/* What every family's ops compute, in double precision and without optimizations, following the
 * formulas in the headers of dag/kernels: inputs' values -> outputs' values. */
#ifndef TUTTI_KERNEL_REFERENCE_H
#define TUTTI_KERNEL_REFERENCE_H

#include "tests/kernels/cases.h"

void test_conv_reference(const test_case *c);
void test_dense_reference(const test_case *c);
void test_dense_wide_reference(const test_case *c);
void test_norm_reference(const test_case *c);
void test_norm_add_reference(const test_case *c);
void test_norm_infer_reference(const test_case *c);
void test_norm_running_reference(const test_case *c);
void test_relu_reference(const test_case *c);
void test_dropout_reference(const test_case *c);
void test_pool_max_reference(const test_case *c);
void test_pool_avg_reference(const test_case *c);
void test_lrn_reference(const test_case *c);
void test_concat_reference(const test_case *c);
void test_split_reference(const test_case *c);
void test_shortcut_reference(const test_case *c);
void test_put_reference(const test_case *c);
void test_take_reference(const test_case *c);
void test_sum_reference(const test_case *c);
void test_sum_narrow_reference(const test_case *c);
void test_widen_reference(const test_case *c);
void test_narrow_reference(const test_case *c);
void test_accumulate_reference(const test_case *c);
void test_xent_reference(const test_case *c);
void test_xent_mixed_reference(const test_case *c);
void test_mixup_reference(const test_case *c);
void test_mixup_draw_reference(const test_case *c);
void test_cutmix_reference(const test_case *c);
void test_cutmix_draw_reference(const test_case *c);
void test_normalise_reference(const test_case *c);
void test_normalise_narrow_reference(const test_case *c);
void test_sgd_reference(const test_case *c);
void test_sgd_bf16_reference(const test_case *c);
void test_adam_reference(const test_case *c);
void test_lars_reference(const test_case *c);
void test_length_reference(const test_case *c);
void test_length_bf16_reference(const test_case *c);
void test_clip_factor_reference(const test_case *c);
void test_lengths_reference(const test_case *c);
void test_clip_reference(const test_case *c);
void test_average_reference(const test_case *c);
void test_gate_reference(const test_case *c);
void test_divide_reference(const test_case *c);
void test_outer_reference(const test_case *c);
void test_pair_reference(const test_case *c);
void test_share_set_reference(const test_case *c);
void test_share_halve_reference(const test_case *c);
void test_share_weigh_reference(const test_case *c);
void test_share_mix_reference(const test_case *c);
void test_share_scale_reference(const test_case *c);
void test_onebit_reference(const test_case *c);
void test_topk_reference(const test_case *c);
void test_powersgd_reference(const test_case *c);

#endif
