#include "apps/plan/equations.h"

#include <math.h>

static const double BYTES = 4; /* of a number */

double tutti_plan_data_balance(const tutti_plan_shape *shape, double images, double overlap)
{
    enum { PASSES = 3, OPERATIONS = 2 }; /* forward, and two backward; a product and a sum */
    return PASSES * OPERATIONS * shape->weights * shape->pixels * images /
           tutti_plan_data_bytes(shape, overlap);
}

double tutti_plan_data_bytes(const tutti_plan_shape *shape, double overlap)
{
    return BYTES * shape->weights * (2 - overlap);
}

double tutti_plan_model_bytes(const tutti_plan_shape *shape, double batch)
{
    return 2 * BYTES * shape->inputs * batch;
}

double tutti_plan_hybrid_bytes(
    const tutti_plan_shape *shape, double batch, int ranks, double groups, double overlap)
{
    return tutti_plan_model_bytes(shape, batch) / groups +
           tutti_plan_data_bytes(shape, overlap) * groups / ranks;
}

int tutti_plan_prefers_model(const tutti_plan_shape *shape, double batch, double overlap)
{
    return tutti_plan_data_bytes(shape, overlap) > tutti_plan_model_bytes(shape, batch);
}

double tutti_plan_groups_free(
    const tutti_plan_shape *shape, double batch, int ranks, double overlap)
{
    return sqrt(2 * shape->inputs * batch * ranks / (shape->weights * (2 - overlap)));
}

/* hybrid_bytes has one minimum: the best divisor is one of those next to it. */
int tutti_plan_groups(const tutti_plan_shape *shape, double batch, int ranks, double overlap)
{
    const double best = tutti_plan_groups_free(shape, batch, ranks, overlap);
    int below = 1, above = ranks;
    for (int g = 1; g <= ranks; g++) {
        if (ranks % g) continue;
        if (g <= best) below = g;
        if (g >= best && g < above) above = g;
    }
    return tutti_plan_hybrid_bytes(shape, batch, ranks, below, overlap) <=
                   tutti_plan_hybrid_bytes(shape, batch, ranks, above, overlap)
               ? below
               : above;
}

double tutti_plan_values_bytes(const tutti_plan_shape *shape, double images, int blocks)
{
    const int ways = shape->first ? 1 : 2;
    return BYTES * (blocks - 1) * images * (ways * shape->inputs + 2 * shape->outputs);
}

double tutti_plan_sums_bytes(const tutti_plan_shape *shape, int replicas, int blocks)
{
    const double alike = replicas / blocks;
    return 2 * BYTES * (alike - 1) / alike * shape->weights / blocks;
}

int tutti_plan_blocks(const tutti_plan_shape *shape, double images, int replicas)
{
    double least = INFINITY;
    int best = 1;
    for (int b = 1; b <= replicas; b++) {
        if (replicas % b || fmod(shape->outputs, b) != 0) continue;
        const double bytes =
            tutti_plan_values_bytes(shape, images, b) + tutti_plan_sums_bytes(shape, replicas, b);
        if (bytes >= least) continue;
        least = bytes;
        best = b;
    }
    return best;
}

double tutti_plan_bubble(int layers, const double forward_s[], const double backward_s[],
    const double sum_s[], double exposed_s[], double end_s[])
{
    double now_s = 0, wire_s = 0;
    for (int l = layers - 1; l >= 0; l--) {
        now_s += backward_s[l];
        if (sum_s[l] > 0) wire_s = fmax(wire_s, now_s) + sum_s[l];
        end_s[l] = sum_s[l] > 0 ? wire_s : now_s;
    }
    for (int l = 0; l < layers; l++) {
        exposed_s[l] = fmax(0, end_s[l] - now_s);
        now_s += exposed_s[l] + forward_s[l];
    }
    return now_s;
}
