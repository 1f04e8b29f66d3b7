#include "dag/run/direct.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>

/* The turns of a message that are known at a time. A kernel further behind writes to its tensor. */
enum { TURNS = 16, NONE = -1 };

typedef struct turn {
    int64_t turn, sequence; /* turn 0: free */
    int begun;              /* its kernels run: it is not replaced */
    void *memory;           /* the receiver's; NULL: the tensor's own is written */
} turn;

/* A tensor that is written, perhaps changed in place, and sent; and then again, perhaps. */
typedef struct message {
    int tensor, node; /* node: the collective; NONE: there is none yet */
    turn turn[TURNS];
} message;

/* What a kernel node has to do with a message. */
typedef struct part {
    int message, access;
    int first, last;
} part;

struct tutti_direct {
    const tutti_run_hooks *hooks;
    const tutti_graph *graph;
    int messages;
    message *message;
    part *part;           /* [nodes] of kernels */
    int *message_of;      /* [nodes] of collectives; NONE */
    int64_t *turns;       /* [sections] */
    pthread_mutex_t lock; /* the turns of all messages */
};

/* ---- which kernels ---- */

/* While a section is searched, of each tensor. */
typedef struct trace {
    int open, sent; /* the message that has been begun, or sent, since it was last written; NONE */
    int newest;     /* the newest kernel of the open one; NONE */
    int section;    /* that names it last; NONE */
    int unfit;      /* something may read what is written in an earlier section */
} trace;

/* A message of an edge that reads one tensor, and perhaps is a link of a chain. */
static int is_send(const tutti_node *node)
{
    int reads = 0, others = 0;
    for (int a = 0; a < node->accesses; a++) {
        reads += node->access[a].mode == TUTTI_READ;
        others += node->access[a].mode != TUTTI_READ && node->access[a].mode != TUTTI_CHAIN;
    }
    return node->kind == TUTTI_NODE_COLLECTIVE && node->edge && reads == 1 && !others;
}

/* Something else uses the tensor: it has to be there. */
static void use_otherwise(tutti_direct *d, trace *t)
{
    if (t->sent != NONE) d->message[t->sent].node = NONE;
    t->open = t->sent = NONE;
}

static void add_kernel(tutti_direct *d, int n, int access, trace *t)
{
    part *p = &d->part[n];
    if (p->message != NONE) { /* a kernel writes one such tensor */
        use_otherwise(d, t);
        return;
    }
    *p = (part){.message = t->open, .access = access, .first = t->newest == NONE};
    t->newest = n;
}

static void begin_message(tutti_direct *d, int tensor, trace *t)
{
    t->sent = NONE;
    t->open = d->messages++;
    t->newest = NONE;
    d->message[t->open] = (message){.tensor = tensor, .node = NONE};
}

static void end_message(tutti_direct *d, int n, trace *t)
{
    if (t->open == NONE) {
        use_otherwise(d, t);
        return;
    }
    d->message[t->open].node = n;
    d->message_of[n] = t->open;
    d->part[t->newest].last = 1;
    t->sent = t->open;
    t->open = NONE;
}

static void look_at_access(tutti_direct *d, int n, int access, trace *t)
{
    const tutti_node *node = tutti_graph_get_node(d->graph, n);
    const tutti_access *a = &node->access[access];
    const int is_kernel = node->kind != TUTTI_NODE_COLLECTIVE;
    if (a->mode == TUTTI_CHAIN) return;
    if (t->section != node->section) {
        t->open = t->sent = NONE;
        t->section = node->section;
        t->unfit |= a->mode != TUTTI_WRITE;
    }
    if (is_kernel && a->mode == TUTTI_WRITE) begin_message(d, a->tensor, t);
    if (is_kernel && (a->mode == TUTTI_WRITE || (a->mode == TUTTI_READWRITE && t->open != NONE)))
        add_kernel(d, n, access, t);
    else if (is_send(node))
        end_message(d, n, t);
    else
        use_otherwise(d, t);
}

/* Tensors of scratch that share their memory with no other. */
static void exclude_others(const tutti_graph *graph, trace *traces)
{
    const int tensors = tutti_graph_tensors(graph);
    for (int t = 0; t < tensors; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(graph, t);
        traces[t].open = traces[t].sent = traces[t].section = NONE;
        traces[t].unfit |= tensor->role != TUTTI_ROLE_SCRATCH || tensor->block != t ||
                           tensor->block_bytes != tensor->bytes;
        if (tensor->block != t) traces[tensor->block].unfit = 1;
    }
}

static void search(tutti_direct *d, const tutti_binding *binding, trace *traces)
{
    exclude_others(d->graph, traces);
    for (int s = 0; s < binding->sections; s++) {
        int count;
        const int *running = tutti_binding_section(binding, s, &count);
        for (int i = 0; i < count; i++) {
            const tutti_node *node = tutti_graph_get_node(d->graph, running[i]);
            for (int a = 0; a < node->accesses; a++)
                look_at_access(d, running[i], a, &traces[node->access[a].tensor]);
        }
    }
}

