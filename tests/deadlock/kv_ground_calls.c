/* Functions of libcore that the code of designs/kv calls, as the ground has them. */
#include "tests/deadlock/kv_ground_parts.h"

#include "dag/base/log.h"
#include "designs/attach/sessions.h"

#include <stdlib.h>
#include <string.h>

/* ---- the road ---- */

static tutti_status ground_write(
    tutti_kv *kv, int rank, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    (void)kv;
    ground_write_message(ground_here(), ground_here()->at, rank, value);
    return TUTTI_OK;
}

static tutti_status ground_listen(tutti_kv *kv, tutti_active_message_handler *on_message, void *ctx)
{
    (void)kv;
    ground *g = ground_here();
    g->rank[g->at].on_message = on_message;
    g->rank[g->at].ctx = ctx;
    return TUTTI_OK;
}

/* ---- messages ---- */

static tutti_status add_message(ground_kind kind, const tutti_kv_message *m, tutti_mode mode)
{
    ground_op *op = ground_new_op(kind, "message");
    if (!op) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    op->ordered.sends = kind == GROUND_SEND;
    op->ordered.peer = m->rank;
    op->ordered.tag = m->slot;
    op->ordered.has_spare = kind == GROUND_RECV && m->has_second;
    op->ordered.spare = tutti_kv_spare_of(m);
    op->result = m->result;
    op->task.count = 1;
    op->task.data[0] = m->data;
    op->task.mode[0] = mode;
    tutti_status status = ground_submit(op);
    if (!status) ground_add_message(ground_here(), op);
    return status;
}

static tutti_status ground_send(tutti_kv *kv, const tutti_kv_message *m)
{
    (void)kv;
    return add_message(GROUND_SEND, m, TUTTI_READ);
}

static tutti_status ground_recv(tutti_kv *kv, const tutti_kv_message *m)
{
    (void)kv;
    return add_message(GROUND_RECV, m, TUTTI_WRITE);
}

static tutti_status ground_wait(tutti_kv *kv, double timeout_s)
{
    (void)kv;
    (void)timeout_s;
    return TUTTI_OK;
}

static void ground_leave(tutti_kv *kv)
{
    (void)kv;
}

const tutti_kv_transport ground_transport = {.write = ground_write,
    .send = ground_send,
    .recv = ground_recv,
    .listen = ground_listen,
    .wait = ground_wait,
    .close = ground_leave};

/* ---- data: dag/run/datum.h ---- */

tutti_status tutti_datum_open(int64_t count, tutti_dtype dtype, tutti_insert_handle *data)
{
    size_t element = tutti_dtype_bytes(dtype);
    struct _starpu_data_state *d = calloc(1, sizeof *d + (size_t)count * element);
    if (!d) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    d->count = count;
    d->element = element;
    d->end = &d->first;
    d->next = ground_here()->data;
    ground_here()->data = d;
    *data = d;
    return TUTTI_OK;
}

void tutti_datum_drop(tutti_insert_handle data)
{
    (void)data;
}

void tutti_datum_close(tutti_insert_handle data)
{
    (void)data;
}

tutti_status tutti_datum_when(tutti_insert_handle data, void (*when)(void *arg), void *arg)
{
    ground_op *op = ground_new_op(GROUND_WHEN, "when");
    if (!op) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    const use *last = data->first;
    while (last && last->next) last = last->next;
    op->ordered.peer = last ? last->op->ordered.peer : 0;
    op->ordered.tag = last ? last->op->ordered.tag : 0;
    op->when = when;
    op->task.arg = arg;
    op->task.count = 1;
    op->task.data[0] = data;
    op->task.mode[0] = TUTTI_READWRITE;
    return ground_submit(op);
}

tutti_status tutti_datum_submit(const tutti_datum_task *task)
{
    ground_op *op = ground_new_op(GROUND_TASK, task->name);
    if (!op) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    op->task = *task;
    return ground_submit(op);
}

tutti_status tutti_handle_count(
    tutti_insert_handle data, const tutti_handle_use *how, int64_t *count)
{
    (void)how;
    *count = data->count;
    return TUTTI_OK;
}

/* ---- sessions: designs/attach ---- */

tutti_status tutti_sessions_check(const void *session, const char *what)
{
    (void)session;
    (void)what;
    return TUTTI_OK;
}

tutti_status tutti_session_enter(const struct tutti_session *session, const char *function)
{
    (void)session;
    (void)function;
    return TUTTI_OK;
}

tutti_status tutti_session_leave(const char *function, unsigned errors, tutti_status status)
{
    (void)function;
    (void)errors;
    return status;
}

static tutti_status add_collective(
    ground_kind kind, const tutti_session *session, tutti_handle data, int root)
{
    ground_op *op = ground_new_op(kind, "collective");
    if (!op) return tutti_fail(TUTTI_ERR_NOMEM, "ground: no memory");
    op->group = (const ground_group *)session;
    op->root = root;
    op->task.count = 1;
    op->task.data[0] = data;
    op->task.mode[0] = TUTTI_READWRITE;
    return ground_submit(op);
}

tutti_status tutti_reduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op, int root)
{
    (void)dtype;
    (void)op;
    return add_collective(GROUND_SUM, session, data, root);
}

tutti_status tutti_broadcast(tutti_session *session, tutti_handle data, tutti_dtype dtype, int root)
{
    (void)dtype;
    return add_collective(GROUND_SPREAD, session, data, root);
}

static tutti_status not_here(const char *what)
{
    return tutti_fail(TUTTI_ERR_INTERNAL, "ground: %s has no place in a world with servers", what);
}

tutti_status tutti_allreduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op)
{
    (void)session, (void)data, (void)dtype, (void)op;
    return not_here("tutti_allreduce");
}

tutti_status tutti_priority(tutti_session *session, tutti_handle data, int priority)
{
    (void)session, (void)data, (void)priority;
    return not_here("tutti_priority");
}

tutti_status tutti_barrier(tutti_session *session, tutti_handle data)
{
    (void)session, (void)data;
    return not_here("tutti_barrier");
}

/* ---- connections: designs/kv/connections.h ---- */

/* A server hears no more of who is cut off. */
void tutti_connections_cut(tutti_connections *connections, int peer, int gently)
{
    (void)connections;
    if (!gently) ground_drop_messages(ground_here(), peer, ground_here()->at);
}

void tutti_connections_cut_all(tutti_connections *connections)
{
    (void)connections;
    ground_here()->rank[ground_here()->at].cut = 1;
}
