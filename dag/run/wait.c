#include "dag/run/wait.h"

#include "dag/base/clock.h"

tutti_status tutti_wait_point(
    tutti_ledger *ledger, const tutti_run_hooks *hooks, int64_t point, double timeout_s)
{
    static const double poll_s =
        100e-6; /* how often a design that works on the main thread is asked */
    double deadline = tutti_clock_s() + timeout_s;
    while (!tutti_ledger_reached(ledger, point)) {
        tutti_status status = tutti_ledger_failure(ledger);
        if (!status && hooks->main) status = hooks->main(hooks->ctx);
        if (status) return status;
        double left = deadline - tutti_clock_s();
        if (left <= 0) return tutti_ledger_report_timeout(ledger, point, timeout_s);
        tutti_ledger_sleep(ledger, point, hooks->main ? poll_s : left);
    }
    return tutti_ledger_failure(ledger);
}

void tutti_run_observe(const tutti_run_hooks *hooks, tutti_ledger *ledger, int whole)
{
    if (hooks->observe) hooks->observe(hooks->ctx, ledger, whole);
}
