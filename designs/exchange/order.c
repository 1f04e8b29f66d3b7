#include "designs/exchange/order.h"

#include "dag/base/log.h"
#include "dag/graph/edges.h"
#include "designs/passes/chunk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_AT = 5 };

/* A collective of the agreement. */
typedef struct agreement {
    tutti_token token; /* first member: the token's address is the struct's */
    tutti_order_plan *plan;
    int64_t sequence;
    int open; /* submitted, and its token not finished: its buffer is in use */
} agreement;

struct tutti_order_plan {
    agreement times,
        list; /* the maximum of all ranks' times; the order that rank 0 makes from it */
    tutti_order_options options;
    tutti_driver *driver;
    int rank, ranks, pieces, slots, section;
    int64_t step; /* the next to be submitted */
    tutti_piece *piece;
    double *seen;            /* [pieces + 1]: when each is ready, and seconds per byte */
    tutti_observed observed; /* the driver writes it until it awaits the order */
    int *befores, *before; /* [slots + 1], [befores[slots]]: what must end before a chunk starts */
    int32_t *order;
    tutti_outlook outlook;
};

/* ---- what is ordered ---- */

static tutti_status find_pieces(tutti_order_plan *p, const tutti_graph *graph)
{
    int nodes = tutti_graph_nodes(graph);
    p->piece = calloc((size_t)nodes + 1, sizeof *p->piece);
    if (!p->piece) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to order %d nodes", nodes);
    p->section = -1;
    tutti_status status = TUTTI_OK;
    for (int n = 0; n < nodes && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        if (p->section < 0) p->section = node->section;
        if (node->section != p->section) continue;
        const tutti_coll_args *args = node->desc;
        tutti_piece *piece = &p->piece[p->pieces++];
        *piece = (tutti_piece){.node = n,
            .chunks = tutti_chunk_count(&node->place),
            .bytes = args->count * (int64_t)tutti_dtype_bytes(args->dtype)};
        p->slots += piece->chunks;
        status = tutti_reach_next_step(graph, n, &piece->needed);
    }
    return status;
}

static tutti_status write_slots(const tutti_order_plan *p, tutti_graph *graph)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < p->pieces && !status; i++) {
        tutti_place place = tutti_graph_get_node(graph, p->piece[i].node)->place;
        place.slots = p->slots;
        status = tutti_graph_set_place(graph, p->piece[i].node, place);
    }
    return status;
}

/* Adds the predecessors of the node's chunks, which are the same for all of them. */
static tutti_status add_befores(
    tutti_order_plan *p, int slot, int chunks, const int before[], int befores)
{
    int at = p->befores[slot];
    int *grown =
        realloc(p->before, ((size_t)at + (size_t)chunks * (size_t)befores + 1) * sizeof *grown);
    if (!grown) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to order %d collectives", p->slots);
    p->before = grown;
    for (int s = 0; s < chunks; s++) {
        for (int i = 0; i < befores; i++) p->before[at++] = before[i];
        p->befores[slot + s + 1] = at;
    }
    return TUTTI_OK;
}

/* Finds what waits for what within a step. */
static tutti_status find_befores(tutti_order_plan *p, const tutti_graph *graph)
{
    tutti_reach *reach = NULL;
    int slot = 0;
    p->befores = calloc((size_t)p->slots + 1, sizeof *p->befores);
    if (!p->befores)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to order %d collectives", p->slots);
    tutti_status status = tutti_reach_new(tutti_graph_tensors(graph), &reach);
    for (int n = 0; n < tutti_graph_nodes(graph) && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->section != p->section || node->kind == TUTTI_NODE_MARK) continue;
        int collective = node->kind == TUTTI_NODE_COLLECTIVE, befores = 0;
        int chunks = collective ? tutti_chunk_count(&node->place) : 0;
        const int *before = NULL;
        status = tutti_reach_add(reach, node, slot, chunks, &before, &befores);
        if (!status && collective) status = add_befores(p, slot, chunks, before, befores);
        slot += chunks;
    }
    tutti_reach_free(reach);
    return status;
}

