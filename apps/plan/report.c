#include "apps/plan/report.h"

#include "dag/base/log.h"
#include "dag/step/strategy.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* What a layer costs in MB a step: data, model, and hybrid with G* groups. */
typedef struct costs {
    double data, model, hybrid;
} costs;

static costs costs_of(const tutti_plan *plan, const tutti_plan_layer *l)
{
    const double batch = (double)plan->batch;
    return (costs){1e-6 * tutti_plan_data_bytes(&l->shape, 1),
        1e-6 * tutti_plan_model_bytes(&l->shape, batch),
        1e-6 * tutti_plan_hybrid_bytes(&l->shape, batch, plan->ranks, l->groups, 1)};
}

/* Of the kernels on equally many images, over that of the step. */
static double efficiency_of(const tutti_plan *plan, const tutti_plan_layout *c)
{
    return plan->layers.image_s * (double)plan->batch / plan->ranks / plan->layers.workers /
           c->step_s;
}

static void print_layers(const tutti_plan *plan)
{
    printf("%-24s %11s %9s %9s %9s %9s %9s %6s %6s %10s %9s %10s\n", "layer", "parameters",
        "forward", "backward", "data MB", "model MB", "hybrid MB", "groups", "split", "memory MB",
        "hidden ms", "exposed ms");
    for (int i = 0; i < plan->layers.count; i++) {
        const tutti_plan_layer *l = &plan->layers.layer[i];
        const costs c = costs_of(plan, l);
        if (!(l->shape.weights > 0)) continue;
        printf("%-24s %11.0f %9.3f %9.3f %9.3f %9.3f %9.3f %6d %6d %10.3f %9.3f %10.3f\n", l->name,
            l->shape.weights, 1e3 * l->forward_s, 1e3 * l->backward_s, c.data, c.model, c.hybrid,
            l->groups, l->blocks, 1e-6 * l->memory, 1e3 * l->hidden_s, 1e3 * l->exposed_s);
    }
    printf("every rank a replica of %g images: kernels take %.3f ms, a step %.3f ms by these "
           "figures\n\n",
        plan->layers.images,
        1e3 * plan->layers.image_s * plan->layers.images / plan->layers.workers,
        1e3 * plan->layers.step_s);
}

static void print_layouts(const tutti_plan *plan)
{
    char text[TUTTI_PLAN_OPTIONS];
    printf("%11s %11s %10s %11s %10s %10s  %s\n", "simulated", "expected", "images/s", "efficiency",
        "memory MB", "sends MB", "layout");
    for (int i = 0; i < plan->layouts.count; i++) {
        const tutti_plan_layout *c = &plan->layouts.layout[i];
        if (!c->simulated) continue;
        printf("%8.3f ms %8.3f ms %10.0f %9.1f %% %10.1f %10.3f  %s\n", 1e3 * c->step_s,
            1e3 * c->expected_s, (double)plan->batch / c->step_s, 100 * efficiency_of(plan, c),
            1e-6 * c->memory, 1e-6 * c->sends, tutti_plan_layout_print(c, text));
    }
}

/* Why the runner-up is slower, as far as one number says it. */
static void print_why(const tutti_plan_layout *best, const tutti_plan_layout *second)
{
    char text[TUTTI_PLAN_OPTIONS];
    const double more = 100 * (second->step_s / best->step_s - 1);
    printf("runner-up: %s\n  a step takes %.3f ms, %.1f %% more: ",
        tutti_plan_layout_print(second, text), 1e3 * second->step_s, more);
    if (second->sends > 1.01 * best->sends)
        printf("a rank sends up to %.3f MB\n", 1e-6 * second->sends);
    else if (second->kernels_s > 1.01 * best->kernels_s)
        printf("the busiest rank's kernels take %.3f ms\n", 1e3 * second->kernels_s);
    else if (second->messages > 1.01 * best->messages)
        printf("ranks send %.0f messages a step, not %.0f\n", second->messages, best->messages);
    else
        printf("it sends and computes as much, and waits longer\n");
}

void tutti_plan_print(const tutti_plan *plan)
{
    char text[TUTTI_PLAN_OPTIONS];
    int simulated = 0;
    for (int i = 0; i < plan->layouts.count; i++) simulated += plan->layouts.layout[i].simulated;
    printf("%s, %lld images a step, on %d rank%s of %s\n\n", plan->model, (long long)plan->batch,
        plan->ranks, plan->ranks == 1 ? "" : "s", plan->topology);
    print_layers(plan);
    print_layouts(plan);
    printf("%d of %d layouts were simulated: those that are expected to be fastest, and that "
           "without --layout\n\n",
        simulated, plan->layouts.count);
    printf(
        "fastest: %s\n  a step takes %.3f ms; the busiest rank's kernels take %.3f ms, and a rank "
        "sends up to %.3f MB\n",
        tutti_plan_layout_print(plan->best, text), 1e3 * plan->best->step_s,
        1e3 * plan->best->kernels_s, 1e-6 * plan->best->sends);
    if (plan->second) print_why(plan->best, plan->second);
}

/* ---- JSON ---- */

static json_t *layer_of(const tutti_plan *plan, const tutti_plan_layer *l)
{
    const costs c = costs_of(plan, l);
    return json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:i,s:i,s:f,s:f,s:f}", "layer", l->name,
        "parameters", l->shape.weights, "forward_ms", 1e3 * l->forward_s, "backward_ms",
        1e3 * l->backward_s, "data_mb", c.data, "model_mb", c.model, "hybrid_mb", c.hybrid,
        "groups", l->groups, "split", l->blocks, "memory_mb", 1e-6 * l->memory, "hidden_ms",
        1e3 * l->hidden_s, "exposed_ms", 1e3 * l->exposed_s);
}

static json_t *layout_of(const tutti_plan *plan, const tutti_plan_layout *c)
{
    char text[TUTTI_PLAN_OPTIONS];
    return json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "options",
        tutti_plan_layout_print(c, text), "step_ms", 1e3 * c->step_s, "expected_ms",
        1e3 * c->expected_s, "kernels_ms", 1e3 * c->kernels_s, "sends_mb", 1e-6 * c->sends,
        "total_mb", 1e-6 * c->total, "memory_mb", 1e-6 * c->memory, "images_per_s",
        (double)plan->batch / c->step_s, "efficiency", efficiency_of(plan, c));
}

tutti_status tutti_plan_print_json(const tutti_plan *plan)
{
    json_t *layers = json_array(), *layouts = json_array();
    for (int i = 0; i < plan->layers.count; i++)
        if (plan->layers.layer[i].shape.weights > 0)
            json_array_append_new(layers, layer_of(plan, &plan->layers.layer[i]));
    for (int i = 0; i < plan->layouts.count; i++)
        if (plan->layouts.layout[i].simulated)
            json_array_append_new(layouts, layout_of(plan, &plan->layouts.layout[i]));
    json_t *all = json_pack("{s:s,s:s,s:s,s:i,s:I,s:i,s:o,s:o,s:o}", "event", "plan", "model",
        plan->model, "topology", plan->topology, "ranks", plan->ranks, "batch",
        (json_int_t)plan->batch, "layouts_known", plan->layouts.count, "layers", layers, "layouts",
        layouts, "fastest", layout_of(plan, plan->best));
    char *text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (text) puts(text);
    free(text);
    json_decref(all);
    return text ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a plan as JSON");
}
