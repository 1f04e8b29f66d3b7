/* The gradients of a step that travel compressed, if a codec is asked for. Others are summed as they are. */
#include "dag/base/log.h"
#include "dag/kernels/codec.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of smaller ones the time is that of a message, whatever its size. */
enum { LEAST = 1024 };

static const char residual_prefix[] = "residual.";

static int compresses(const tutti_step_options *o)
{
    return o->codec && o->codec->compresses;
}

tutti_status tutti_codec_check(const tutti_step_options *o, const tutti_strategy *strategy)
{
    if (!compresses(o)) return TUTTI_OK;
    if (!strategy->compresses || o->placement.blocks > 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the codec %s needs whole gradients of every replica: use the strategy sync, and "
            "divide no layers",
            o->codec->name);
    if (o->wire != TUTTI_F32)
        return tutti_fail(TUTTI_ERR_INVAL, "step: the codec %s takes gradients in %s, not %s",
            o->codec->name, tutti_dtype_name(TUTTI_F32), tutti_dtype_name(o->wire));
    if (!(o->codec_value >= o->codec->low && o->codec_value <= o->codec->high))
        return tutti_fail(TUTTI_ERR_INVAL, "step: the codec %s with %g, not %g to %g",
            o->codec->name, o->codec_value, o->codec->low, o->codec->high);
    return TUTTI_OK;
}

static int find(const tutti_builder *b, int l, int p, tutti_compressed *c)
{
    const tutti_codec *codec = b->options->codec;
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (!compresses(b->options)) return 0;
    tutti_layer_parameters(&b->net->layer[l], parameter);
    const tutti_shape *shape = &parameter[p].shape;
    const int64_t least = b->options->codec_least ? b->options->codec_least : LEAST;
    const int64_t count = tutti_shape_count(shape);
    *c = (tutti_compressed){.l = l,
        .layer = b->net->layer[l].name,
        .suffix = parameter[p].suffix,
        .trained = tutti_builder_trained(b, l, p),
        .rows = shape->dim[0],
        .columns = count / shape->dim[0],
        .count = count,
        .value = b->options->codec_value};
    return !parameter[p].per_channel && c->count >= least && 2 * codec->numbers(c) <= c->count;
}

/* The bytes that a rank sends if such numbers of 4 bytes are summed, or gathered, along a ring. */
static double sent(const tutti_builder *b, double bytes, int sums)
{
    const int R = b->options->placement.global_replicas;
    return sums ? 2 * (double)(R - 1) / R * bytes : (R - 1) * bytes;
}

tutti_status tutti_builder_sum(tutti_builder *b, int l, int p)
{
    const tutti_codec *codec = b->options->codec;
    tutti_trained *t = tutti_builder_trained(b, l, p);
    tutti_step *step = b->step;
    tutti_compressed c;
    step->plain_bytes += sent(b, (double)t->count * sizeof(float), 1);
    if (find(b, l, p, &c)) {
        const double numbers = (double)codec->numbers(&c);
        step->sent_bytes += sent(b, numbers * sizeof(float), codec->sums);
        return codec->send(b, &c);
    }
    step->sent_bytes += sent(b, (double)tutti_graph_get_tensor(b->graph, t->gradient)->bytes, 1);
    return tutti_builder_mark(b, l, TUTTI_MARK_ALLREDUCE, t->gradient, 0, &t->mark);
}

typedef tutti_status (*visit_fn)(tutti_builder *b, const tutti_compressed *c);
static tutti_status visit_all(tutti_builder *b, visit_fn visit)
{
    tutti_parameter_walk at = {.from_last = 1};
    tutti_compressed c;
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        if (find(b, at.l, at.p, &c)) status = visit(b, &c);
    return status;
}

static tutti_status declare(tutti_builder *b, const tutti_compressed *c)
{
    const tutti_step_options *o = b->options;
    int *residual = &c->trained->residual;
    tutti_status status = tutti_builder_state(b, residual_prefix, c->l, c->suffix, TUTTI_F32,
        tutti_shape_of(o->placement.global_replicas, c->count), residual);
    if (status != TUTTI_OK) return status;
    b->step->state_sharded[b->step->states - 1] = TUTTI_SHARDED_ROWS;
    status = tutti_graph_set_own(b->graph, *residual, b->own.global_replica * c->count, c->count);
    return status == TUTTI_OK ? o->codec->declare(b, c) : status;
}

tutti_status tutti_builder_declare_compressed(tutti_builder *b)
{
    return visit_all(b, declare);
}

