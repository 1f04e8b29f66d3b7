#include "apps/train/check_order.h"

#include "dag/base/clock.h"
#include "dag/base/text.h"

#include <stdio.h>

tutti_status tutti_train_check_order(tutti_trainer *trainer)
{
    const tutti_training_session *on = &trainer->session;
    tutti_verdict verdict;
    double start_s = tutti_clock_s();
    tutti_status status = tutti_exchange_check(on->exchange, on->graph);
    double compared_s = tutti_clock_s() - start_s;
    if (!status)
        status = tutti_exchange_check_graph(on->exchange, on->graph, on->options.workers, &verdict);
    double judged_s = tutti_clock_s() - start_s - compared_s;
    if (status) return status;
    if (tutti_trainer_reports(trainer))
        tutti_text_print(stdout,
            "ordering law %s%s: %d collectives per step, design %s, ranks %d, lanes %d, workers "
            "%d (compared in %.3f ms, judged in %.3f ms)\n",
            verdict.clause ? "broken: " : "holds", verdict.clause ? verdict.text : "",
            tutti_training_session_collectives(on), tutti_exchange_design(on->exchange)->name,
            on->placement.ranks, tutti_exchange_lanes(on->exchange), on->options.workers,
            1e3 * compared_s, 1e3 * judged_s);
    return verdict.clause ? TUTTI_ERR_MISMATCH : TUTTI_OK;
}
