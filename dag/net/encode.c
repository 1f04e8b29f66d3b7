/* The gradients of a step that travel as codes, if a codec is asked for. Others are summed as they are. */
#include "dag/base/log.h"
#include "dag/net/builder.h"
#include "dag/net/codec.h"

#include <stdio.h>

/* Of smaller ones the time is that of a message, whatever its size. */
enum { LEAST = 1024 };

static const char residual_prefix[] = "residual.";

static int encodes(const tutti_step_options *o)
{
    return o->codec && o->codec->encodes;
}

tutti_status tutti_codec_check(const tutti_step_options *o, const tutti_strategy *strategy)
{
    if (!encodes(o)) return TUTTI_OK;
    if (!strategy->encodes || o->division.ranks > 1)
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

static int find(const tutti_builder *b, int l, int p, tutti_coded *c)
{
    const tutti_codec *codec = b->options->codec;
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (!encodes(b->options)) return 0;
    tutti_layer_parameters(&b->net->layer[l], parameter);
    const tutti_shape *shape = &parameter[p].shape;
    const int64_t least = b->options->codec_least ? b->options->codec_least : LEAST;
    const int64_t count = tutti_shape_count(shape);
    *c = (tutti_coded){.l = l,
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
    const int R = b->options->replicas;
    return sums ? 2 * (double)(R - 1) / R * bytes : (R - 1) * bytes;
}

tutti_status tutti_builder_sum(tutti_builder *b, int l, int p)
{
    const tutti_codec *codec = b->options->codec;
    tutti_trained *t = tutti_builder_trained(b, l, p);
    tutti_step *step = b->step;
    tutti_coded c;
    step->plain_bytes += sent(b, (double)t->count * sizeof(float), 1);
    if (find(b, l, p, &c)) {
        const double numbers = (double)codec->numbers(&c);
        step->sent_bytes += sent(b, numbers * sizeof(float), codec->sums);
        return codec->send(b, &c);
    }
    step->sent_bytes += sent(b, (double)tutti_graph_get_tensor(b->graph, t->gradient)->bytes, 1);
    return tutti_builder_mark(b, l, TUTTI_MARK_ALLREDUCE, t->gradient, 0, &t->mark);
}

typedef tutti_status (*visit_fn)(tutti_builder *b, const tutti_coded *c);
static tutti_status visit_all(tutti_builder *b, visit_fn visit)
{
    tutti_status status = TUTTI_OK;
    for (int l = b->end - 1; l >= b->first; l--)
        for (int p = 0; p < TUTTI_LAYER_PARAMETERS && status == TUTTI_OK; p++) {
            tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
            tutti_coded c;
            if (p < tutti_layer_parameters(&b->net->layer[l], parameter) && find(b, l, p, &c))
                status = visit(b, &c);
        }
    return status;
}

static tutti_status declare(tutti_builder *b, const tutti_coded *c)
{
    const tutti_step_options *o = b->options;
    int *residual = &c->trained->residual;
    tutti_status status = tutti_builder_state(b, residual_prefix, c->l, c->suffix, TUTTI_F32,
        tutti_shape_of(o->replicas, c->count), residual);
    if (status != TUTTI_OK) return status;
    b->step->state_dealt[b->step->states - 1] = TUTTI_DEALT_ROWS;
    status = tutti_graph_set_own(b->graph, *residual, o->replica * c->count, c->count);
    return status == TUTTI_OK ? o->codec->declare(b, c) : status;
}

tutti_status tutti_builder_declare_codes(tutti_builder *b)
{
    return visit_all(b, declare);
}

/* No reader of a sum comes before the last mark, so that marks can be fused. */
tutti_status tutti_builder_receive(tutti_builder *b)
{
    const tutti_codec *codec = b->options->codec;
    tutti_status status = TUTTI_OK;
    if (!encodes(b->options)) return TUTTI_OK;
    if (codec->send_again) status = visit_all(b, codec->send_again);
    return status == TUTTI_OK ? visit_all(b, codec->receive) : status;
}

tutti_status tutti_step_cut_residuals(tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < step->states && status == TUTTI_OK; i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(step->graph, step->state[i]);
        if (step->state_dealt[i] == TUTTI_DEALT_ROWS && t->owns < tutti_shape_count(&t->shape))
            status = tutti_graph_cut(step->graph, step->state[i], t->first, t->owns);
    }
    return status;
}

/* ---- for codecs ---- */

tutti_status tutti_coded_kernel(tutti_builder *b, const tutti_coded *c, const tutti_op *op,
    const void *desc, size_t desc_bytes, int sends, int accesses, const tutti_access access[])
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

tutti_status tutti_coded_declare_blocks(tutti_builder *b, const tutti_coded *c, int64_t words)
{
    return tutti_builder_tensor(b, "code.", c->layer, c->suffix, -1, TUTTI_ROLE_SCRATCH, TUTTI_I32,
        tutti_shape_of(b->options->replicas, words), &c->trained->code);
}

tutti_status tutti_coded_gather(tutti_builder *b, const tutti_coded *c)
{
    int node;
    return tutti_builder_mark(b, c->l, TUTTI_MARK_ALLGATHER, c->trained->code, 0, &node);
}
