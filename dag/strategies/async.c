/* Each client trains at its own pace: what its gradients are, a server adds to the weights as soon as they come,
 * and the client continues with the weights as they then are.
 *
 *   client 0   d(w0)  push ------+   pull w1      d(w1)  push ------+   pull w3
 *   server             w0        w1 = w0 - d(w0)                w2  w3 = w2 - d(w1)
 *   client 1   d(w0)  push --------------------+  pull w2     ...
 *
 * Axes: data parallelism; asynchronous, each client's gradient an update of its own, of weights that are some
 * updates old; no waiting for other clients; gradients to servers, weights from them; stars of clients around
 * each server, a reduce and a broadcast in each client.
 *
 * Invariants: no gradient is lost, and none is added twice (designs/kv/push_ledger.h). A pull has all pushes that its
 * client has made before. An update has 1/C of the rate, and the mean gradient of the client's own images: what
 * C clients push in a step moves the weights about as far as a step of sync at this rate. The bits depend on
 * arrival.
 *
 * Sources: Dean et al. 2012, "Large Scale Distributed Deep Networks", NIPS (Downpour SGD), with a push and a
 * pull in every step (n_push = n_fetch = 1); by MPI clients: Mamidala et al. 2018, arXiv:1801.03855. */
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

static int apart(const tutti_strategy_settings *settings)
{
    (void)settings;
    return 1;
}

const tutti_strategy tutti_strategy_async = {.name = "async",
    .summary = "with servers: each client's gradients update the weights when they come",
    .needs_servers = 1,
    .pushes = 1,
    .apart = apart,
    .check = tutti_step_check_stored,
    .sum = tutti_builder_keep_sum,
    .update = tutti_builder_leave_to_store};
