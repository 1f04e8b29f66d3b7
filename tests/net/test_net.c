/* dag/net: shapes, names, parameter counts, and error messages for bad layers. Nothing runs here. */
#include "dag/base/log.h"
#include "dag/net/net.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tutti_net *new_net(void)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    return net;
}

static void check_shape(const tutti_net *net, tutti_value x, int64_t H, int64_t W, int64_t C)
{
    int64_t h, w, c;
    tutti_net_shape(net, x, &h, &w, &c);
    ck_assert_int_eq(h, H);
    ck_assert_int_eq(w, W);
    ck_assert_int_eq(c, C);
}

START_TEST(shapes_and_counts)
{
    tutti_net *net = new_net();
    tutti_value x = tutti_net_input(net, 9, 7, 3);
    check_shape(net, x, 9, 7, 3);
    tutti_value a = tutti_net_conv(
        net, "a", x, &(tutti_conv_layer){.K = 8, .R = 3, .stride = 2, .pad = 1, .bias = 1});
    check_shape(net, a, 5, 4, 8);
    tutti_value same =
        tutti_net_conv(net, "same", a, &(tutti_conv_layer){.K = 8, .R = 3, .pad = 1});
    check_shape(net, same, 5, 4, 8); /* stride 0 means 1 */
    tutti_value b = tutti_net_norm(net, "b", same, 1);
    check_shape(net, b, 5, 4, 8);
    tutti_value c = tutti_net_add(net, "c", b, a, 1);
    check_shape(net, c, 5, 4, 8);
    check_shape(net, tutti_net_shortcut(net, "d", c, 13, 2), 3, 2, 13);
    check_shape(net, tutti_net_max_pool(net, "e", c, 3, 2, 1), 3, 2, 8);
    check_shape(net, tutti_net_avg_pool(net, "f", c, 2, 2, 0), 2, 2, 8);
    const tutti_pool_layer up = {.R = 2, .stride = 2, .ceiling = 1};
    check_shape(net, tutti_net_pool(net, "up", c, &up), 3, 2, 8);
    const tutti_conv_layer flat = {
        .K = 4, .R = 1, .S = 3, .stride_s = 2, .pad_s = 1, .groups = 2, .bias = 1};
    check_shape(net, tutti_net_conv(net, "flat", c, &flat), 5, 2, 4);
    check_shape(net,
        tutti_net_lrn(
            net, "lrn", c, &(tutti_lrn_layer){.size = 5, .alpha = 1e-4f, .beta = 0.75f, .k = 1}),
        5, 4, 8);
    check_shape(net, tutti_net_relu(net, "g", c), 5, 4, 8);
    check_shape(net, tutti_net_dropout(net, "h", c, 0.5f), 5, 4, 8);
    check_shape(net, tutti_net_global_avg_pool(net, "i", c), 1, 1, 8);
    tutti_value parts[3];
    tutti_net_split(net, "k", c, 3, (const int64_t[]){5, 1, 2}, parts);
    check_shape(net, parts[0], 5, 4, 5);
    check_shape(net, parts[2], 5, 4, 2);
    ck_assert_int_eq(parts[2], parts[0] + 2);
    tutti_value l = tutti_net_concat(net, "l", 4, (tutti_value[]){parts[2], c, parts[0], parts[1]});
    check_shape(net, l, 5, 4, 16);
    ck_assert_int_eq(l, parts[2] + 1);
    tutti_value y = tutti_net_dense(net, "j", c, 10, TUTTI_INIT_UNIFORM_FAN_IN);
    check_shape(net, y, 1, 1, 10);
    ck_assert_int_eq(tutti_net_output(net, y), y);
    ck_assert_ok(tutti_net_status(net));
    ck_assert_int_eq(tutti_net_parameters(net),
        (8 * 9 * 3 + 8) + 8 * 9 * 8 + 16 + (4 * 3 * 4 + 4) + (5 * 4 * 8 * 10 + 10));
    tutti_net_free(net);
    tutti_net_free(NULL);
}
END_TEST

/* Every row builds a wrong net on a 4x4x2 input; the message names the layer and the shapes. */
static void wrong_window(tutti_net *net, tutti_value x)
{
    tutti_net_conv(net, "big", x, &(tutti_conv_layer){.K = 1, .R = 7, .pad = 1});
}

static void wrong_width(tutti_net *net, tutti_value x)
{
    tutti_net_conv(net, "tall", x, &(tutti_conv_layer){.K = 1, .R = 3, .S = 5, .pad = 1});
}

static void wrong_wide_padding(tutti_net *net, tutti_value x)
{
    tutti_net_conv(net, "edge", x, &(tutti_conv_layer){.K = 1, .R = 3, .S = 2, .pad_s = 2});
}

static void wrong_groups(tutti_net *net, tutti_value x)
{
    tutti_net_conv(net, "odd", x, &(tutti_conv_layer){.K = 3, .R = 1, .groups = 2});
}

