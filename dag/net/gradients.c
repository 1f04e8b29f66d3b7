#include "dag/net/gradients.h"

#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct buffer {
    int tensor, holds;
    tutti_dtype dtype;
    int64_t each;     /* elements per image */
    int64_t released; /* the number of its latest release */
} buffer;

typedef struct contribution {
    int value, tensor;
} contribution;

struct tutti_gradients {
    tutti_graph *graph;
    int slot;
    int64_t room, images; /* of the slot; of the micro-batch that has it now */
    int buffers, contributions;
    buffer *buffer;
    contribution *contribution;
    int64_t releases;
};

tutti_status tutti_gradients_new(
    tutti_graph *graph, int slot, int64_t room, tutti_gradients **gradients)
{
    tutti_gradients *g = calloc(1, sizeof *g);
    if (!g) return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory for gradients");
    g->graph = graph;
    g->slot = slot;
    g->room = room;
    *gradients = g;
    return TUTTI_OK;
}

void tutti_gradients_free(tutti_gradients *gradients)
{
    if (!gradients) return;
    free(gradients->buffer);
    free(gradients->contribution);
    free(gradients);
}

void tutti_gradients_begin(tutti_gradients *g, int64_t images)
{
    g->contributions = 0;
    g->images = images;
}

static buffer *find(tutti_gradients *g, int tensor)
{
    for (int i = 0; i < g->buffers; i++)
        if (g->buffer[i].tensor == tensor) return &g->buffer[i];
    return NULL;
}

static buffer *latest_idle(tutti_gradients *g, tutti_dtype dtype, int64_t each)
{
    buffer *best = NULL;
    for (int i = 0; i < g->buffers; i++) {
        buffer *b = &g->buffer[i];
        if (b->holds || b->dtype != dtype || b->each != each) continue;
        if (!best || b->released > best->released) best = b;
    }
    return best;
}

tutti_status tutti_gradients_take(tutti_gradients *g, tutti_dtype dtype, int64_t each, int *tensor)
{
    buffer *idle = latest_idle(g, dtype, each);
    if (idle) {
        idle->holds = 1;
        *tensor = idle->tensor;
        return TUTTI_OK;
    }
    buffer *more = realloc(g->buffer, (size_t)(g->buffers + 1) * sizeof *more);
    if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory for gradients");
    g->buffer = more;
    char name[48];
    snprintf(name, sizeof name, "gradient%d@%d", g->buffers, g->slot);
    int made;
    tutti_status status = tutti_graph_tensor(
        g->graph, name, TUTTI_ROLE_SCRATCH, dtype, tutti_shape_of(g->room * each), &made);
    if (status != TUTTI_OK) return status;
    g->buffer[g->buffers++] = (buffer){.tensor = made, .holds = 1, .dtype = dtype, .each = each};
    *tensor = made;
    return TUTTI_OK;
}

tutti_status tutti_gradients_add(tutti_gradients *g, int value, int tensor)
{
    contribution *more = realloc(g->contribution, (size_t)(g->contributions + 1) * sizeof *more);
    if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory for gradients");
    g->contribution = more;
    g->contribution[g->contributions++] = (contribution){value, tensor};
    find(g, tensor)->holds++;
    return TUTTI_OK;
}

void tutti_gradients_drop(tutti_gradients *g, int tensor)
{
    buffer *b = find(g, tensor);
    if (--b->holds == 0) b->released = ++g->releases;
}

/* Appends y = x0 [+ x1]. */
static tutti_status append_sum(tutti_gradients *g, const char *name, int priority, int64_t each,
    int inputs, const int x[], int y)
{
    tutti_sum_desc desc = {.count = g->images * each, .inputs = inputs};
    tutti_access access[3];
    for (int i = 0; i < inputs; i++) access[i] = (tutti_access){x[i], TUTTI_READ};
    access[inputs] = (tutti_access){y, TUTTI_WRITE};
    int node;
    tutti_status status = tutti_graph_kernel(
        g->graph, name, &tutti_op_sum, &desc, sizeof desc, inputs + 1, access, &node);
    if (status == TUTTI_OK) tutti_graph_set_priority(g->graph, node, priority);
    return status;
}

tutti_status tutti_gradients_copy(tutti_gradients *g, const char *name, int priority, int *tensor)
{
    const buffer like = *find(g, *tensor);
    int made;
    tutti_status status = tutti_gradients_take(g, like.dtype, like.each, &made);
    if (status != TUTTI_OK) return status;
    status = append_sum(g, name, priority, like.each, 1, tensor, made);
    tutti_gradients_drop(g, *tensor);
    *tensor = made;
    return status;
}

/* *total becomes *total + tensor; takes over both holds. Two contributions may be one tensor
 * (through two adds without a ReLU), but a node names each tensor only once: then a copy stands
 * in. */
static tutti_status fold(tutti_gradients *g, const char *name, int priority, int tensor, int *total)
{
    const buffer like = *find(g, tensor);
    tutti_status status = TUTTI_OK;
    int x[2] = {*total, tensor}, y;
    if (x[0] == x[1]) {
        status = tutti_gradients_copy(g, name, priority, &x[1]);
        if (status != TUTTI_OK) return status;
    }
    status = tutti_gradients_take(g, like.dtype, like.each, &y);
    if (status != TUTTI_OK) return status;
    status = append_sum(g, name, priority, like.each, 2, x, y);
    tutti_gradients_drop(g, x[0]);
    tutti_gradients_drop(g, x[1]);
    *total = y;
    return status;
}

tutti_status tutti_gradients_total(
    tutti_gradients *g, int value, const char *name, int priority, int *tensor)
{
    int total = -1;
    for (int i = 0; i < g->contributions; i++) {
        if (g->contribution[i].value != value) continue;
        if (total < 0) {
            total = g->contribution[i].tensor;
            continue;
        }
        tutti_status status = fold(g, name, priority, g->contribution[i].tensor, &total);
        if (status != TUTTI_OK) return status;
    }
    *tensor = total;
    return TUTTI_OK;
}
