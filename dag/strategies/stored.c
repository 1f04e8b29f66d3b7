/* sync where servers and clients are jobs of their own: in every step all clients push their gradients to a
 * store of keys, whose servers add them in the order of clients, update, and answer.
 *
 * Axes: as served.c; pushes begin as gradients are completed, and the next forward pass as weights come back.
 *
 * Invariants: after a step all workers have the same bits of a parameter, which depend on the clients and their
 * order alone. They are those of served.c, with the same clients in one mpirun, if the number of clients is a
 * power of two, or each has one worker. Statistics of batch norms are a client's own: no client waits for
 * another's. The death of a client ends the run.
 *
 * Source: Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server", OSDI. */
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

const tutti_strategy tutti_strategy_stored = {.name = "sync",
    .summary = "servers of a store of keys add what clients push, and update",
    .of = &tutti_strategy_sync,
    .pushes = 1,
    .check = tutti_step_check_stored,
    .sum = tutti_builder_keep_sum,
    .update = tutti_builder_leave_to_store};
