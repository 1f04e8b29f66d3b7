/* apps/session/layer_rates: which layers a text names; texts that are none. */
#include "apps/session/layer_rates.h"
#include "dag/net/layer.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* in, conv1, bn1, conv10, pool, fc; the bias of fc has twice the rate. */
static tutti_net *make_net(void)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    const tutti_conv_layer conv = {.K = 4, .R = 3, .pad = 1};
    tutti_value x = tutti_net_conv(net, "conv1", tutti_net_input(net, 8, 8, 3), &conv);
    x = tutti_net_conv(net, "conv10", tutti_net_norm(net, "bn1", x, 1), &conv);
    x = tutti_net_dense(
        net, "fc", tutti_net_global_avg_pool(net, "pool", x), 5, TUTTI_INIT_HE_FAN_IN);
    tutti_net_scale(net, x, "bias", 2, 1);
    tutti_net_output(net, x);
    ck_assert_ok(tutti_net_status(net));
    return net;
}

/* The rates of conv1, bn1, conv10, and of fc's weight and bias, as text; or what is wrong. */
static const char *rates(const char *freeze, const char *scale)
{
    static tutti_layer_rates_fault fault;
    static char text[128];
    const tutti_layer_rates given = {freeze, scale};
    tutti_net *net = make_net();
    const int good = tutti_layer_rates_apply(&given, net, &fault);
    const tutti_layer *layer = net->layer;
    snprintf(text, sizeof text, "%g %g %g %g %g", layer[1].factors[0].rate,
        layer[2].factors[0].rate, layer[3].factors[0].rate, layer[5].factors[0].rate,
        layer[5].factors[1].rate);
    tutti_net_free(net);
    return good ? text : fault.reason;
}

START_TEST(names)
{
    static const struct {
        const char *freeze, *scale, *rates;
    } rows[] = {{NULL, NULL, "1 1 1 1 2"}, {"conv1", NULL, "0 1 1 1 2"},
        {"conv1*", NULL, "0 1 0 1 2"}, {"conv1,bn1", NULL, "0 0 1 1 2"},
        {"all-but:fc", NULL, "0 0 0 1 2"}, {"all-but:conv1*,bn1", NULL, "1 1 1 0 0"},
        {NULL, "fc=10", "1 1 1 10 20"}, {NULL, "*=0.5,fc=3", "0.5 0.5 0.5 3 6"},
        {NULL, "fc=3,*=0.5", "0.5 0.5 0.5 0.5 1"}, {"fc", "fc=3,conv10=2", "1 1 2 0 0"},
        {"conv", NULL, "the model has no layer conv with weights; 2 begin so: conv*"},
        {"conv2", NULL, "the model has no layer conv2 with weights; did you mean conv1?"},
        {"pool", NULL, "the model has no layer pool with weights"},
        {"*", NULL, "leaves no layer to train: use --evaluate to train nothing"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(rates(rows[i].freeze, rows[i].scale), rows[i].rates);
    int layers;
    tutti_net *net = make_net();
    tutti_layer_rates_fault fault;
    ck_assert(
        tutti_layer_rates_apply(&(tutti_layer_rates){"all-but:conv1*,bn1", NULL}, net, &fault));
    ck_assert_int_eq(tutti_layer_rates_frozen(net, &layers), 4 * 5 + 5);
    ck_assert_int_eq(layers, 1);
    tutti_net_free(net);
}
END_TEST

/* Any text: rates that can be, and something left to train; or a reason. */
START_TEST(any_text)
{
    static const char *const pieces[] = {"conv1", "bn1", "fc", "*", ",", "=", "all-but:", "fc=10",
        "bn1=0.5", "0.5", "10", "-", "e9", "x", "0",
        "conv10000000000000000000000000000000000000000000000000000000000000000000", "\xff", " "};
    enum { PIECES = sizeof pieces / sizeof *pieces };
    uint32_t state = 1;
    int good[2] = {0};
    for (int i = 0; i < 20000; i++) {
        char text[1024] = "";
        tutti_layer_rates_fault fault;
        state = state * 1664525 + 1013904223;
        for (int left = 1 + (int)(state >> 29); left > 0; left--) {
            state = state * 1664525 + 1013904223;
            strcat(text, pieces[(state >> 16) % PIECES]);
        }
        tutti_net *net = make_net();
        const int freezes = i % 2;
        const tutti_layer_rates given = {freezes ? text : NULL, freezes ? NULL : text};
        double most = 0;
        if (tutti_layer_rates_apply(&given, net, &fault)) {
            good[freezes]++;
            for (int l = 1; l < net->layers; l++) {
                ck_assert(
                    net->layer[l].factors[0].rate >= 0 && isfinite(net->layer[l].factors[0].rate));
                most =
                    fmax(most, net->layer[l].kind->parameters ? net->layer[l].factors[0].rate : 0);
            }
            ck_assert_msg(most > 0, "\"%s\" leaves nothing", text);
        } else {
            ck_assert_msg(*fault.reason, "\"%s\" is refused without a reason", text);
        }
        tutti_net_free(net);
    }
    ck_assert_int_gt(good[0], 10);
    ck_assert_int_gt(good[1], 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layer_rates");
    TCase *tcase = testing_case(suite, "layer_rates");
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, any_text);
    return testing_run(suite);
}
