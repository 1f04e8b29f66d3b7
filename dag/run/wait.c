#include "dag/run/wait.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

static tutti_status await(tutti_ledger *ledger, const tutti_run_hooks *hooks, int64_t from,
    int64_t point, double timeout_s)
{
    static const double poll_s = 100e-6; /* interval between calls of hooks->main */
    double deadline = tutti_clock_s() + timeout_s;
    while (!tutti_ledger_reached(ledger, from, point)) {
        tutti_status status = tutti_ledger_failure(ledger);
        if (!status && hooks->main) status = hooks->main(hooks->ctx);
        if (status) return status;
        double left = deadline - tutti_clock_s();
        if (left <= 0)
            return timeout_s > 0 ? tutti_ledger_report_timeout(ledger, from, point, timeout_s)
                                 : TUTTI_ERR_TIMEOUT;
        tutti_ledger_sleep(ledger, from, point, hooks->main ? poll_s : left);
    }
    return tutti_ledger_failure(ledger);
}

tutti_status tutti_wait_point(tutti_ledger *ledger, const tutti_run_hooks *hooks, int64_t from,
    int64_t point, double timeout_s)
{
    tutti_run_waits(hooks, 1);
    tutti_status status = await(ledger, hooks, from, point, timeout_s);
    tutti_run_waits(hooks, 0);
    return status;
}

void tutti_run_waits(const tutti_run_hooks *hooks, int begins)
{
    if (hooks->waits) hooks->waits(hooks->ctx, begins);
}

tutti_status tutti_wait_over(tutti_ledger *ledger, const tutti_binding *binding, int tensor)
{
    if (tutti_ledger_reached(ledger, 0, tutti_ledger_point(ledger))) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "tensor '%s' cannot be copied before all that was submitted has ended",
        tutti_graph_get_tensor(binding->graph, tensor)->name);
}

int tutti_wait_drained(tutti_ledger *ledger, const tutti_run_hooks *hooks, double patience_s)
{
    static const double poll_s = 1e-3;
    double until_s = tutti_clock_s() + patience_s;
    for (;;) {
        if (tutti_ledger_reached(ledger, 0, tutti_ledger_point(ledger))) return 1;
        if (tutti_clock_s() > until_s) return 0;
        if (hooks->main && hooks->main(hooks->ctx)) return 0;
        tutti_clock_sleep(poll_s);
    }
}

void tutti_run_observe(const tutti_run_hooks *hooks, tutti_ledger *ledger, int whole)
{
    if (hooks->observe) hooks->observe(hooks->ctx, ledger, whole);
}