/* Rank 0 makes the order from its own graph, which does not have the groups that it is not in. */
tutti_status tutti_order_admit(const tutti_graph *graph)
{
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind == TUTTI_NODE_COLLECTIVE && node->group)
            return tutti_fail(TUTTI_ERR_UNSUPPORTED,
                "the collectives of this step cannot follow an agreed order: '%s' belongs to a %s, "
                "and rank 0 does not see all of those. Run in program order",
                node->name, node->edge ? "message" : "group");
    }
    return TUTTI_OK;
}

static void finish_times(tutti_token *token, tutti_status status);
static void finish_order(tutti_token *token, tutti_status status);

tutti_status tutti_order_open(const tutti_order_options *options, tutti_graph *graph, int rank,
    int ranks, tutti_driver *driver, tutti_order_plan **plan)
{
    tutti_order_plan *p = calloc(1, sizeof *p);
    *plan = NULL;
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to order collectives");
    *p = (tutti_order_plan){.times = {.token.finish = finish_times, .plan = p},
        .list = {.token.finish = finish_order, .plan = p},
        .options = *options,
        .driver = driver,
        .rank = rank,
        .ranks = ranks};
    if (!p->options.at) p->options.at = DEFAULT_AT;
    tutti_status status = tutti_order_admit(graph);
    if (!status) status = find_pieces(p, graph);
    int wanted = !status && p->slots > 1;
    if (wanted) status = find_befores(p, graph);
    if (wanted && !status) status = tutti_observed_open(&p->observed, p->pieces, p->slots);
    if (wanted && !status) {
        p->order = calloc((size_t)p->slots, sizeof *p->order);
        p->seen = calloc((size_t)p->pieces + 1, sizeof *p->seen);
        if (!p->order || !p->seen) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for an order");
    }
    if (wanted && !status) status = write_slots(p, graph);
    if (status || !wanted) {
        tutti_order_close(p);
        return status;
    }
    tutti_driver_observe(driver, &p->observed);
    *plan = p;
    return TUTTI_OK;
}

void tutti_order_close(tutti_order_plan *plan)
{
    if (!plan) return;
    if (plan->times.open || plan->list.open) return; /* a collective still uses its buffer */
    tutti_observed_close(&plan->observed);
    free(plan->piece);
    free(plan->befores);
    free(plan->before);
    free(plan->order);
    free(plan->seen);
    free(plan);
}

/* ---- agreeing ---- */

/* Whether the order has every chunk once, and each after everything that it waits for. */
static int is_valid_order(const tutti_order_plan *p, const int32_t order[])
{
    char started[p->slots];
    memset(started, 0, sizeof started);
    for (int slot = 0; slot < p->slots; slot++) {
        int32_t chunk = order[slot];
        if (chunk < 0 || chunk >= p->slots || started[chunk]) return 0;
        for (int i = p->befores[chunk]; i < p->befores[chunk + 1]; i++)
            if (!started[p->before[i]]) return 0;
        started[chunk] = 1;
    }
    return 1;
}

/* Fills the outlook; p->order must be program order. */
static void fill_outlook(tutti_order_plan *p, double seconds_per_byte)
{
    tutti_outlook *o = &p->outlook;
    o->known = seconds_per_byte > 0;
    o->seconds_per_byte = seconds_per_byte;
    o->urgent_s = tutti_priority_urgent_s(p->pieces, p->piece, seconds_per_byte, p->order);
    for (int i = 0; i < p->pieces; i++)
        if (p->piece[i].ready_s > o->backward_s) o->backward_s = p->piece[i].ready_s;
}

/* Rank 0's order, from the observations of all ranks; program order if there are none, or if the result is not
 * valid. */
