/* sync, where the layout has parameter servers: clients send them the sums of their workers' gradients; a server adds
 * those of all clients, updates the parameters that it has, and sends them back.
 *
 *   worker    d4 d3 d2 d1    each: reduce to its root in the client, as soon as it is complete
 *   root      send d         to the server that has the parameter
 *   server    receive d of client 0, 1, 2, ...; add in this order; update; send w to each client
 *   root      receive w
 *   worker    broadcast in the client; copies, averages, running statistics
 *
 * Or every rank is both: it does in turn, key by key, what a root and what a server does; what it would send to itself
 * is there already.
 *
 * Axes: data parallelism; every step is one of the sequential rule, on the servers; reduces and messages begin as
 * gradients are completed, and w comes back as soon as it is updated; gradients go to servers, weights come from them;
 * stars of clients around each server, a tree in each client.
 *
 * Invariants: after a step all workers, and the server that has it, have the same bits of a parameter. These depend
 * on the clients and their order alone, and not on arrival, on the design, or on the number of servers: these add
 * in the order of clients, and share a parameter only if the rule treats each element by itself. With one worker in
 * each client they are those of sync, whose sums are added in the order of ranks. What the update rule keeps is on
 * servers, and nowhere else. Statistics of batch norms are keys, too, which are added and come back: no client waits
 * for another but through a server.
 *
 * What is emitted has one order for all ranks: reduces; pushes, from the last key on; pulls, from the first;
 * broadcasts. A rank that did one thing after the other would wait only for ranks that are further behind in that
 * order. A rank that is a worker and a server has both in that order.
 *
 * Where workers are cut into stages, each stage's ranks do all of this for the keys of its layers. The passes, and the
 * messages between stages, come before the first push.
 *
 * Without servers it is sync. Sources: Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter
 * Server", OSDI; Mamidala et al. 2018, "MXNET-MPI", arXiv:1801.03855, for clients that are MPI groups. */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    (void)rule;
    if (!options->placement.servers) return TUTTI_OK;
    if (options->clip_norm > 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: gradients are clipped by the length of all of them, of which each server has a "
            "part: "
            "leave out clipping, or servers");
    if (options->wire != TUTTI_F32)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: servers add gradients in %s, not in %s: leave the wire float32",
            tutti_dtype_name(TUTTI_F32), tutti_dtype_name(options->wire));
    return TUTTI_OK;
}

static tutti_status sum(tutti_builder *b, int l, int p)
{
    return b->options->placement.servers ? tutti_builder_reduce_key(b, l, p)
                                         : tutti_builder_sum(b, l, p);
}

static tutti_status statistics(tutti_builder *b, int l)
{
    return b->options->placement.servers ? tutti_builder_reduce_key(b, l, TUTTI_KEY_STATISTICS)
                                         : tutti_builder_sum_statistics(b, l);
}

static tutti_status update(tutti_builder *b)
{
    if (!b->options->placement.servers) return tutti_builder_update_all(b);
    tutti_status status = tutti_builder_push_keys(b, TUTTI_SENT_GRADIENTS);
    if (status == TUTTI_OK) status = tutti_builder_pull_keys(b, TUTTI_SENT_GRADIENTS);
    return status == TUTTI_OK && b->own.works ? tutti_builder_follow_all(b) : status;
}

const tutti_strategy tutti_strategy_served = {.name = "sync",
    .summary = "servers add what clients send, update all parameters, and send them back",
    .shards = 1,
    .of = &tutti_strategy_sync,
    .serves = 1,
    .everywhere = 1,
    .check = check,
    .sum = sum,
    .statistics = statistics,
    .update = update};
