/* Which options and nets a step refuses. Nothing runs here. */
#include "dag/base/log.h"
#include "dag/net/net.h"
#include "dag/step/step.h"
#include "tests/support/testing.h"

#include <sys/resource.h>

static tutti_net *new_net(void)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    return net;
}

static void small_net(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, 1, 1, 4);
    x = tutti_net_norm(net, "norm", x, 0);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, 3, TUTTI_INIT_HE_FAN_IN));
}

START_TEST(step_refuses_bad_options)
{
    static const tutti_step_options good = {
        .batch = 4, .micro_batches = 2, .placement = {.replicas = 2, .rank = 1}, .momentum = 0.9f};
    enum { BAD = 13 };
    tutti_step_options bad[BAD];
    for (int i = 0; i < BAD; i++) bad[i] = good;
    bad[0].batch = 0;
    bad[1].micro_batches = 0;
    bad[2].micro_batches = 5;
    bad[3].placement.replicas = -1;
    bad[4].placement.rank = 2;
    bad[5].momentum = -1;
    bad[6].weight_decay = 0.0f / 0.0f;
    bad[7].micro_batches = 4; /* a norm over one element */
    bad[8].wire = TUTTI_F64;
    bad[9].precision = TUTTI_I16;
    bad[10].mixup = -1;
    bad[11].mixup = bad[12].mixup = 1;
    bad[11].batch = 5;
    bad[12].micro_batches = 3;
    tutti_net *net = new_net();
    small_net(net);
    tutti_step *step = NULL;
    for (int i = 0; i < BAD; i++) {
        ck_assert_int_eq(tutti_step_build(net, &bad[i], &step), TUTTI_ERR_INVAL);
        ck_assert_ptr_null(step);
    }
    ck_assert_ok(tutti_step_build(net, &good, &step));
    tutti_step_free(step);
    tutti_step_free(NULL);
    tutti_net_free(net);
}
END_TEST

