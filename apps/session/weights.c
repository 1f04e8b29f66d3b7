#include "apps/session/weights.h"

#include "dag/base/log.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/crossings.h"

#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static const tutti_step *list_of(const tutti_training_session *s)
{
    return s->whole ? s->whole : s->step;
}

int tutti_weights_count(const tutti_training_session *s)
{
    const tutti_step *list = list_of(s);
    return list->parameters + list->states;
}

int tutti_weights_parameters(const tutti_training_session *s)
{
    return list_of(s)->parameters;
}

static int number_of(const tutti_step *step, int i)
{
    return i < step->parameters ? step->parameter[i] : step->state[i - step->parameters];
}

const tutti_tensor *tutti_weights_get(const tutti_training_session *s, int i)
{
    const tutti_step *list = list_of(s);
    return tutti_graph_get_tensor(list->graph, number_of(list, i));
}

static int layer_of(const tutti_training_session *s, int i)
{
    const tutti_step *list = list_of(s);
    return i < list->parameters ? list->parameter_layer[i]
                                : list->state_layer[i - list->parameters];
}

int tutti_weights_is_divided(const tutti_training_session *s, int i)
{
    return tutti_layer_is_divided(&s->net->layer[layer_of(s, i)], &s->placement);
}

int tutti_weights_stage(const tutti_training_session *s, int i)
{
    return tutti_stage_of(&s->placement, layer_of(s, i));
}

/* The graph's number of the i-th, or of what this rank has of it; -1 if that is nothing. */
static int number_here(const tutti_training_session *s, int i)
{
    if (!s->whole) return number_of(s->step, i);
    if (tutti_weights_stage(s, i) != s->placement.own.stage && !s->placement.own.serves) return -1;
    return tutti_graph_find(s->graph, tutti_weights_get(s, i)->name);
}

/* Whether each replica has a part of it, or a server all of it. */
static int is_sharded(const tutti_training_session *s, int i)
{
    const tutti_step *list = list_of(s);
    int k = i - list->parameters;
    const tutti_placement *p = &s->placement;
    return s->whole && k >= 0 && (p->global_replicas > 1 || p->servers) && list->state_sharded[k];
}

/* Whether this rank is a server that has a portion of it, which workers have as a whole. */
static int is_portion(const tutti_training_session *s, int i)
{
    const int number = s->placement.own.serves && !is_sharded(s, i) ? number_here(s, i) : -1;
    return number >= 0 &&
           tutti_graph_get_tensor(s->graph, number)->bytes < tutti_weights_get(s, i)->bytes;
}

static int is_in_parts(const tutti_training_session *s, int i)
{
    return is_sharded(s, i) || tutti_weights_is_divided(s, i);
}

int tutti_weights_tensor(const tutti_training_session *s, int i)
{
    return is_in_parts(s, i) || is_portion(s, i) ? -1 : number_here(s, i);
}

int tutti_weights_block(const tutti_training_session *s, int i)
{
    return tutti_weights_is_divided(s, i) && !is_sharded(s, i) ? number_here(s, i) : -1;
}

/* ---- on this rank ---- */

tutti_status tutti_weights_walk(const tutti_training_session *s, int count, tutti_mode mode,
    tutti_weights_visit visit, void *ctx)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < count && !status; i++) {
        int number = tutti_weights_tensor(s, i);
        const tutti_tensor *tensor = tutti_weights_get(s, i);
        void *data;
        if (number < 0) continue;
        status = s->runner->acquire(s->run, number, mode, tensor->bytes, &data);
        if (status) return status;
        status = visit(ctx, tensor, data);
        s->runner->release(s->run, number);
    }
    return status;
}

/* ---- between ranks ---- */

/* Memory for any tensor of the list. */
static tutti_status open_copy(const tutti_training_session *s, void **copy)
{
    size_t most = 0;
    for (int i = 0; i < tutti_weights_count(s); i++) {
        size_t bytes = tutti_weights_get(s, i)->bytes;
        if (bytes > most) most = bytes;
    }
    *copy = malloc(most);
    tutti_status status =
        *copy ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a tensor of %zu bytes", most);
    status = tutti_exchange_agree(s->exchange, status, NULL);
    if (!status) return TUTTI_OK;
    free(*copy);
    return status;
}

static tutti_status broadcast_tensor(
    const tutti_training_session *s, const tutti_tensor *tensor, int from, void *data)
{
    return tutti_exchange_broadcast(
        s->exchange, tensor->name, tensor->dtype, from, tutti_shape_count(&tensor->shape), data);
}

typedef struct collection {
    const tutti_training_session *session;
    tutti_weights_visit visit;
    void *ctx, *copy;
    tutti_status visited; /* the first failure of a visit */
} collection;

/* This rank's part of a tensor to, or from, its place in a copy of the whole. */
static tutti_status move_part(const tutti_training_session *s, int i, tutti_mode mode, void *copy)
{
    const int number = number_here(s, i), partial = is_sharded(s, i) || is_portion(s, i);
    const tutti_placement *p = &s->placement;
    void *data;
    if (number < 0) return TUTTI_OK;
    const tutti_tensor *part = tutti_graph_get_tensor(s->graph, number),
                       *whole = tutti_weights_get(s, i);
    const size_t element = tutti_dtype_bytes(part->dtype);
    size_t place = partial ? (size_t)part->first * element : 0;
    const size_t bytes = partial ? (size_t)part->owns * element : part->bytes;
    if (tutti_weights_is_divided(s, i))
        place += (size_t)p->own.block * (whole->bytes / (size_t)p->blocks);
    tutti_status status = s->runner->acquire(s->run, number, mode, part->bytes, &data);
    if (status) return status;
    if (mode == TUTTI_READ)
        memcpy((char *)copy + place, data, bytes);
    else
        memcpy(data, (char *)copy + place, bytes);
    s->runner->release(s->run, number);
    return TUTTI_OK;
}

