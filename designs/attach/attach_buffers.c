/* The remote buffers of a session. */
#include "designs/attach/attach.h"

#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"

#include <inttypes.h>

static tutti_status check(const tutti_session *session, tutti_dtype dtype, int64_t count, int peer,
    int edge, const tutti_handle *buffer)
{
    static const char function[] = "tutti_register";
    if (!buffer) return tutti_fail(TUTTI_ERR_INVAL, "%s: buffer is NULL", function);
    if ((unsigned)dtype >= TUTTI_DTYPE_COUNT)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: unknown type %d (tutti/dtype.h)", function, (int)dtype);
    if (count < 1 || count > UINT32_MAX)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: %" PRId64 " elements: must be from 1 to %" PRIu32 ", as StarPU counts them",
            function, count, UINT32_MAX);
    return tutti_session_check_edge(session, function, peer, edge);
}

tutti_status tutti_register(tutti_session *session, tutti_dtype dtype, int64_t count, int peer,
    int edge, tutti_handle *buffer)
{
    tutti_status status = tutti_session_enter(session, "tutti_register");
    if (!status) status = check(session, dtype, count, peer, edge, buffer);
    if (status) return status;
    const tutti_registered like = {.owner = session, .dtype = dtype, .peer = peer, .edge = edge};
    tutti_buffers *buffers = &session->whole->buffers;
    buffers->hooks = tutti_exchange_insert_hooks(session->exchange);
    return tutti_buffers_add(buffers, &like, count, buffer);
}

/* INVAL (logged): the session has no such buffer. */
static tutti_status find(tutti_session *session, const char *function, tutti_handle buffer,
    const tutti_registered **found)
{
    tutti_status status = tutti_session_enter(session, function);
    if (status) return status;
    *found = tutti_buffers_find(&session->whole->buffers, session, buffer);
    if (*found) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: %s", function,
        buffer ? "the handle is not a buffer that tutti_register has made in this session"
               : "the buffer is NULL");
}

tutti_status tutti_unregister(tutti_session *session, tutti_handle buffer)
{
    static const char function[] = "tutti_unregister";
    static const double patience_s = 60;
    const unsigned errors = tutti_error_count();
    const tutti_registered *found;
    tutti_status status = find(session, function, buffer, &found);
    if (status) return status;
    status = tutti_insert_wait_for(session->insert, buffer, patience_s);
    if (status) tutti_exchange_explain(session->exchange, status);
    if (status == TUTTI_ERR_TIMEOUT && !tutti_insert_ended(session->insert))
        return tutti_session_leave(function, errors, status);
    /* A later handle may have the same address. */
    tutti_names_give(session->names, buffer, NULL);
    tutti_priorities_drop(&session->whole->priorities, buffer);
    tutti_buffers_remove(&session->whole->buffers, buffer);
    return tutti_session_leave(function, errors, status);
}

static tutti_status move_buffer(
    tutti_session *session, const char *function, tutti_handle buffer, int sends)
{
    const tutti_registered *b;
    tutti_status status = find(session, function, buffer, &b);
    if (status) return status;
    return tutti_session_message(session, function, buffer, b->dtype, b->peer, sends, b->edge);
}

tutti_status tutti_put(tutti_session *session, tutti_handle buffer)
{
    return move_buffer(session, "tutti_put", buffer, 1);
}

tutti_status tutti_get(tutti_session *session, tutti_handle buffer)
{
    return move_buffer(session, "tutti_get", buffer, 0);
}
