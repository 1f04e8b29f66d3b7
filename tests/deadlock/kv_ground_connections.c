/* Connections between jobs, as designs/kv/connections.c has them: which message begins when, and which turns to a
 * spare, is the real code's (designs/kv/message_order.h). */
#include "tests/deadlock/kv_ground_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_peer_state state_of(void *ctx, int peer)
{
    const ground_rank *r = ctx;
    return r->cut ? TUTTI_PEER_AWAY : r->connection[peer];
}

static void begin(void *ctx, tutti_ordered_message *streamed)
{
    ground *g = ground_here();
    ground_op *op = (ground_op *)streamed;
    if (state_of(ctx, op->ordered.peer) == TUTTI_PEER_HERE)
        op->begun = ++g->begun;
    else
        ground_fail(g, op);
}

static void write_message(void *ctx, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    (void)ctx;
    ground_write_message(ground_here(), ground_here()->at, peer, value);
}

void ground_open_order(ground_rank *r)
{
    r->order.user = (tutti_message_order_user){r, state_of, begin, write_message};
    for (int peer = 0; peer < GROUND_RANKS; peer++) r->connection[peer] = TUTTI_PEER_HERE;
}

/* Nothing is written where there is no connection any more. */
void ground_write_message(
    ground *g, int from, int to, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    message **at = &g->rank[to].messages[from], *n;
    if (g->rank[to].crashed || state_of(&g->rank[from], to) != TUTTI_PEER_HERE) return;
    n = calloc(1, sizeof *n);
    if (!n) abort();
    n->message.rank = from;
    memcpy(n->message.value, value, sizeof n->message.value);
    while (*at) at = &(*at)->next;
    *at = n;
}

/* ---- messages ---- */

static int is_message(const ground_op *op)
{
    return op->kind == GROUND_SEND || op->kind == GROUND_RECV;
}

/* In one mpirun all have begun: they go when both ends may. */
void ground_add_message(ground *g, ground_op *op)
{
    if (g->jobs)
        tutti_message_order_add(&g->rank[op->rank].order, &op->ordered);
    else
        op->begun = ++g->begun;
}

static ground_op *find_ready(const ground_rank *r)
{
    for (ground_op *op = r->first; op; op = op->next)
        if (is_message(op) && !op->ordered.ready && ground_may_run(op)) return op;
    return NULL;
}

void ground_let_begin(ground *g)
{
    int at = g->at;
    for (int rank = 0; rank < g->ranks; rank++) {
        ground_rank *r = &g->rank[rank];
        ground_enter(g, rank);
        for (ground_op *op; (op = find_ready(r));)
            tutti_message_order_ready(&r->order, &op->ordered);
    }
    ground_enter(g, at);
}

/* ---- who is lost ---- */

int ground_may_lose(const ground *g, int rank, int peer)
{
    return g->rank[rank].connection[peer] != TUTTI_PEER_AWAY;
}

int ground_may_break(const ground *g, int rank, int peer)
{
    const ground_rank *r = &g->rank[rank];
    return g->rank[peer].crashed && !r->cut && r->connection[peer] == TUTTI_PEER_HERE;
}

static ground_op *last_begun(const ground_rank *r, int peer)
{
    ground_op *last = NULL;
    for (ground_op *op = r->first; op; op = op->next)
        if (op->begun && op->ordered.peer == peer && (!last || op->begun > last->begun)) last = op;
    return last;
}

/* What it had written, and was not heard, is not heard any more. */
void ground_break(ground *g, int rank, int peer)
{
    ground_rank *r = &g->rank[rank];
    ground_enter(g, rank);
    r->connection[peer] = TUTTI_PEER_BROKEN;
    ground_drop_messages(g, peer, rank);
    for (ground_op *op; (op = last_begun(r, peer));) {
        if (op->ordered.has_spare) {
            op->begun = 0;
            tutti_message_order_put_back(&r->order, &op->ordered);
        } else {
            ground_fail(g, op);
        }
    }
}

int ground_may_part(const ground *g, int rank, int peer)
{
    return g->rank[rank].connection[peer] == TUTTI_PEER_BROKEN && !g->rank[rank].cut;
}

void ground_part(ground *g, int rank, int peer)
{
    ground_enter(g, rank);
    g->rank[rank].connection[peer] = TUTTI_PEER_AWAY;
    tutti_message_order_redirect(&g->rank[rank].order, peer);
}