/* Whether other ranks have the same part, and one of them is asked for it. */
static int is_spare(const tutti_training_session *s, int i)
{
    return !is_sharded(s, i) && s->placement.own.replica >= s->placement.blocks;
}

/* All ranks get the whole: each byte is that of the rank that has it, and 0 on the others. */
static tutti_status put_together(const tutti_training_session *s, int i, void *copy)
{
    const tutti_tensor *tensor = tutti_weights_get(s, i);
    memset(copy, 0, tensor->bytes);
    tutti_status status = is_spare(s, i) ? TUTTI_OK : move_part(s, i, TUTTI_READ, copy);
    status = tutti_exchange_agree(s->exchange, status, NULL);
    if (status) return status;
    return tutti_exchange_call(s->exchange, tensor->name,
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_U8,
            .op = TUTTI_SUM,
            .count = (int64_t)tensor->bytes,
            .recv = copy});
}

static tutti_status collect_parts(collection *c, int i)
{
    const tutti_training_session *s = c->session;
    tutti_status status = put_together(s, i, c->copy);
    if (!status && s->placement.rank == 0 && !c->visited)
        c->visited = c->visit(c->ctx, tutti_weights_get(s, i), c->copy);
    return status;
}

/* From the first replica's rank of the stage that has it. */
static tutti_status collect_one(collection *c, int i)
{
    const tutti_training_session *s = c->session;
    if (is_in_parts(s, i)) return collect_parts(c, i);
    const tutti_tensor *tensor = tutti_weights_get(s, i);
    const int from = tutti_weights_stage(s, i);
    const int number = s->placement.rank == from ? tutti_weights_tensor(s, i) : -1;
    void *data = c->copy;
    tutti_status status = TUTTI_OK;
    if (number >= 0) status = s->runner->acquire(s->run, number, TUTTI_READ, tensor->bytes, &data);
    if (status) return status;
    if (from != 0) status = broadcast_tensor(s, tensor, from, data);
    if (!status && s->placement.rank == 0 && !c->visited)
        c->visited = c->visit(c->ctx, tensor, data);
    if (number >= 0) s->runner->release(s->run, number);
    return status;
}

tutti_status tutti_weights_collect(
    const tutti_training_session *s, int count, tutti_weights_visit visit, void *ctx)
{
    collection c = {.session = s, .visit = visit, .ctx = ctx};
    if (!s->whole)
        return s->placement.rank == 0 ? tutti_weights_walk(s, count, TUTTI_READ, visit, ctx)
                                      : TUTTI_OK;
    tutti_status status = open_copy(s, &c.copy);
    if (status) return status;
    for (int i = 0; i < count && !status; i++) status = collect_one(&c, i);
    free(c.copy);
    return status ? status : c.visited;
}

static tutti_status gather_one(collection *c, int i)
{
    const tutti_training_session *s = c->session;
    const tutti_tensor *tensor = tutti_weights_get(s, i);
    const int number = tutti_weights_tensor(s, i);
    void *data = c->copy;
    tutti_status status =
        number < 0 ? put_together(s, i, data)
                   : s->runner->acquire(s->run, number, TUTTI_READ, tensor->bytes, &data);
    if (status) return status;
    status = c->visit(c->ctx, tensor, data);
    if (number >= 0) s->runner->release(s->run, number);
    return status;
}

tutti_status tutti_weights_gather(
    const tutti_training_session *s, int count, tutti_weights_visit visit, void *ctx)
{
    collection c = {.session = s, .visit = visit, .ctx = ctx};
    if (!s->whole) return tutti_weights_walk(s, count, TUTTI_READ, visit, ctx);
    tutti_status status = open_copy(s, &c.copy);
    if (status) return status;
    for (int i = 0; i < count && !status; i++) status = gather_one(&c, i);
    free(c.copy);
    return status;
}

/* What rank 0 says before a tensor. */
typedef struct word {
    int64_t status, filled;
} word;

static tutti_status spread_one(
    const tutti_training_session *s, int i, void *copy, tutti_weights_fill fill, void *ctx)
{
    const tutti_tensor *tensor = tutti_weights_get(s, i);
    const int number = tutti_weights_tensor(s, i);
    void *data = copy;
    tutti_status own = TUTTI_OK;
    word said = {0};
    if (number >= 0)
        own = s->runner->acquire(s->run, number, TUTTI_READWRITE, tensor->bytes, &data);
    if (s->placement.rank == 0) {
        int filled = 0;
        said.status = own ? own : fill(ctx, tensor, data, &filled);
        said.filled = filled;
    }
    tutti_status status =
        tutti_exchange_broadcast(s->exchange, "what comes next", TUTTI_I64, 0, 2, &said);
    if (!status && said.status) status = (tutti_status)said.status;
    if (!status && said.filled) status = broadcast_tensor(s, tensor, 0, own ? copy : data);
    if (!status && said.filled && (is_in_parts(s, i) || is_portion(s, i)))
        status = move_part(s, i, TUTTI_WRITE, copy);
    if (number >= 0 && !own) s->runner->release(s->run, number);
    return status ? status : own;
}

tutti_status tutti_weights_spread(
    const tutti_training_session *s, tutti_weights_fill fill, void *ctx)
{
    void *copy;
    tutti_status status = open_copy(s, &copy);
    if (status) return status;
    for (int i = 0; i < tutti_weights_count(s) && !status; i++)
        status = spread_one(s, i, copy, fill, ctx);
    free(copy);
    return status;
}