static void wrong_counts(tutti_net *net, tutti_value x)
{
    tutti_net_pool(net, "ceil", x,
        &(tutti_pool_layer){.R = 3, .stride = 2, .average = 1, .ceiling = 1, .counts_padding = 1});
}

static void wrong_lrn(tutti_net *net, tutti_value x)
{
    tutti_net_lrn(net, "even", x, &(tutti_lrn_layer){.size = 4, .k = 1});
}

static void wrong_lrn_base(tutti_net *net, tutti_value x)
{
    tutti_net_lrn(net, "zero", x, &(tutti_lrn_layer){.size = 3, .k = 0});
}

static void wrong_auxiliary(tutti_net *net, tutti_value x)
{
    tutti_net_auxiliary(net, x, 0.3);
}

static void wrong_auxiliary_weight(tutti_net *net, tutti_value x)
{
    tutti_net_auxiliary(net, tutti_net_global_avg_pool(net, "side", x), 0);
}

static void wrong_auxiliary_twice(tutti_net *net, tutti_value x)
{
    x = tutti_net_global_avg_pool(net, "side", x);
    tutti_net_auxiliary(net, x, 0.3);
    tutti_net_auxiliary(net, x, 0.3);
}

static void wrong_eps(tutti_net *net, tutti_value x)
{
    tutti_net_batch_norm(net, "sharp", x, &(tutti_norm_layer){.eps = -1e-5f});
}

static void wrong_filters(tutti_net *net, tutti_value x)
{
    tutti_net_conv(net, "none", x, &(tutti_conv_layer){.K = 0, .R = 3});
}

static void wrong_padding(tutti_net *net, tutti_value x)
{
    tutti_net_avg_pool(net, "padded", x, 2, 2, 2);
}

static void wrong_pool(tutti_net *net, tutti_value x)
{
    tutti_net_max_pool(net, "wide", x, 6, 2, 1);
}

static void wrong_add(tutti_net *net, tutti_value x)
{
    tutti_net_add(net, "odd", x, tutti_net_max_pool(net, "half", x, 2, 2, 0), 0);
}

static void wrong_add_itself(tutti_net *net, tutti_value x)
{
    tutti_net_add(net, "twice", x, x, 0);
}

static void wrong_shortcut(tutti_net *net, tutti_value x)
{
    tutti_net_shortcut(net, "narrow", x, 1, 1);
}

static void wrong_stride(tutti_net *net, tutti_value x)
{
    tutti_net_shortcut(net, "far", x, 2, 5);
}

static void wrong_rate(tutti_net *net, tutti_value x)
{
    tutti_net_dropout(net, "all", x, 1.0f);
}

static void wrong_dense(tutti_net *net, tutti_value x)
{
    tutti_net_dense(net, "empty", x, 0, TUTTI_INIT_HE_FAN_IN);
}

static void wrong_name(tutti_net *net, tutti_value x)
{
    tutti_net_relu(net, "same", tutti_net_relu(net, "same", x));
}

static void wrong_long_name(tutti_net *net, tutti_value x)
{
    tutti_net_relu(
        net, "a name so long that no tensor name can be made of it any more, not one", x);
}

static void wrong_input(tutti_net *net, tutti_value x)
{
    tutti_net_relu(net, "future", x + 1);
}

static void wrong_second_input(tutti_net *net, tutti_value x)
{
    (void)x;
    tutti_net_input(net, 1, 1, 1);
}

static void wrong_output(tutti_net *net, tutti_value x)
{
    tutti_net_output(net, x);
}

static void wrong_size(tutti_net *net, tutti_value x)
{
    tutti_net_conv(net, "huge", x, &(tutti_conv_layer){.K = INT64_MAX, .R = 1});
}

static void wrong_concat(tutti_net *net, tutti_value x)
{
    tutti_value half = tutti_net_max_pool(net, "half", x, 2, 2, 0);
    tutti_net_concat(net, "wide", 2, (tutti_value[]){x, half});
}

static void wrong_concat_twice(tutti_net *net, tutti_value x)
{
    tutti_net_concat(net, "pair", 2, (tutti_value[]){x, x});
}

static void wrong_concat_none(tutti_net *net, tutti_value x)
{
    tutti_net_concat(net, "empty", 0, &x);
}

static void wrong_concat_many(tutti_net *net, tutti_value x)
{
    tutti_value all[17] = {x};
    tutti_net_concat(net, "crowd", 17, all);
}

static void wrong_concat_input(tutti_net *net, tutti_value x)
{
    tutti_net_concat(net, "future", 2, (tutti_value[]){x, x + 5});
}

/* `parts` values of one channel each. */
static void split_into(tutti_net *net, tutti_value x, int parts, int64_t last)
{
    int64_t C[20];
    tutti_value value[20];
    for (int i = 0; i < 20; i++) C[i] = i == parts - 1 ? last : 1;
    tutti_net_split(net, "cut", x, parts, C, value);
    for (int i = 0; i < parts; i++) ck_assert_int_eq(value[i], -1);
}

