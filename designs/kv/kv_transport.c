/* The transport within one mpirun: active messages and edges of the session. */
#include "designs/kv/kv_parts.h"

#include <string.h>

static tutti_status mpi_write(
    tutti_kv *kv, int rank, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    tutti_active_message message = {.rank = rank};
    memcpy(message.value, value, sizeof message.value);
    return tutti_exchange_write(kv->session->exchange, &message);
}

static tutti_status mpi_send(tutti_kv *kv, const tutti_kv_message *m)
{
    return tutti_send(kv->session, m->data, tutti_several(m->dtype), m->rank, m->slot);
}

static tutti_status mpi_recv(tutti_kv *kv, const tutti_kv_message *m)
{
    return tutti_recv(kv->session, m->data, tutti_several(m->dtype), m->rank, m->slot);
}

static tutti_status mpi_listen(tutti_kv *kv, tutti_active_message_handler *on_message, void *ctx)
{
    return tutti_exchange_listen(kv->session->exchange, on_message, ctx);
}

static tutti_status mpi_wait(tutti_kv *kv, double timeout_s)
{
    return tutti_wait(kv->session, timeout_s);
}

static int mpi_has_left(tutti_kv *kv, int rank)
{
    return tutti_exchange_has_left(kv->session->exchange, rank);
}

static void mpi_close(tutti_kv *kv)
{
    (void)kv;
}

const tutti_kv_transport tutti_kv_transport_mpi = {
    .write = mpi_write,
    .send = mpi_send,
    .recv = mpi_recv,
    .listen = mpi_listen,
    .wait = mpi_wait,
    .has_left = mpi_has_left,
    .close = mpi_close,
};
