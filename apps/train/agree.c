#include "apps/train/agree.h"

#include "collectives/boot.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <signal.h>
#include <stdlib.h>

tutti_status tutti_trainer_record_interrupt(const tutti_trainer *s, tutti_status status)
{
    double signal = tutti_interrupt_asked(s->interrupt);
    if (status != TUTTI_ERR_INTERRUPTED) return status;
    /* if this fails, each rank goes by its own */
    if (!tutti_exchange_call(s->session.exchange, "the signal",
            &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                .dtype = TUTTI_F64,
                .op = TUTTI_MAX,
                .count = 1,
                .recv = &signal}))
        tutti_interrupt_resolve(s->interrupt, (int)signal);
    if (s->session.placement.rank == 0)
        tutti_log(TUTTI_LOG_WARN, "interrupted by %s before the first step: nothing has changed",
            tutti_interrupt_name((int)signal));
    return status;
}

int tutti_trainer_ends(const tutti_trainer *s)
{
    const int signal = tutti_interrupt_asked(s->interrupt);
    const int leaves = s->elastic && !s->options->elastic.least && signal == SIGTERM;
    return leaves ? 0 : signal;
}

tutti_status tutti_trainer_agree(tutti_trainer *s, tutti_status mine)
{
    if (!mine && !s->restored && tutti_trainer_ends(s)) mine = TUTTI_ERR_INTERRUPTED;
    return tutti_trainer_record_interrupt(s, tutti_exchange_agree(s->session.exchange, mine, NULL));
}

tutti_status tutti_trainer_broadcast(
    tutti_trainer *s, const char *name, tutti_dtype dtype, int64_t count, void *data)
{
    return tutti_exchange_broadcast(s->session.exchange, name, dtype, 0, count, data);
}

int tutti_trainer_is_lasting(tutti_status status)
{
    return status == TUTTI_ERR_FORMAT || status == TUTTI_ERR_UNSUPPORTED ||
           status == TUTTI_ERR_INVAL;
}

void tutti_trainer_warn_lasting(void)
{
    if (getenv("TUTTI_RUN")) tutti_log(TUTTI_LOG_WARN, "a restart would fail in the same way");
}

void tutti_trainer_end_all(tutti_status status)
{
    static const double time_to_tell_s = 0.3; /* the others have learned of it, and log it too */
    tutti_log(
        TUTTI_LOG_ERROR, "this rank cannot continue: %s; all ranks end", tutti_status_text(status));
    if (tutti_trainer_is_lasting(status)) tutti_trainer_warn_lasting();
    if (status == TUTTI_ERR_MISMATCH) tutti_clock_sleep(time_to_tell_s);
    tutti_boot_abort(1);
}
