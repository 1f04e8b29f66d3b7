/* Initial values. Element e of a parameter is a function of (seed, name, e), so every rank starts
 * from the same weights, however the batch is cut. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/step/codec.h"
#include "dag/net/site.h"
#include "dag/step/step.h"
#include "dag/step/update_rule.h"

#include <stdio.h>
#include <string.h>

static void fill_normal(
    float *x, int64_t first, int64_t count, double spread, uint64_t seed, uint64_t stream)
{
    double normal[512];
    const int64_t most = sizeof normal / sizeof *normal;
    for (int64_t n; count > 0; x += n, first += n, count -= n) {
        n = count < most ? count : most;
        tutti_rng_normals(seed, stream, (uint64_t)first, (size_t)n, normal);
        for (int64_t e = 0; e < n; e++) x[e] = (float)(spread * normal[e]);
    }
}

/* Elements from number `first` on. half: where the second constant of two begins. */
static void fill_values(float *x, int64_t first, int64_t count, int64_t half, tutti_start start,
    double spread, uint64_t seed, const char *name)
{
    uint64_t stream = tutti_rng_stream(name);
    switch (start) {
    case TUTTI_START_ZERO:
        memset(x, 0, (size_t)count * sizeof *x);
        break;
    case TUTTI_START_NORMAL:
        fill_normal(x, first, count, spread, seed, stream);
        break;
    case TUTTI_START_UNIFORM:
        for (int64_t e = 0; e < count; e++)
            x[e] =
                (float)(spread * (2 * tutti_rng_uniform(seed, stream, (uint64_t)(first + e)) - 1));
        break;
    case TUTTI_START_ONE_ZERO:
    case TUTTI_START_ZERO_ONE:
        for (int64_t e = 0; e < count; e++)
            x[e] = (first + e < half) == (start == TUTTI_START_ONE_ZERO);
        break;
    }
}

typedef struct target {
    const tutti_graph *graph;
    const tutti_runner *runner;
    tutti_run *run;
    uint64_t seed;
    const tutti_update_rule *rule;
    const char *kept; /* by the strategy */
    int averages;
    const tutti_placement *placement;
    int served; /* what is not here is on a server */
} target;

/* The prefix takes no part in the values: an average begins as what it averages. */
static tutti_status start_tensor(const target *t, const char *prefix, const tutti_layer *of,
    const char *suffix, tutti_start start, double spread)
{
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s%s.%s", prefix, of->name, suffix);
    int tensor = tutti_graph_find(t->graph, name);
    if (tensor < 0 && t->served) return TUTTI_OK;
    if (tensor < 0)
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: no tensor %s: the step was built from another net", name);
    const tutti_tensor *found = tutti_graph_get_tensor(t->graph, tensor);
    if (found->dtype != TUTTI_F32)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "step: no initial values for %s: it is %s, not %s",
            name, tutti_dtype_name(found->dtype), tutti_dtype_name(TUTTI_F32));
    void *data;
    tutti_status status = t->runner->acquire(t->run, tensor, TUTTI_WRITE, found->bytes, &data);
    if (status) return status;
    const int64_t count = tutti_shape_count(&found->shape);
    const int64_t before = tutti_layer_is_divided(of, t->placement)
                               ? t->placement->own.block * count
                           : t->served ? found->first
                                       : 0;
    /* A server may have a portion of a scale and a shift for each channel, or both of some channels. */
    const int64_t half = t->served ? of->out[0].C : before + count / 2;
    fill_values(data, before, count, half, start, spread, t->seed, name + strlen(prefix));
    t->runner->release(t->run, tensor);
    return TUTTI_OK;
}

static tutti_status start_layer(const target *t, const tutti_layer *layer)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int n = tutti_layer_parameters(layer, parameter);
    for (int p = 0; p < n; p++) {
        const char *suffix = parameter[p].suffix;
        tutti_status status =
            start_tensor(t, "", layer, suffix, parameter[p].start, parameter[p].spread);
        for (int i = 0; t->rule->prefix[i] && status == TUTTI_OK; i++)
            status = start_tensor(t, t->rule->prefix[i], layer, suffix, TUTTI_START_ZERO, 0);
        if (status == TUTTI_OK && t->kept)
            status = start_tensor(t, t->kept, layer, suffix, TUTTI_START_ZERO, 0);
        if (status == TUTTI_OK && t->averages)
            status =
                start_tensor(t, "average.", layer, suffix, parameter[p].start, parameter[p].spread);
        if (status != TUTTI_OK) return status;
    }
    if (!layer->kind->statistics) return TUTTI_OK;
    tutti_status status = start_tensor(t, "", layer, "running", TUTTI_START_ZERO_ONE, 0);
    if (status == TUTTI_OK && t->averages)
        status = start_tensor(t, "average.", layer, "running", TUTTI_START_ZERO_ONE, 0);
    return status;
}

/* What a codec keeps begins as zeros. */
static tutti_status start_states(const target *t, const tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0;
         step->codec && step->codec->compresses && i < step->states && status == TUTTI_OK; i++) {
        const tutti_tensor *state = tutti_graph_get_tensor(step->graph, step->state[i]);
        void *data;
        status = t->runner->acquire(t->run, step->state[i], TUTTI_WRITE, state->bytes, &data);
        if (status != TUTTI_OK) return status;
        memset(data, 0, state->bytes);
        t->runner->release(t->run, step->state[i]);
    }
    return status;
}

tutti_status tutti_step_init(const tutti_step *step, const tutti_net *net,
    const tutti_runner *runner, tutti_run *run, uint64_t seed)
{
    target t = {.graph = step->graph,
        .runner = runner,
        .run = run,
        .seed = seed,
        .rule = step->rule,
        .kept = step->kept,
        .averages = step->eval_average >= 0,
        .placement = &step->placement,
        .served = step->served};
    tutti_status status = start_states(&t, step);
    for (int l = step->first; l < step->end && status == TUTTI_OK; l++)
        status = start_layer(&t, &net->layer[l]);
    return status;
}
