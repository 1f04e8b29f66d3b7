#include "dag/run/direct.h"

#include "dag/base/log.h"
#include "dag/graph/sent.h"

#include <pthread.h>
#include <stdlib.h>

/* The turns of a message that are known at a time. A kernel further behind writes to its tensor. */
enum { TURNS = 16, NONE = TUTTI_SENT_NONE };

typedef struct turn {
    int64_t turn, sequence; /* turn 0: free */
    int begun;              /* its kernels run: it is not replaced */
    void *memory;           /* the receiver's; NULL: the tensor's own is written */
} turn;

struct tutti_direct {
    const tutti_run_hooks *hooks;
    const tutti_graph *graph;
    tutti_sent_tensors sent;
    int64_t *turns;       /* [sections] */
    turn (*turn)[TURNS];  /* [messages] */
    pthread_mutex_t lock; /* the turns of all messages */
};

tutti_status tutti_direct_open(
    const tutti_binding *binding, const tutti_run_hooks *hooks, tutti_direct **direct)
{
    const tutti_binding_place *place = &binding->place;
    tutti_sent_tensors sent;
    *direct = NULL;
    if (!hooks->claim || place->device != TUTTI_CPU || place->payload) return TUTTI_OK;
    tutti_status status = tutti_sent_tensors_find(binding->graph, &sent);
    if (status) return status;
    tutti_direct *d = sent.counted ? calloc(1, sizeof *d) : NULL;
    if (!d) {
        tutti_sent_tensors_free(&sent);
        return sent.counted ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for what is sent") : TUTTI_OK;
    }
    pthread_mutex_init(&d->lock, NULL);
    d->hooks = hooks;
    d->graph = binding->graph;
    d->sent = sent;
    d->turns = calloc((size_t)binding->sections + 1, sizeof *d->turns);
    d->turn = calloc((size_t)sent.messages, sizeof *d->turn);
    if (d->turns && d->turn) {
        *direct = d;
        return TUTTI_OK;
    }
    tutti_direct_close(d);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for what is sent");
}

void tutti_direct_close(tutti_direct *direct)
{
    if (!direct) return;
    pthread_mutex_destroy(&direct->lock);
    tutti_sent_tensors_free(&direct->sent);
    free(direct->turns);
    free(direct->turn);
    free(direct);
}

static turn *turn_of(tutti_direct *d, int m, int64_t number)
{
    return &d->turn[m][number % TURNS];
}

int64_t tutti_direct_submit(tutti_direct *direct, int section)
{
    return direct ? ++direct->turns[section] : 0;
}

void tutti_direct_numbered(tutti_direct *direct, int node, int64_t number, int64_t sequence)
{
    if (!direct || direct->sent.message_of[node] == NONE) return;
    turn *t = turn_of(direct, direct->sent.message_of[node], number);
    pthread_mutex_lock(&direct->lock);
    if (!t->begun) *t = (turn){.turn = number, .sequence = sequence};
    pthread_mutex_unlock(&direct->lock);
}

void tutti_direct_begin(tutti_direct *direct, int node, int64_t number, void *buf[])
{
    const tutti_sent_kernel *p = direct ? &direct->sent.kernel[node] : NULL;
    if (!p || p->message == NONE) return;
    const tutti_sent_message *m = &direct->sent.message[p->message];
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
    const tutti_sent_kernel *p = direct ? &direct->sent.kernel[node] : NULL;
    if (!p || p->message == NONE || !p->last) return;
    const tutti_sent_message *m = &direct->sent.message[p->message];
    turn *t = turn_of(direct, p->message, number);
    pthread_mutex_lock(&direct->lock);
    const turn ended = *t;
    if (ended.turn == number) *t = (turn){0};
    pthread_mutex_unlock(&direct->lock);
    if (ended.turn == number && ended.memory)
        direct->hooks->wrote(
            direct->hooks->ctx, tutti_graph_get_node(direct->graph, m->node), ended.sequence);
}