static void make_order(tutti_order_plan *p)
{
    tutti_priority_program_order(p->slots, p->order);
    double seconds_per_byte = p->seen[p->pieces];
    for (int i = 0; i < p->pieces; i++) p->piece[i].ready_s = p->seen[i];
    fill_outlook(p, seconds_per_byte);
    if (p->options.make)
        p->options.make(p->options.ctx, p->slots, p->order);
    else if (seconds_per_byte > 0)
        tutti_priority_order(p->pieces, p->piece, seconds_per_byte, p->order);
    if (!is_valid_order(p, p->order)) tutti_priority_program_order(p->slots, p->order);
    p->outlook.changes = !tutti_priority_is_program_order(p->slots, p->order);
}

/* Several chunks of the largest size: the link stays busy while one ends and the next begins. More on many ranks, where
 * a chunk takes the latency of as many messages: simulated, 64 ranks on 25 Gbit/s need 8, 32 on 100 Gbit/s too. */
static int64_t window_of(const tutti_order_plan *p)
{
    enum { LEAST = 4, RANKS_A_CHUNK = 4 };
    const int most = p->ranks / RANKS_A_CHUNK, chunks = most < LEAST ? LEAST : most;
    int64_t largest = 1;
    for (int i = 0; i < p->pieces; i++) {
        int64_t bytes = p->piece[i].bytes / p->piece[i].chunks;
        if (bytes > largest) largest = bytes;
    }
    return chunks * largest;
}

static void submit_broadcast(tutti_order_plan *p)
{
    const tutti_coll_args args = {
        .kind = TUTTI_BROADCAST, .dtype = TUTTI_I32, .count = p->slots, .recv = p->order};
    p->list.open = 1;
    tutti_driver_ready(p->driver, p->list.sequence, &args, &p->list.token);
}

/* The allreduce of the times has ended. */
static void finish_times(tutti_token *token, tutti_status status)
{
    tutti_order_plan *p = ((agreement *)token)->plan;
    p->times.open = 0;
    if (status || p->rank != 0) return;
    make_order(p);
    submit_broadcast(p);
}

/* The broadcast has ended. */
static void finish_order(tutti_token *token, tutti_status status)
{
    tutti_order_plan *p = ((agreement *)token)->plan;
    p->list.open = 0;
    if (status) return;
    if (!is_valid_order(p, p->order)) {
        char text[160];
        snprintf(text, sizeof text,
            "collective #%" PRId64 " \"order\": rank %d received no order of %d collectives from "
            "it: do all ranks start the same collectives?",
            p->list.sequence, p->rank, p->slots);
        tutti_driver_abort(p->driver, TUTTI_ERR_MISMATCH, text);
        return;
    }
    int changes = !tutti_priority_is_program_order(p->slots, p->order);
    tutti_driver_order(p->driver, p->order, changes ? window_of(p) : 0);
}

tutti_status tutti_order_submit(tutti_order_plan *plan, const tutti_node *node)
{
    tutti_order_plan *p = plan;
    int begins = node->place.slots && !node->place.index;
    if (!begins || p->step++ != p->options.at) return TUTTI_OK;
    p->times.sequence = tutti_driver_reserve(p->driver, &(tutti_place){0}, "ready times");
    p->list.sequence = tutti_driver_reserve(p->driver, &(tutti_place){0}, "order");
    if (p->times.sequence < 0 || p->list.sequence < 0) return TUTTI_ERR_NOMEM;
    p->seen[p->pieces] = tutti_driver_observed(p->driver, p->seen, p->pieces);
    tutti_driver_await_order(p->driver, p->slots);
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F64,
        .op = TUTTI_MAX,
        .count = p->pieces + 1,
        .recv = p->seen};
    p->times.open = 1;
    tutti_driver_ready(p->driver, p->times.sequence, &args, &p->times.token);
    if (p->rank != 0) submit_broadcast(p);
    return TUTTI_OK;
}

tutti_outlook tutti_order_outlook(const tutti_order_plan *plan)
{
    return plan ? plan->outlook : (tutti_outlook){0};
}
