#include "dag/graph/sent.h"

#include "dag/base/log.h"

#include <stdlib.h>

enum { NONE = TUTTI_SENT_NONE };

/* While a section is searched, of each tensor. */
typedef struct trace {
    int open, sent; /* the message that has been begun, or sent, since it was last written; NONE */
    int newest;     /* the newest kernel of the open one; NONE */
    int section;    /* that names it last; NONE */
    int unfit;      /* it is not looked at, or something may read what is written in an earlier section */
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
static void use_otherwise(tutti_sent_tensors *s, trace *t)
{
    if (t->sent != NONE) s->message[t->sent].node = NONE;
    t->open = t->sent = NONE;
}

static void add_kernel(tutti_sent_tensors *s, int n, int access, trace *t)
{
    tutti_sent_kernel *p = &s->kernel[n];
    if (p->message != NONE) { /* a kernel writes one such tensor */
        use_otherwise(s, t);
        return;
    }
    *p = (tutti_sent_kernel){.message = t->open, .access = access, .first = t->newest == NONE};
    t->newest = n;
}

static void begin_message(tutti_sent_tensors *s, int tensor, trace *t)
{
    t->sent = NONE;
    t->open = s->messages++;
    t->newest = NONE;
    s->message[t->open] = (tutti_sent_message){.tensor = tensor, .node = NONE};
}

static void end_message(tutti_sent_tensors *s, int n, trace *t)
{
    if (t->open == NONE) {
        use_otherwise(s, t);
        return;
    }
    s->message[t->open].node = n;
    s->message_of[n] = t->open;
    s->kernel[t->newest].last = 1;
    t->sent = t->open;
    t->open = NONE;
}

static void look_at_access(tutti_sent_tensors *s, int n, const tutti_node *node, int access, trace *t)
{
    const tutti_access *a = &node->access[access];
    const int is_kernel = node->kind != TUTTI_NODE_COLLECTIVE;
    if (t->unfit || a->mode == TUTTI_CHAIN) return;
    if (t->section != node->section) {
        t->open = t->sent = NONE;
        t->section = node->section;
        t->unfit |= a->mode != TUTTI_WRITE;
    }
    if (is_kernel && a->mode == TUTTI_WRITE) begin_message(s, a->tensor, t);
    if (is_kernel && (a->mode == TUTTI_WRITE || (a->mode == TUTTI_READWRITE && t->open != NONE)))
        add_kernel(s, n, access, t);
    else if (is_send(node))
        end_message(s, n, t);
    else
        use_otherwise(s, t);
}

/* Of scratch, sent by some node, and alone in its memory. */
static void choose_tensors(const tutti_graph *graph, trace *traces)
{
    const int tensors = tutti_graph_tensors(graph);
    for (int t = 0; t < tensors; t++) traces[t].unfit = 1;
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        for (int a = 0; is_send(node) && a < node->accesses; a++)
            if (node->access[a].mode == TUTTI_READ) traces[node->access[a].tensor].unfit = 0;
    }
    for (int t = 0; t < tensors; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(graph, t);
        traces[t].open = traces[t].sent = traces[t].section = NONE;
        traces[t].unfit |= tensor->role != TUTTI_ROLE_SCRATCH || tensor->block != t ||
                           tensor->block_bytes != tensor->bytes;
        if (tensor->block != t) traces[tensor->block].unfit = 1;
    }
}

static void search(const tutti_graph *graph, tutti_sent_tensors *s, trace *traces)
{
    choose_tensors(graph, traces);
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        for (int a = 0; tutti_node_runs(node) && a < node->accesses; a++)
            look_at_access(s, n, node, a, &traces[node->access[a].tensor]);
    }
}

/* Forgets what does not fit. */
static void keep_fit(tutti_sent_tensors *s, int nodes, const trace *traces)
{
    for (int m = 0; m < s->messages; m++) {
        if (traces[s->message[m].tensor].unfit) s->message[m].node = NONE;
        s->counted += s->message[m].node != NONE;
    }
    for (int n = 0; n < nodes; n++) {
        if (s->kernel[n].message != NONE && s->message[s->kernel[n].message].node == NONE)
            s->kernel[n].message = NONE;
        if (s->message_of[n] != NONE && s->message[s->message_of[n]].node == NONE)
            s->message_of[n] = NONE;
    }
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

tutti_status tutti_sent_tensors_find(const tutti_graph *graph, tutti_sent_tensors *sent)
{
    const int nodes = tutti_graph_nodes(graph);
    trace *traces = calloc((size_t)tutti_graph_tensors(graph) + 1, sizeof *traces);
    *sent = (tutti_sent_tensors){.message = calloc(count_writes(graph) + 1, sizeof *sent->message),
        .kernel = calloc((size_t)nodes + 1, sizeof *sent->kernel),
        .message_of = calloc((size_t)nodes + 1, sizeof *sent->message_of)};
    if (!traces || !sent->message || !sent->kernel || !sent->message_of) {
        free(traces);
        tutti_sent_tensors_free(sent);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for what %d nodes send", nodes);
    }
    for (int n = 0; n < nodes; n++) sent->kernel[n].message = sent->message_of[n] = NONE;
    search(graph, sent, traces);
    keep_fit(sent, nodes, traces);
    free(traces);
    return TUTTI_OK;
}

void tutti_sent_tensors_free(tutti_sent_tensors *sent)
{
    free(sent->message);
    free(sent->kernel);
    free(sent->message_of);
    *sent = (tutti_sent_tensors){0};
}
