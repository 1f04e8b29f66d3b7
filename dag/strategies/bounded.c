/* As async, but no client is more than S steps ahead of the slowest: a pull waits until every other client has
 * pushed all but S times as often (stale synchronous parallel).
 *
 *   S = 1      client 0   push 1   push 2   (the pull waits)      push 3
 *              client 1                     push 1          push 2
 *
 * Axes: data parallelism; asynchronous, of weights that are at most S steps of each other client old; a client
 * waits for the slowest alone, and only at the bound; gradients to servers, weights from them; stars of clients
 * around each server, a reduce and a broadcast in each client.
 *
 * Invariants: those of async, and: when a client begins step n, every other has pushed step n - S (of
 * those that have not left; one that returns begins as the slowest). Replies are held back, never pushes. S = 0
 * is sync: what all clients push in a step is added in the order of clients, and is one update, the same bits in
 * every run.
 *
 * Source: Ho et al. 2013, "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
 * NIPS. */
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

enum { BOUND };

static const tutti_strategy_parameter parameters[] = {
    {.key = "bound",
        .help = "steps that a client may be ahead of the slowest; 0: sync",
        .fallback = 3,
        .low = 0,
        .high = 1000000,
        .whole = 1,
        .bare = 1},
    {0}};

static int apart(const tutti_strategy_settings *settings)
{
    return settings->value[BOUND] > 0;
}

const tutti_strategy tutti_strategy_bounded = {.name = "bounded",
    .summary = "as async, but no client gets more than S steps ahead of the slowest",
    .parameter = parameters,
    .needs_servers = 1,
    .pushes = 1,
    .apart = apart,
    .check = tutti_step_check_stored,
    .sum = tutti_builder_keep_sum,
    .update = tutti_builder_leave_to_store};
