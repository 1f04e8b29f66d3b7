/* The hooks of a runner: they convert a graph's nodes to the driver's collectives. */
#include "designs/exchange/exchange_parts.h"

#include "dag/run/sequence.h"
#include "designs/passes/chunk.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

static int group_of(const tutti_node *node)
{
    return ((const tutti_coll_args *)node->desc)->group;
}

static const tutti_members *members_of(tutti_exchange *x, const tutti_node *node)
{
    return tutti_driver_members(tutti_comm_thread_driver(x->thread), group_of(node));
}

static tutti_driver *driver_of(tutti_exchange *x, const tutti_node *node)
{
    return tutti_driver_of(tutti_comm_thread_driver(x->thread), group_of(node));
}

static int64_t reserve_node(void *ctx, const tutti_node *node)
{
    tutti_exchange *x = ctx;
    if (x->order && tutti_order_submit(x->order, node)) return -1;
    return tutti_driver_reserve(driver_of(x, node), &node->place, node->name);
}

static int64_t reserve_inserted(void *ctx, const tutti_node *node)
{
    tutti_exchange *x = ctx;
    const tutti_exchange_options *o = &x->options;
    tutti_driver *driver = driver_of(x, node);
    tutti_coll_args args =
        tutti_coll_desc_args(node->desc, node->desc_bytes, members_of(x, node)->size);
    tutti_place place = tutti_chunk_place(
        &args, o->chunk_bytes, tutti_driver_lanes(driver), tutti_driver_inserted(driver));
    place.priority = node->place.priority;
    return tutti_driver_reserve(driver, &place, node->name);
}

/* The buffers are not known yet, only that they will be in GPU memory. */
static tutti_status prepare_node(void *ctx, const tutti_node *node, size_t *bytes)
{
    tutti_exchange *x = ctx;
    const tutti_members *members = members_of(x, node);
    tutti_coll_args args = tutti_coll_desc_args(node->desc, node->desc_bytes, members->size);
    args.memory = TUTTI_MEMORY_DEVICE;
    return tutti_driver_prepare(driver_of(x, node), &node->place, &args, bytes);
}

static void *take_received(void *ctx, size_t bytes)
{
    tutti_exchange *x = ctx;
    return tutti_comm_take_memory(tutti_comm_thread_comm(x->thread), bytes);
}

static void give_received(void *ctx, void *memory)
{
    tutti_exchange *x = ctx;
    tutti_comm_give_memory(tutti_comm_thread_comm(x->thread), memory);
}

static void *claim_node(void *ctx, const tutti_node *node, int64_t sequence)
{
    tutti_exchange *x = ctx;
    const tutti_coll_args args = tutti_coll_desc_args(node->desc, node->desc_bytes, 2);
    return sequence < 0 ? NULL
                        : tutti_driver_claim(tutti_comm_thread_driver(x->thread), sequence, &args);
}

static void node_written(void *ctx, const tutti_node *node, int64_t sequence)
{
    tutti_exchange *x = ctx;
    const tutti_coll_args args = tutti_coll_desc_args(node->desc, node->desc_bytes, 2);
    tutti_driver_wrote(tutti_comm_thread_driver(x->thread), sequence, &args);
}

/* Adds a node's buffers: recv, then send, each only if this rank has it, then its extra vectors. */
static tutti_coll_args with_buffers(
    tutti_exchange *x, const tutti_node *node, const tutti_buffer buf[])
{
    const tutti_members *members = members_of(x, node);
    int rank = members->rank, next = 0;
    tutti_coll_args args = tutti_coll_desc_args(node->desc, node->desc_bytes, members->size);
    if (tutti_coll_has_recv(&args, rank)) {
        args.memory = buf[next].memory;
        args.recv = buf[next++].pointer;
    }
    if (tutti_coll_has_send(&args, rank)) {
        args.memory = buf[next].memory;
        args.send = buf[next++].pointer;
    }
    for (int k = 0; k < args.extras; k++) args.extra[k] = buf[next++].pointer;
    return args;
}

static void start_node(void *ctx, const tutti_node *node, int64_t sequence,
    const tutti_buffer buf[], tutti_token *token)
{
    tutti_exchange *x = ctx;
    if (sequence < 0) {
        tutti_token_finish(token, TUTTI_ERR_NOMEM);
        return;
    }
    const tutti_coll_args args = with_buffers(x, node, buf);
    tutti_driver_ready(tutti_comm_thread_driver(x->thread), sequence, &args, token);
}

static tutti_status pass_or_yield(void *ctx)
{
    tutti_exchange *x = ctx;
    if (!tutti_driver_pass(tutti_comm_thread_driver(x->thread)))
        sched_yield(); /* other ranks may share the core */
    return TUTTI_OK;
}

static void observe_ledger(void *ctx, tutti_ledger *ledger, int whole)
{
    tutti_exchange *x = ctx;
    tutti_watch *watch = tutti_comm_thread_watch(x->thread);
    if (watch) tutti_inquiry_observe(tutti_watch_inquiry(watch), ledger, whole);
}

void tutti_exchange_set_waiting(void *ctx, int begins)
{
    tutti_exchange *x = ctx;
    tutti_watch *watch = tutti_comm_thread_watch(x->thread);
    if (watch) tutti_inquiry_wait(tutti_watch_inquiry(watch), begins);
}

tutti_run_hooks tutti_exchange_hooks(tutti_exchange *exchange)
{
    int main_drives = exchange->options.design->start->main_drives;
    const int in_order = !exchange->options.design->unsafe;
    return (tutti_run_hooks){.ctx = exchange,
        .reserve = reserve_node,
        .prepare = prepare_node,
        .take_memory = take_received,
        .give_memory = give_received,
        .claim = in_order ? claim_node : NULL,
        .wrote = node_written,
        .start = start_node,
        .main = main_drives ? pass_or_yield : NULL,
        .observe = observe_ledger,
        .waits = tutti_exchange_set_waiting};
}

/* Describes a message by the call that has inserted it here. */
static void describe_inserted(void *ctx, int64_t sequence, char *text, size_t size)
{
    const tutti_exchange *x = ctx;
    tutti_driver *driver = tutti_comm_thread_driver(x->thread);
    const tutti_members *m = tutti_driver_members(driver, tutti_sequence_slot(sequence));
    int from, to, edge;
    if (!m || !tutti_edge_find(m->key, &from, &to, &edge)) return;
    int sends = tutti_exchange_rank(x) == from;
    snprintf(text, size, "%s #%" PRId64 " %s rank %d on edge %d",
        sends ? "tutti_send" : "tutti_recv", tutti_sequence_number(sequence), sends ? "to" : "from",
        sends ? to : from, edge);
}

tutti_run_hooks tutti_exchange_insert_hooks(tutti_exchange *exchange)
{
    tutti_run_hooks hooks = tutti_exchange_hooks(exchange);
    hooks.reserve = reserve_inserted;
    hooks.describe = describe_inserted;
    return hooks;
}
