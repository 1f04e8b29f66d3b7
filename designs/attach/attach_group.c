/* The groups of a session. */
#include "designs/attach/attach.h"

#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"
#include "designs/attach/sessions.h"

/* A rank without memory takes part, so that the others learn of it. */
static tutti_status make(
    tutti_session *whole, tutti_session *fresh, int n, const int ranks[], int *group)
{
    tutti_status status = tutti_session_finalize(whole);
    if (status) return status;
    status = tutti_exchange_group(whole->exchange, n, fresh ? ranks : NULL, group);
    return fresh ? status : tutti_fail(TUTTI_ERR_NOMEM, "tutti_group: no memory");
}

tutti_status tutti_group(tutti_session *session, int n, const int ranks[], tutti_session **group)
{
    unsigned errors = tutti_error_count();
    int number;
    tutti_status status = tutti_session_enter_whole(session, "tutti_group");
    if (status) return status;
    if (!group) return tutti_fail(TUTTI_ERR_INVAL, "tutti_group: group is NULL");
    tutti_session *s = tutti_sessions_open(sizeof *s);
    status = make(session, s, n, ranks, &number);
    if (status) {
        if (s) tutti_sessions_close(s);
        return tutti_session_leave("tutti_group", errors, status);
    }
    const tutti_members *members = tutti_exchange_members(session->exchange, number);
    *s = (tutti_session){.whole = session,
        .next = session->next,
        .group = number,
        .exchange = session->exchange,
        .insert = session->insert,
        .names = session->names,
        .rank = members->rank,
        .size = members->size,
        .may_abort = session->may_abort};
    if (members->rank < 0) {
        tutti_sessions_close(s);
        *group = NULL;
        return TUTTI_OK;
    }
    session->next = s;
    *group = s;
    return TUTTI_OK;
}
