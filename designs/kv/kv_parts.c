#include "designs/kv/kv_parts.h"

#include "collectives/buf/buf.h"
#include "dag/base/log.h"
#include "designs/attach/sessions.h"

#include <stdlib.h>
#include <string.h>

int tutti_kv_is_server(const tutti_kv *kv)
{
    return kv->server >= 0;
}

int tutti_kv_server_rank(const tutti_kv *kv, int server)
{
    return kv->workers + server;
}

int tutti_kv_worker(const tutti_kv *kv)
{
    return kv->rank % kv->client_size;
}

int tutti_kv_is_root(const tutti_kv *kv, const tutti_kv_part *part)
{
    return tutti_kv_worker(kv) / kv->stages == part->root;
}

tutti_status tutti_kv_enter(const tutti_kv *kv, const char *function, int serves)
{
    tutti_status status = tutti_sessions_check(kv, function);
    if (!status) status = tutti_session_enter(kv->session, function);
    if (status || tutti_kv_is_server(kv) == serves) return status;
    return tutti_fail(TUTTI_ERR_INVAL,
        serves ? "%s: this rank is a worker: ask tutti_kv_serves which ranks serve"
               : "%s: this rank serves: it calls tutti_kv_serve, and nothing else before "
                 "tutti_kv_close",
        function);
}

/* ---- sending and receiving ---- */

static int64_t count_bytes(const tutti_kv_message *m)
{
    return m->count * (int64_t)tutti_dtype_bytes(m->dtype);
}

tutti_status tutti_kv_send_data(tutti_kv *kv, const tutti_kv_message *message)
{
    kv->sent += count_bytes(message);
    return kv->transport->send(kv, message);
}

tutti_status tutti_kv_recv_data(tutti_kv *kv, const tutti_kv_message *message)
{
    kv->received += count_bytes(message);
    return kv->transport->recv(kv, message);
}

int tutti_kv_copies(const tutti_kv *kv)
{
    return kv->portions.copies;
}

tutti_kv_message tutti_kv_message_of(const tutti_kv *kv, const tutti_kv_key *k,
    const tutti_kv_part *part, int copy, tutti_handle data)
{
    const tutti_portion *at = &part->portion;
    return (tutti_kv_message){.rank = tutti_kv_server_rank(kv, copy ? at->second : at->server),
        .slot = copy ? at->second_slot : at->slot,
        .priority = k->priority,
        .data = data,
        .count = part->portion.count,
        .dtype = k->dtype};
}

tutti_connections_spare tutti_kv_spare_of(const tutti_kv_message *m)
{
    return (tutti_connections_spare){.peer = m->second,
        .tag = m->second_slot,
        .spared = {TUTTI_KV_RELEASE, m->second_slot, 0},
        .needed = {TUTTI_KV_RELEASE, m->second_slot, 1}};
}

tutti_status tutti_kv_send_push(tutti_kv *kv, const tutti_kv_key *k, const tutti_kv_part *part)
{
    int64_t rate;
    tutti_status status = TUTTI_OK;
    memcpy(&rate, &kv->rate, sizeof rate);
    for (int copy = 0; copy < tutti_kv_copies(kv) && !status; copy++) {
        const tutti_kv_message message = tutti_kv_message_of(kv, k, part, copy, part->pushed);
        status = kv->transport->write(kv, message.rank,
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){TUTTI_KV_PUSH, message.slot, rate});
        if (!status) status = tutti_kv_send_data(kv, &message);
    }
    return status;
}

tutti_status tutti_kv_request_value(
    tutti_kv *kv, const tutti_kv_key *k, const tutti_kv_part *part, tutti_handle to)
{
    tutti_kv_message message = tutti_kv_message_of(kv, k, part, 0, to);
    tutti_status status = kv->transport->write(kv, message.rank,
        (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){
            TUTTI_KV_PULL, message.slot, part->pushes, message.priority});
    if (!status && tutti_kv_copies(kv) > 1) {
        const tutti_kv_message second = tutti_kv_message_of(kv, k, part, 1, to);
        message.has_second = 1;
        message.second = second.rank;
        message.second_slot = second.slot;
        status = kv->transport->write(kv, second.rank,
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){
                TUTTI_KV_STAND_BY, second.slot, part->pushes, second.priority});
    }
    return status ? status : tutti_kv_recv_data(kv, &message);
}

/* ---- tasks ---- */

int tutti_kv_is_brief(int64_t count, tutti_dtype dtype)
{
    static const int64_t most = 65536;
    return count * (int64_t)tutti_dtype_bytes(dtype) <= most;
}

/* A task's operands: all of its first data, and `count` elements of its second, from `first` on. */
typedef struct element_range {
    int64_t first, count;
    tutti_dtype dtype;
} element_range;

static const void *read_from(const element_range *m, const void *data)
{
    return (const char *)data + (size_t)m->first * tutti_dtype_bytes(m->dtype);
}

