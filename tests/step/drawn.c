#include "tests/step/drawn.h"

#include "dag/base/rng.h"

#include <stdio.h>

enum { LAYERS = 9 };

static int draw(uint64_t seed, int i, int n)
{
    return (int)tutti_rng_below(seed, tutti_rng_stream("net"), (uint64_t)i, (uint64_t)n);
}

/* Two branches of a value, or parts of it, one of which is used twice. */
static tutti_value branch(tutti_net *net, uint64_t seed, int i, tutti_value x)
{
    char name[4][32];
    for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], "branch%d.%d", i, k);
    if (draw(seed, 100 + i, 2)) {
        tutti_value part[2];
        tutti_net_split(net, name[0], x, 2, (const int64_t[]){1, DRAWN_CHANNELS - 1}, part);
        tutti_value r = tutti_net_relu(net, name[1], part[1]);
        tutti_value all[] = {part[1], part[0], r};
        x = tutti_net_concat(net, name[2], 3, all);
        return tutti_net_conv(net, name[3], x, &(tutti_conv_layer){.K = DRAWN_CHANNELS, .R = 1});
    }
    tutti_value y = tutti_net_conv(net, name[0], x,
        &(tutti_conv_layer){.K = DRAWN_CHANNELS, .R = 3, .pad = 1, .bias = draw(seed, i, 2)});
    y = tutti_net_norm(net, name[1], y, draw(seed, 200 + i, 2));
    return tutti_net_add(net, name[2], y, x, draw(seed, 300 + i, 2));
}

/* x after one more layer; earlier: values of its shape, `count` of them. */
static tutti_value append(
    tutti_net *net, uint64_t seed, int i, tutti_value x, const tutti_value earlier[], int count)
{
    char name[32];
    snprintf(name, sizeof name, "layer%d", i);
    switch (i < 4 ? i : draw(seed, 400 + i, 7)) {
    case 0:
        return branch(net, seed, i, x);
    case 1:
        return tutti_net_dropout(net, name, x, 0.25f);
    case 2:
        return tutti_net_norm(net, name, x, 1);
    case 3:
        return tutti_net_add(
            net, name, x, earlier[draw(seed, 500 + i, count)], draw(seed, 600 + i, 2));
    case 4:
        return tutti_net_relu(net, name, x);
    case 5:
        return tutti_net_max_pool(net, name, x, 3, 1, 1);
    default:
        return tutti_net_avg_pool(net, name, x, 3, 1, 1);
    }
}

void drawn_net(tutti_net *net, uint64_t seed, int side)
{
    tutti_value value[LAYERS + 1];
    tutti_value x = tutti_net_input(net, side, side, DRAWN_CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = DRAWN_CHANNELS, .R = 3, .pad = 1});
    value[0] = x;
    for (int i = 0; i < LAYERS; i++) {
        x = append(net, seed, i, x, value, i);
        value[i + 1] = x;
    }
    tutti_value early =
        tutti_net_dense(net, "early", value[LAYERS / 2], DRAWN_CLASSES, TUTTI_INIT_UNIFORM_FAN_IN);
    tutti_net_auxiliary(net, early, 0.3);
    x = tutti_net_conv(net, "more", x, &(tutti_conv_layer){.K = DRAWN_CHANNELS, .R = 1, .bias = 1});
    x = tutti_net_add(net, "again", x, value[draw(seed, 700, LAYERS)], 0);
    x = tutti_net_dropout(net, "last", tutti_net_max_pool(net, "pool", x, 2, 2, 0), 0.5f);
    x = tutti_net_global_avg_pool(net, "mean", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, DRAWN_CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}