static void averaged_net(tutti_net *net, int64_t side)
{
    tutti_value x = tutti_net_input(net, side, side, 3), y;
    x = tutti_net_conv(net, "conv", x,
        &(tutti_conv_layer){.K = 4, .R = 3, .pad = 1, .init = TUTTI_INIT_HE_FAN_IN});
    y = tutti_net_global_avg_pool(net, "mean", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", y, 3, TUTTI_INIT_HE_FAN_IN));
    tutti_net_auxiliary(net, tutti_net_dense(net, "side", x, 3, TUTTI_INIT_HE_FAN_IN), 0.3);
}

static void dense_net(tutti_net *net, int64_t side)
{
    tutti_value x = tutti_net_input(net, side, side, 3);
    tutti_net_output(net, tutti_net_dense(net, "fixed", x, 3, TUTTI_INIT_HE_FAN_IN));
}

/* A dense layer fixes the size of images, unless only an auxiliary classifier needs it. */
START_TEST(images_of_another_size)
{
    static const tutti_step_options good = {.batch = 2, .micro_batches = 1};
    for (int fixed = 0; fixed < 2; fixed++) {
        tutti_net *net = new_net(), *other = new_net();
        const char *layer = "";
        tutti_step *step = NULL;
        (fixed ? dense_net : averaged_net)(net, 6);
        (fixed ? dense_net : averaged_net)(other, 9);
        ck_assert_ok(tutti_net_status(other));
        ck_assert_ok(tutti_net_compare(net, other, &layer));
        if (fixed) ck_assert_str_eq(layer, "fixed");
        if (!fixed) ck_assert_ptr_null(layer);
        tutti_step_options options = good;
        options.evaluated = other;
        ck_assert_int_eq(
            tutti_step_build(net, &options, &step), fixed ? TUTTI_ERR_INVAL : TUTTI_OK);
        tutti_step_free(step);
        tutti_net_free(other);
        other = new_net();
        small_net(other);
        ck_assert_ok(tutti_net_compare(net, other, &layer));
        ck_assert_ptr_nonnull(layer);
        tutti_net_free(other);
        tutti_net_free(net);
    }
}
END_TEST

/* In bf16 the output is a dense layer's, which computes it in float32 for the loss alone. */
START_TEST(step_refuses_an_output_of_bf16)
{
    tutti_step_options options = {.batch = 4, .micro_batches = 2};
    for (int pooled = 0; pooled < 2; pooled++) {
        tutti_net *net = new_net();
        tutti_value y = tutti_net_input(net, 4, 4, 3);
        y = tutti_net_dense(net, "fc", y, 3, TUTTI_INIT_HE_FAN_IN);
        if (pooled) y = tutti_net_global_avg_pool(net, "pool", y);
        tutti_net_output(net, y);
        for (int half = 0; half < 2; half++) {
            tutti_step *step = NULL;
            options.precision = half ? TUTTI_BF16 : TUTTI_F32;
            ck_assert_int_eq(tutti_step_build(net, &options, &step),
                half && pooled ? TUTTI_ERR_INVAL : TUTTI_OK);
            tutti_step_free(step);
        }
        tutti_net_free(net);
    }
}
END_TEST

/* There is a mean and a deviation for four channels. */
START_TEST(step_refuses_bytes_of_many_channels)
{
    tutti_step_options options = {.batch = 4, .micro_batches = 2, .bytes = 1};
    for (int C = 4; C <= 5; C++) {
        tutti_net *net = new_net();
        tutti_step *step = NULL;
        tutti_value x = tutti_net_input(net, 2, 2, C);
        tutti_net_output(net, tutti_net_dense(net, "fc", x, 3, TUTTI_INIT_HE_FAN_IN));
        ck_assert_int_eq(
            tutti_step_build(net, &options, &step), C == 4 ? TUTTI_OK : TUTTI_ERR_INVAL);
        tutti_step_free(step);
        tutti_net_free(net);
    }
}
END_TEST

START_TEST(step_refuses_an_unused_part)
{
    static const tutti_step_options options = {.batch = 4, .micro_batches = 2};
    tutti_value part[2];
    tutti_step *step = NULL;
    tutti_net *net = new_net();
    tutti_net_split(net, "split", tutti_net_input(net, 1, 1, 4), 2, (const int64_t[]){1, 3}, part);
    tutti_net_output(net, tutti_net_dense(net, "fc", part[1], 3, TUTTI_INIT_HE_FAN_IN));
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_str_eq(tutti_last_error(), "step: nothing uses value 0 of layer split");
    tutti_net_free(net);
}
END_TEST

START_TEST(step_refuses_bad_nets)
{
    static const tutti_step_options options = {.batch = 4, .micro_batches = 2};
    tutti_step *step = NULL;
    tutti_net *net = new_net();
    tutti_value x = tutti_net_input(net, 1, 1, 4);
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL); /* no output */
    tutti_value y = tutti_net_relu(net, "relu", x);
    tutti_net_output(net, y);
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL); /* no parameters */
    tutti_net_dense(net, "unused", y, 3, TUTTI_INIT_HE_FAN_IN);
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL); /* unused value */
    tutti_net_relu(net, "unused", x);
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL); /* failed net */
    ck_assert_ptr_null(step);
    tutti_net_free(net);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) &&                                                              \
    !defined(__SANITIZE_THREAD__) /* whose malloc ends the program instead */
/* A rank of the second stage, which is not fed: it has its micro-batches, or says that it has no memory for them. */
START_TEST(a_later_stage_without_memory)
{
    static const tutti_step_options options = {.batch = 1 << 27,
        .micro_batches = 1 << 27,
        .placement = {.stages = 2, .rank = 1, .end = {2, 3}}};
    struct rlimit usual, less;
    tutti_net *net = new_net();
    tutti_step *step = NULL;
    tutti_value x = tutti_net_input(net, 1, 1, 4);
    x = tutti_net_dense(net, "first", x, 4, TUTTI_INIT_HE_FAN_IN);
    tutti_net_output(net, tutti_net_dense(net, "second", x, 3, TUTTI_INIT_HE_FAN_IN));
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
    less = usual;
    less.rlim_cur = (rlim_t)2 << 30;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &less), 0);
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_NOMEM);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &usual), 0);
    ck_assert_ptr_null(step);
    tutti_net_free(net);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("build");
    TCase *tcase = testing_case(suite, "build");
    tcase_add_test(tcase, step_refuses_bad_options);
    tcase_add_test(tcase, images_of_another_size);
    tcase_add_test(tcase, step_refuses_an_output_of_bf16);
    tcase_add_test(tcase, step_refuses_bytes_of_many_channels);
    tcase_add_test(tcase, step_refuses_an_unused_part);
    tcase_add_test(tcase, step_refuses_bad_nets);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tcase, a_later_stage_without_memory);
#endif
    return testing_run(suite);
}