static void do_copy(void *arg, void *const buf[])
{
    const element_range *m = arg;
    tutti_buf_copy(buf[0], read_from(m, buf[1]), (size_t)m->count * tutti_dtype_bytes(m->dtype));
}

static void do_add(void *arg, void *const buf[])
{
    const element_range *m = arg;
    tutti_buf_reduce(m->dtype, TUTTI_SUM, buf[0], read_from(m, buf[1]), m->count, 0);
}

static tutti_status submit_range(tutti_datum_task *task, const element_range *like)
{
    element_range *m = malloc(sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a task of %s", task->name);
    *m = *like;
    task->brief = tutti_kv_is_brief(m->count, m->dtype);
    task->arg = m;
    task->release = free;
    tutti_status status = tutti_datum_submit(task);
    if (status) free(m);
    return status;
}

tutti_status tutti_kv_submit_copy(
    tutti_handle to, tutti_handle from, int64_t first, int64_t count, tutti_dtype dtype)
{
    tutti_datum_task task = {.name = "kv copy",
        .work = do_copy,
        .count = 2,
        .data = {to, from},
        .mode = {TUTTI_WRITE, TUTTI_READ}};
    return submit_range(&task, &(element_range){first, count, dtype});
}

tutti_status tutti_kv_submit_add(
    tutti_handle to, tutti_handle from, int64_t first, int64_t count, tutti_dtype dtype)
{
    tutti_datum_task task = {.name = "kv add",
        .work = do_add,
        .count = 2,
        .data = {to, from},
        .mode = {TUTTI_READWRITE, TUTTI_READ}};
    return submit_range(&task, &(element_range){first, count, dtype});
}

static void clear_data(void *arg, void *const buf[])
{
    memset(buf[0], 0, *(const size_t *)arg);
}

tutti_status tutti_kv_open_states(
    const tutti_optimizer *optimizer, int64_t count, tutti_dtype dtype, tutti_handle state[])
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_optimizer_states(optimizer) && !status; i++) {
        size_t *bytes = malloc(sizeof *bytes);
        if (!bytes) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for what the optimizer keeps");
        *bytes = (size_t)count * tutti_dtype_bytes(dtype);
        status = tutti_datum_open(count, dtype, &state[i]);
        const tutti_datum_task task = {.name = "kv clear",
            .work = clear_data,
            .arg = bytes,
            .release = free,
            .count = 1,
            .data = {state[i]},
            .mode = {TUTTI_WRITE}};
        if (!status) status = tutti_datum_submit(&task);
        if (status) free(bytes);
    }
    return status;
}

/* It can fail for lack of memory or a wrong descriptor only. It is logged; the process continues. */
static void do_update(void *arg, void *const buf[])
{
    const tutti_kv_update *u = arg;
    tutti_status status = tutti_optimizer_update(
        &u->optimizer, u->dtype, u->count, u->rate, u->before, buf[1], buf[0], buf + 2);
    if (status) tutti_log(TUTTI_LOG_ERROR, "a key was not updated");
}

tutti_status tutti_kv_submit_update(const tutti_kv_update *update)
{
    tutti_kv_update *u = malloc(sizeof *u);
    if (!u) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an update");
    *u = *update;
    u->state = NULL; /* the task has them */
    int assigns = update->optimizer.kind == TUTTI_OPTIMIZER_ASSIGN;
    tutti_datum_task task = {.name = "kv update",
        .brief = tutti_kv_is_brief(update->count, update->dtype),
        .work = do_update,
        .arg = u,
        .release = free,
        .count = 2 + tutti_optimizer_states(&update->optimizer),
        .data = {update->sum, update->value},
        .mode = {TUTTI_READWRITE, assigns ? TUTTI_WRITE : TUTTI_READWRITE}};
    for (int i = 2; i < task.count; i++) {
        task.data[i] = update->state[i - 2];
        task.mode[i] = TUTTI_READWRITE;
    }
    tutti_status status = tutti_datum_submit(&task);
    if (status) free(u);
    return status;
}

static void end_parts_task(void *arg)
{
    tutti_kv_key *k = arg;
    atomic_fetch_sub(&k->parts_tasks, 1);
}

tutti_status tutti_kv_submit_parts_task(const tutti_kv_parts_task *j)
{
    tutti_kv_key *k = j->key;
    tutti_datum_task task = {.name = j->name,
        .brief = tutti_kv_is_brief(k->count, k->dtype),
        .work = j->work,
        .arg = k,
        .release = end_parts_task,
        .count = 1 + k->parts,
        .data = {j->data},
        .mode = {j->mode}};
    for (int p = 0; p < k->parts; p++) {
        task.data[p + 1] = j->pushed ? k->part[p].pushed : k->part[p].value;
        task.mode[p + 1] = TUTTI_READ;
    }
    atomic_fetch_add(&k->parts_tasks, 1);
    tutti_status status = tutti_datum_submit(&task);
    if (status) end_parts_task(k);
    return status;
}
