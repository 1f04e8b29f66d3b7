/* tutti_trace_begin and tutti_trace_end. */
#include "designs/attach/attach.h"

#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"

static const double patience_s = 60;

/* Waits for everything inserted so far: ranks can then meet. */
static tutti_status settle(tutti_session *session)
{
    tutti_status status = tutti_insert_wait(session->insert, patience_s);
    if (status) tutti_exchange_explain(session->exchange, status);
    return status;
}

tutti_status tutti_trace_begin(tutti_session *session, const char *file)
{
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_session_enter(session, "tutti_trace_begin");
    if (status) return status;
    if (session->recording)
        return tutti_fail(TUTTI_ERR_INVAL,
            "tutti_trace_begin: this session is being traced: call tutti_trace_end first");
    status = settle(session);
    if (!status) status = tutti_recording_open(session->exchange, file, &session->recording);
    return tutti_session_leave("tutti_trace_begin", errors, status);
}

tutti_status tutti_trace_end(tutti_session *session)
{
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_session_enter(session, "tutti_trace_end");
    if (status) return status;
    if (!session->recording)
        return tutti_fail(TUTTI_ERR_INVAL,
            "tutti_trace_end: this session is not being traced: call tutti_trace_begin first");
    status = settle(session);
    if (tutti_insert_ended(session->insert)) {
        tutti_status written = tutti_recording_close(session->recording, status);
        session->recording = NULL;
        if (!status) status = written;
    }
    return tutti_session_leave("tutti_trace_end", errors, status);
}