/* Forgets what does not fit. Returns how many messages are left. */
static int keep_fit(tutti_direct *d, int nodes, const trace *traces)
{
    int left = 0;
    for (int m = 0; m < d->messages; m++) {
        if (traces[d->message[m].tensor].unfit) d->message[m].node = NONE;
        left += d->message[m].node != NONE;
    }
    for (int n = 0; n < nodes; n++) {
        if (d->part[n].message != NONE && d->message[d->part[n].message].node == NONE)
            d->part[n].message = NONE;
        if (d->message_of[n] != NONE && d->message[d->message_of[n]].node == NONE)
            d->message_of[n] = NONE;
    }
    return left;
}

static size_t count_writes(const tutti_graph *graph)
{
    size_t writes = 0;
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        for (int a = 0; a < node->accesses; a++) writes += node->access[a].mode == TUTTI_WRITE;
    }
    return writes;
}

static int has_sends(const tutti_graph *graph)
{
    for (int n = 0; n < tutti_graph_nodes(graph); n++)
        if (is_send(tutti_graph_get_node(graph, n))) return 1;
    return 0;
}

tutti_status tutti_direct_open(
    const tutti_binding *binding, const tutti_run_hooks *hooks, tutti_direct **direct)
{
    const tutti_binding_place *place = &binding->place;
    *direct = NULL;
    if (!hooks->claim || place->device != TUTTI_CPU || place->payload || !has_sends(binding->graph))
        return TUTTI_OK;
    const size_t nodes = (size_t)binding->nodes + 1, tensors = (size_t)binding->tensors + 1;
    tutti_direct *d = calloc(1, sizeof *d);
    trace *traces = calloc(tensors, sizeof *traces);
    if (d) {
        pthread_mutex_init(&d->lock, NULL);
        d->hooks = hooks;
        d->graph = binding->graph;
        d->message = calloc(count_writes(binding->graph) + 1, sizeof *d->message);
        d->part = calloc(nodes, sizeof *d->part);
        d->message_of = calloc(nodes, sizeof *d->message_of);
        d->turns = calloc((size_t)binding->sections + 1, sizeof *d->turns);
    }
    if (!d || !traces || !d->message || !d->part || !d->message_of || !d->turns) {
        free(traces);
        tutti_direct_close(d);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for what is sent by %zu nodes", nodes);
    }
    for (size_t n = 0; n < nodes; n++) d->part[n].message = d->message_of[n] = NONE;
    search(d, binding, traces);
    const int left = keep_fit(d, binding->nodes, traces);
    free(traces);
    if (left)
        *direct = d;
    else
        tutti_direct_close(d);
    return TUTTI_OK;
}

void tutti_direct_close(tutti_direct *direct)
{
    if (!direct) return;
    pthread_mutex_destroy(&direct->lock);
    free(direct->message);
    free(direct->part);
    free(direct->message_of);
    free(direct->turns);
    free(direct);
}

/* ---- running ---- */

static turn *turn_of(tutti_direct *d, int m, int64_t number)
{
    return &d->message[m].turn[number % TURNS];
}

int64_t tutti_direct_submit(tutti_direct *direct, int section)
{
    return direct ? ++direct->turns[section] : 0;
}

void tutti_direct_numbered(tutti_direct *direct, int node, int64_t number, int64_t sequence)
{
    if (!direct || direct->message_of[node] == NONE) return;
    turn *t = turn_of(direct, direct->message_of[node], number);
    pthread_mutex_lock(&direct->lock);
    if (!t->begun) *t = (turn){.turn = number, .sequence = sequence};
    pthread_mutex_unlock(&direct->lock);
}

void tutti_direct_begin(tutti_direct *direct, int node, int64_t number, void *buf[])
{
    const part *p = direct ? &direct->part[node] : NULL;
    if (!p || p->message == NONE) return;
    const message *m = &direct->message[p->message];
    turn *t = turn_of(direct, p->message, number);
    pthread_mutex_lock(&direct->lock);
    const int is_known = t->turn == number && (p->first || t->begun);
    if (is_known) t->begun = 1; /* from here on it is this turn's own */
    pthread_mutex_unlock(&direct->lock);
    if (!is_known) return;
    if (p->first)
        t->memory = direct->hooks->claim(
            direct->hooks->ctx, tutti_graph_get_node(direct->graph, m->node), t->sequence);
    if (t->memory) buf[p->access] = t->memory;
}

void tutti_direct_end(tutti_direct *direct, int node, int64_t number)
{
    const part *p = direct ? &direct->part[node] : NULL;
    if (!p || p->message == NONE || !p->last) return;
    const message *m = &direct->message[p->message];
    turn *t = turn_of(direct, p->message, number);
    pthread_mutex_lock(&direct->lock);
    const turn ended = *t;
    if (ended.turn == number) *t = (turn){0};
    pthread_mutex_unlock(&direct->lock);
    if (ended.turn == number && ended.memory)
        direct->hooks->wrote(
            direct->hooks->ctx, tutti_graph_get_node(direct->graph, m->node), ended.sequence);
}