/* No reader of a sum comes before the last mark, so that marks can be fused. */
tutti_status tutti_builder_receive(tutti_builder *b)
{
    const tutti_codec *codec = b->options->codec;
    tutti_status status = TUTTI_OK;
    if (!compresses(b->options)) return TUTTI_OK;
    if (codec->send_again) status = visit_all(b, codec->send_again);
    return status == TUTTI_OK ? visit_all(b, codec->receive) : status;
}

tutti_status tutti_step_cut_residuals(tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < step->states && status == TUTTI_OK; i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(step->graph, step->state[i]);
        if (step->state_sharded[i] == TUTTI_SHARDED_ROWS && t->owns < tutti_shape_count(&t->shape))
            status = tutti_graph_cut(step->graph, step->state[i], t->first, t->owns);
    }
    return status;
}

/* The descriptor of a kernel that writes or reads a code begins with where that is. */
static tutti_status place_compressed(tutti_graph *graph, const tutti_compressed_node *code)
{
    const tutti_node *node = tutti_graph_get_node(graph, code->node);
    const tutti_tensor *t = tutti_graph_get_tensor(graph, code->tensor),
                       *all = tutti_graph_get_tensor(graph, t->block);
    tutti_compressed_rows *desc = malloc(node->desc_bytes);
    if (!desc) return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for node '%s'", node->name);
    memcpy(desc, node->desc, node->desc_bytes);
    desc->first = (int64_t)(t->offset / tutti_dtype_bytes(t->dtype));
    desc->stride = all->shape.dim[1];
    tutti_status status = tutti_graph_set_desc(graph, code->node, desc, node->desc_bytes);
    free(desc);
    return status;
}

tutti_status tutti_step_place_compressed(tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < step->compressed_nodes && status == TUTTI_OK; i++)
        status = place_compressed(step->graph, &step->compressed_node[i]);
    return status;
}

/* ---- for codecs ---- */

tutti_status tutti_compressed_kernel(tutti_builder *b, const tutti_compressed *c,
    const tutti_op *op, const void *desc, size_t desc_bytes, int sends, int accesses,
    const tutti_access access[])
{
    char name[TUTTI_SITE_NAME + 24];
    int node;
    snprintf(name, sizeof name, "%s.%s.%s", c->layer, c->suffix, op->name);
    tutti_status status =
        tutti_graph_kernel(b->graph, name, op, desc, desc_bytes, accesses, access, &node);
    if (status != TUTTI_OK) return status;
    if (sends) tutti_graph_set_priority(b->graph, node, tutti_builder_urgent(b) - 1);
    return TUTTI_OK;
}

tutti_status tutti_compressed_declare_rows(tutti_builder *b, const tutti_compressed *c)
{
    return tutti_builder_tensor(b, "code.", c->layer, c->suffix, -1, TUTTI_ROLE_SCRATCH, TUTTI_I32,
        tutti_shape_of(b->options->placement.global_replicas, b->options->codec->numbers(c)),
        &c->trained->code);
}

tutti_compressed_rows tutti_compressed_rows_of(const tutti_builder *b, const tutti_compressed *c)
{
    return (tutti_compressed_rows){.replica = b->own.global_replica,
        .replicas = b->options->placement.global_replicas,
        .stride = b->options->codec->numbers(c)};
}

/* Notes the kernel appended last. */
static void record_compressed(tutti_builder *b, const tutti_compressed *c)
{
    tutti_step *step = b->step;
    step->compressed_node[step->compressed_nodes++] = (tutti_compressed_node){
        .node = tutti_graph_nodes(b->graph) - 1, .tensor = c->trained->code};
}

tutti_status tutti_compressed_gather(tutti_builder *b, const tutti_compressed *c,
    const tutti_op *op, const void *desc, size_t desc_bytes)
{
    const tutti_trained *t = c->trained;
    const tutti_access access[] = {
        tutti_reads(t->gradient), tutti_writes(t->code), tutti_updates(t->residual)};
    tutti_status status = tutti_compressed_kernel(b, c, op, desc, desc_bytes, 1, 3, access);
    if (status != TUTTI_OK) return status;
    record_compressed(b, c);
    return tutti_builder_gather_rows(b, c->l, t->code);
}

tutti_status tutti_compressed_decode(tutti_builder *b, const tutti_compressed *c,
    const tutti_op *op, const void *desc, size_t desc_bytes)
{
    const tutti_access access[] = {
        tutti_reads(c->trained->code), tutti_writes(c->trained->gradient)};
    tutti_status status = tutti_compressed_kernel(b, c, op, desc, desc_bytes, 0, 2, access);
    if (status == TUTTI_OK) record_compressed(b, c);
    return status;
}
