#include "dag/step/builder.h"

#include "dag/kernels/arith.h"
#include "dag/kernels/loss.h"

#include <stdio.h>

/* seen = logits, or both = seen + logits. */
static tutti_status see(tutti_builder *b, int s, int again)
{
    tutti_micro_batch *micro_batch = &b->step->micro_batch[s];
    tutti_sum_desc desc = {.count = micro_batch->count * tutti_net_extent(b->net, b->net->output).C,
        .inputs = again ? 2 : 1};
    tutti_access access[3],
        into = again ? tutti_writes(micro_batch->both) : tutti_writes(micro_batch->seen);
    int n = 0, node;
    if (again) access[n++] = tutti_reads(micro_batch->seen);
    access[n++] = tutti_reads(tutti_builder_value(b, b->net->output, s));
    access[n++] = into;
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s@%d", again ? "views.sum" : "views.first", s);
    return tutti_graph_kernel(b->graph, name, &tutti_op_sum, &desc, sizeof desc, n, access, &node);
}

static tutti_status evaluate_output(tutti_builder *b, int s, int logits, int views)
{
    tutti_micro_batch *micro_batch = &b->step->micro_batch[s];
    tutti_xent_desc desc = {.N = micro_batch->count,
        .K = tutti_net_extent(b->net, b->net->output).C,
        .weight = 1,
        .views = views};
    tutti_access access[] = {
        tutti_reads(logits), tutti_reads(micro_batch->labels), tutti_writes(micro_batch->metrics)};
    char name[TUTTI_SITE_NAME];
    int node;
    snprintf(name, sizeof name, "%s@%d", tutti_op_xent_eval.name, s);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_xent_eval, &desc, sizeof desc, 3, access, &node);
}

static tutti_status declare(tutti_builder *b, int s)
{
    if (b->own.stage && !tutti_builder_has_loss(b)) return TUTTI_OK;
    tutti_shape shape =
        tutti_shape_of(b->step->micro_batch[s].count, tutti_net_extent(b->net, b->net->output).C);
    tutti_dtype dtype = tutti_net_dtype(b->net, b->net->output);
    tutti_status status = tutti_builder_tensor(b, "", "views", "first", s, TUTTI_ROLE_SCRATCH,
        dtype, shape, &b->step->micro_batch[s].seen);
    return status == TUTTI_OK ? tutti_builder_tensor(b, "", "views", "sum", s, TUTTI_ROLE_SCRATCH,
                                    dtype, shape, &b->step->micro_batch[s].both)
                              : status;
}

static int views_of(const tutti_builder *b, int s, int again)
{
    return again ? b->step->micro_batch[s].both : b->step->micro_batch[s].seen;
}

/* What follows the last layer. */
static tutti_status finish(tutti_builder *b, int s, int again)
{
    int output = b->net->source[b->net->output].layer;
    if (output < b->first || output >= b->end) return TUTTI_OK;
    tutti_status status = see(b, s, again);
    if (status == TUTTI_OK)
        status = again ? evaluate_output(b, s, b->step->micro_batch[s].both, 2)
                       : evaluate_output(b, s, tutti_builder_value(b, b->net->output, s), 1);
    return status == TUTTI_OK ? tutti_builder_send_metrics(b, s, views_of(b, s, again)) : status;
}

static tutti_status forward(tutti_builder *b, int l, int s)
{
    tutti_status status = TUTTI_OK;
    if (l == b->first) {
        status = tutti_builder_receive_labels(b, s, 1);
        if (status == TUTTI_OK) status = tutti_builder_receive_values(b, s, 1);
    }
    if (status == TUTTI_OK) status = tutti_builder_forward(b, l, s, 1);
    return status == TUTTI_OK ? tutti_builder_send_values(b, l, s, 1) : status;
}

/* The forward units of training, with what evaluation has behind the last layer. */
static tutti_status emit_unit(tutti_builder *b, const tutti_unit *unit, int again)
{
    tutti_status status = TUTTI_OK;
    int s = unit->micro_batch;
    if (unit->phase != TUTTI_UNIT_FORWARD) return TUTTI_OK;
    for (int l = b->first + unit->first; l < b->first + unit->end && status == TUTTI_OK; l++)
        status = l == b->end ? finish(b, s, again) : forward(b, l, s);
    return status;
}

/* With averages in place of parameters or not: layers that read copies of parameters then find those
 * of the averages, for as long as the pass takes. */
static tutti_status append_section(
    tutti_builder *b, int averages, int again, const char *name, int *section)
{
    tutti_status status = tutti_graph_section(b->graph, name, section);
    if (status == TUTTI_OK && averages) status = tutti_builder_refresh_copies(b, 1);
    for (int i = 0; i < b->units && status == TUTTI_OK; i++)
        status = emit_unit(b, &b->unit[i], again);
    for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++)
        status = tutti_builder_receive_metrics(b, s, views_of(b, s, again));
    return status == TUTTI_OK && averages ? tutti_builder_refresh_copies(b, 0) : status;
}

/* Two sections: the first view, and the mean of the first and another one. */
static tutti_status append_sections(tutti_builder *b, int averages, const char *name,
    const char *again_name, int *section, int *again)
{
    tutti_status status = append_section(b, averages, 0, name, section);
    return status == TUTTI_OK ? append_section(b, averages, 1, again_name, again) : status;
}

/* Makes the sites read averages in place of parameters and running statistics. */
static void use_averages(tutti_builder *b)
{
    for (int i = 0; i < b->net->layers * b->options->micro_batches; i++) {
        tutti_site *site = &b->site[i];
        for (int p = 0; p < TUTTI_LAYER_PARAMETERS; p++) {
            int at = site->index * TUTTI_LAYER_PARAMETERS + p;
            if (site->parameter[p] >= 0 && b->copy[at] < 0)
                site->parameter[p] = b->trained[at].average;
        }
        if (site->running >= 0) site->running = b->average[site->index];
    }
}

tutti_status tutti_builder_evaluate(tutti_builder *b)
{
    tutti_step *step = b->step;
    tutti_status status = TUTTI_OK;
    for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++)
        status = declare(b, s);
    if (status == TUTTI_OK)
        status = append_sections(b, 0, "eval", "eval_again", &step->eval, &step->eval_again);
    if (status != TUTTI_OK || b->options->average_decay <= 0) return status;
    use_averages(b);
    return append_sections(
        b, 1, "eval_average", "eval_average_again", &step->eval_average, &step->eval_average_again);
}
