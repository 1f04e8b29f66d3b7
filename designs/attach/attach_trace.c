/* tutti_trace_begin and tutti_trace_end. */
#include "designs/attach/attach.h"

#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"

tutti_status tutti_trace_begin(tutti_session *session, const char *file)
{
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_session_enter_whole(session, "tutti_trace_begin");
    if (status) return status;
    if (session->recording)
        return tutti_fail(TUTTI_ERR_INVAL,
            "tutti_trace_begin: this session is being traced: call tutti_trace_end first");
    status = tutti_session_finalize(session);
    if (!status) status = tutti_recording_open(session->exchange, file, &session->recording);
    return tutti_session_leave("tutti_trace_begin", errors, status);
}

tutti_status tutti_trace_end(tutti_session *session)
{
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_session_enter_whole(session, "tutti_trace_end");
    if (status) return status;
    if (!session->recording)
        return tutti_fail(TUTTI_ERR_INVAL,
            "tutti_trace_end: this session is not being traced: call tutti_trace_begin first");
    status = tutti_session_finalize(session);
    if (tutti_insert_ended(session->insert)) {
        tutti_status written = tutti_recording_close(session->recording, status);
        session->recording = NULL;
        if (!status) status = written;
    }
    return tutti_session_leave("tutti_trace_end", errors, status);
}