static void wrong_split_left(tutti_net *net, tutti_value x)
{
    split_into(net, x, 1, 1);
}

static void wrong_split_more(tutti_net *net, tutti_value x)
{
    split_into(net, x, 2, 2);
}

static void wrong_split_none(tutti_net *net, tutti_value x)
{
    split_into(net, x, 2, 0);
}

static void wrong_split_parts(tutti_net *net, tutti_value x)
{
    split_into(net, x, 17, 1);
}

static const struct wrong {
    void (*build)(tutti_net *net, tutti_value x);
    const char *says[3];
} wrongs[] = {
    {wrong_window, {"conv layer big", "7x7", "4x4x2"}},
    {wrong_width, {"conv layer tall", "3x5", "4x4x2"}},
    {wrong_wide_padding, {"conv layer edge", "3x2", "padding 0x2"}},
    {wrong_groups, {"conv layer odd", "2 groups", "3 filters"}},
    {wrong_counts, {"average pool layer ceil", "sticks out", "4x4x2"}},
    {wrong_lrn, {"lrn layer even", "4 channels", "odd"}},
    {wrong_lrn_base, {"lrn layer zero", "k 0", "above 0"}},
    {wrong_auxiliary, {"auxiliary output", "4x4x2"}},
    {wrong_auxiliary_weight, {"auxiliary output side", "weight 0"}},
    {wrong_auxiliary_twice, {"auxiliary output side", "twice"}},
    {wrong_eps, {"norm layer sharp", "eps -1e-05"}},
    {wrong_filters, {"conv layer none", "0 filters"}},
    {wrong_padding, {"average pool layer padded", "padding 2"}},
    {wrong_pool, {"max pool layer wide", "6x6", "4x4x2"}},
    {wrong_add, {"add layer odd", "4x4x2", "2x2x2"}},
    {wrong_add_itself, {"add layer twice", "itself"}},
    {wrong_shortcut, {"shortcut layer narrow", "1 channels", "4x4x2"}},
    {wrong_stride, {"shortcut layer far", "stride 5", "4x4x2"}},
    {wrong_rate, {"dropout layer all", "rate 1"}},
    {wrong_dense, {"dense layer empty", "0 outputs"}},
    {wrong_name, {"two layers", "same"}},
    {wrong_long_name, {"a name has 1 to 63 characters"}},
    {wrong_input, {"relu layer future", "not a value"}},
    {wrong_second_input, {"the input must come first"}},
    {wrong_output, {"images", "4x4x2", "1x1xclasses"}},
    {wrong_concat, {"concat layer wide", "4x4x2", "2x2x2"}},
    {wrong_concat_twice, {"concat layer pair", "twice"}},
    {wrong_concat_none, {"concat layer empty", "no value"}},
    {wrong_concat_many, {"concat layer crowd", "17 inputs", "at most 16"}},
    {wrong_concat_input, {"concat layer future", "not a value"}},
    {wrong_split_left, {"split layer cut", "1 channels of 4x4x2"}},
    {wrong_split_more, {"split layer cut", "value 1 gets 2", "1 of 4x4x2"}},
    {wrong_split_none, {"split layer cut", "value 1 gets 0"}},
    {wrong_split_parts, {"split layer cut", "17 values"}},
    {wrong_size, {"conv layer huge", "4x4x9223372036854775807", "too many"}},
};

/* Runs build on a fresh net and captures standard error in text. */
static tutti_status caught(const struct wrong *wrong, char *text, size_t size)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    int saved = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    tutti_net *net = new_net();
    wrong->build(net, tutti_net_input(net, 4, 4, 2));
    tutti_value later = tutti_net_relu(net, "later", 0);
    tutti_status status = tutti_net_status(net);
    tutti_net_free(net);
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
    ck_assert_int_eq(later, -1); /* the failure is sticky */
    return status;
}

START_TEST(errors_name_layer_and_shapes)
{
    const struct wrong *wrong = &wrongs[_i];
    char text[1024];
    ck_assert_int_eq(caught(wrong, text, sizeof text), TUTTI_ERR_INVAL);
    for (int i = 0; i < 3 && wrong->says[i]; i++)
        ck_assert_msg(
            strstr(text, wrong->says[i]) != NULL, "\"%s\" is not in: %s", wrong->says[i], text);
    ck_assert_msg(strchr(text, '\n') == strrchr(text, '\n'), "more than one line: %s", text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *tcase = testing_case(suite, "net");
    tcase_add_test(tcase, shapes_and_counts);
    tcase_add_loop_test(
        tcase, errors_name_layer_and_shapes, 0, (int)(sizeof wrongs / sizeof *wrongs));
    return testing_run(suite);
}
