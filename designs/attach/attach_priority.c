/* The priorities of a session's collectives; how they work: designs/drive/driver_grant.c. */
#include "designs/attach/attach.h"

#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"

/* Once, and on one rank, because nothing is wrong: the results are the same. */
static void warn_if_ignored(tutti_session *s)
{
    const tutti_design *design = tutti_exchange_design(s->exchange);
    int shares = tutti_exchange_shares_slots(s->exchange);
    if (s->warned || s->rank || (design->start->reorders && !shares)) return;
    s->warned = 1;
    if (shares) {
        tutti_log(TUTTI_LOG_WARN,
            "tutti_priority: over this transport collectives start in program order, whatever "
            "their priority, because its lanes share a device");
        return;
    }
    tutti_log(TUTTI_LOG_WARN,
        "tutti_priority: the design %s starts collectives in program order, whatever their "
        "priority; use funneled or concurrent",
        design->name);
}

tutti_status tutti_priority(tutti_session *session, tutti_handle data, int priority)
{
    tutti_status status = tutti_session_enter_whole(session, "tutti_priority");
    if (!status) status = tutti_priorities_give(&session->priorities, data, priority);
    if (!status && priority) warn_if_ignored(session);
    return status;
}
