#include "apps/train/stopwatch.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/mem.h"

#include <stdlib.h>

enum { WARM = 3 };

tutti_status tutti_stopwatch_open(tutti_meter *meter, int64_t steps, tutti_stopwatch *watch)
{
    *watch = (tutti_stopwatch){.meter = meter, .room = steps, .warm = steps > 2 * WARM ? WARM : 0};
    watch->step_s = malloc(tutti_mem_product((size_t)steps + 1, sizeof *watch->step_s));
    if (!watch->step_s)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for the times of %lld steps", (long long)steps);
    return TUTTI_OK;
}

void tutti_stopwatch_start(tutti_stopwatch *watch)
{
    watch->begun = tutti_meter_read(watch->meter);
    watch->begun_s = watch->last_s = tutti_clock_s();
}

double tutti_stopwatch_step(tutti_stopwatch *watch)
{
    double now = tutti_clock_s(), took = now - watch->last_s;
    watch->last_s = now;
    if (watch->warm > 0) {
        if (--watch->warm == 0) {
            watch->total_s += now - watch->begun_s;
            tutti_stopwatch_start(watch);
        }
    } else if (watch->steps < watch->room) {
        watch->step_s[watch->steps++] = took;
    }
    return took;
}

void tutti_stopwatch_lap(tutti_stopwatch *watch)
{
    tutti_meter_reading now = tutti_meter_read(watch->meter);
    double now_s = tutti_clock_s();
    watch->total_s += now_s - watch->begun_s;
    if (!watch->warm) {
        watch->seconds += now_s - watch->begun_s;
        watch->compute_s += now.compute_s - watch->begun.compute_s;
        watch->comm_s += now.comm_s - watch->begun.comm_s;
        watch->hidden_s += now.hidden_s - watch->begun.hidden_s;
    }
    watch->begun = now;
    watch->begun_s = now_s;
}

double tutti_stopwatch_median_s(const tutti_stopwatch *watch)
{
    return tutti_median(watch->steps, watch->step_s);
}

double tutti_stopwatch_hidden_pct(const tutti_stopwatch *watch)
{
    return watch->comm_s > 0 ? 100 * watch->hidden_s / watch->comm_s : 0;
}

void tutti_stopwatch_close(tutti_stopwatch *watch)
{
    free(watch->step_s);
    *watch = (tutti_stopwatch){0};
}
