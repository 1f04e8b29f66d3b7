#include "collectives/transport/mpi.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int pieces_of(const tutti_mpi *t, size_t bytes)
{
    return bytes <= t->piece ? 1 : (int)((bytes + t->piece - 1) / t->piece);
}

static size_t piece_bytes(const tutti_mpi *t, size_t bytes, int i)
{
    size_t left = bytes - (size_t)i * t->piece;
    return left < t->piece ? left : t->piece;
}

/* ---- messages ---- */

static tutti_status message_new(
    tutti_mpi *t, const tutti_mpi_message *like, tutti_mpi_message **message)
{
    if (like->bytes / t->piece >= INT_MAX)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "a message of %zu bytes in pieces of %zu",
            like->bytes, t->piece);
    return tutti_mpi_message_new(t, like, pieces_of(t, like->bytes), message);
}

/* Cancels what can be cancelled. A send cannot: its request is freed, and MPI ends it when
 * possible. A collective's cannot even be freed: it stays in the list. */
void tutti_mpi_abandon(tutti_transport *transport, tutti_message *message)
{
    tutti_mpi_message *m = (tutti_mpi_message *)message;
    tutti_mpi *t = (tutti_mpi *)transport;
    tutti_mpi_requests *u = &t->under_way;
    m->abandoned = 1;
    if (m->kind && m->left) {
        transport->abandoned = 1;
        return;
    }
    for (int i = 0; i < u->count && m->left; i++) {
        if (u->piece[i].of != m) continue;
        if (!m->is_send) MPI_Cancel(&u->request[i]);
        if (t->stride) /* MPI ends the process when one that was freed fails */
            u->request[i] = MPI_REQUEST_NULL;
        else
            MPI_Request_free(&u->request[i]); /* now MPI_REQUEST_NULL */
        m->left--;
    }
    tutti_mpi_close_gaps(u);
    tutti_mpi_message_free(t, m);
}

/* ---- over a communicator that is lent ---- */

static int rank_of(const tutti_mpi *t, int peer)
{
    return t->member && peer != TUTTI_ANY_RANK ? t->member[peer] : peer;
}

/* Whether it is broken. Then receives that have no message yet are cancelled; the others end, since the other ranks
 * make progress until they are in the next epoch. It is not revoked: Open MPI 5.0 may end a process whose sends fail
 * so ("Send error after request freed"). */
static int is_broken(tutti_mpi *t)
{
    static const double sends_s = 0.2;
    if (!t->broken || !atomic_load(t->broken)) return 0;
    if (atomic_load(&t->base.severed)) return 1;
    atomic_store(&t->base.severed, 1);
    tutti_fail(TUTTI_ERR_COMM, "the connections to the other ranks were closed");
    t->until_s = tutti_clock_s() + sends_s;
    tutti_mpi_requests *u = &t->under_way;
    for (int i = 0; i < u->count; i++)
        if (!u->piece[i].of->is_send) MPI_Cancel(&u->request[i]);
    return 1;
}

/* Tests the requests of one message. A send's is left to MPI, which may use it later. */
static void look_at_one(tutti_mpi *t, tutti_mpi_message *m)
{
    tutti_mpi_requests *u = &t->under_way;
    for (int i = 0; i < u->count && m->left; i++) {
        int ended = 0;
        if (u->piece[i].of != m) continue;
        if (m->is_send)
            MPI_Request_get_status(u->request[i], &ended, MPI_STATUS_IGNORE);
        else if (MPI_Test(&u->request[i], &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            ended = 1;
        if (!ended) continue;
        u->request[i] = MPI_REQUEST_NULL;
        m->left--;
    }
    tutti_mpi_close_gaps(u);
}

/* Of a message in a transport that is broken. */
static tutti_status test_broken(tutti_mpi *t, tutti_mpi_message *m, int *done)
{
    look_at_one(t, m);
    *done = !m->left;
    if (m->left && tutti_clock_s() > t->until_s &&
        (m->is_send || tutti_mpi_is_dead(t->lane[0], rank_of(t, m->peer)))) {
        tutti_mpi_abandon(&t->base, (tutti_message *)m);
        *done = 1;
    } else if (*done) {
        tutti_mpi_message_free(t, m);
    }
    return TUTTI_ERR_COMM;
}

/* ---- sends and receives ---- */

tutti_status tutti_mpi_isend(tutti_transport *transport, int lane, int peer, int tag,
    const void *data, size_t bytes, tutti_message **message)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    const tutti_mpi_message like = {.is_send = 1, .peer = peer, .lane = lane, .bytes = bytes};
    tutti_mpi_message *m;
    if (is_broken(t)) return TUTTI_ERR_COMM;
    tutti_status status = message_new(t, &like, &m);
    if (status) return status;
    tutti_transport_select_device(transport);
    for (int i = 0, n = pieces_of(t, bytes); i < n; i++, tutti_mpi_started(t, m)) {
        const char *from = (const char *)data + (size_t)i * t->piece;
        int piece = (int)piece_bytes(t, bytes, i);
        int code = MPI_Isend(from, piece, MPI_BYTE, rank_of(t, peer), tag + lane * t->stride,
            t->lane[lane], tutti_mpi_place(t, m, piece));
        if (code == MPI_SUCCESS) continue;
        tutti_mpi_abandon(transport, (tutti_message *)m);
        return tutti_mpi_fail(code, "MPI_Isend");
    }
    *message = (tutti_message *)m;
    return TUTTI_OK;
}

tutti_status tutti_mpi_irecv(tutti_transport *transport, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    const tutti_mpi_message like = {.peer = peer, .lane = lane, .bytes = bytes};
    tutti_mpi_message *m;
    tutti_status status = message_new(t, &like, &m);
    if (status) return status;
    tutti_transport_select_device(transport);
    peer = peer == TUTTI_ANY_RANK ? MPI_ANY_SOURCE : rank_of(t, peer);
    for (int i = 0, n = pieces_of(t, bytes); i < n; i++, tutti_mpi_started(t, m)) {
        char *to = (char *)data + (size_t)i * t->piece;
        int piece = (int)piece_bytes(t, bytes, i);
        int code = MPI_Irecv(to, piece, MPI_BYTE, peer, tag + lane * t->stride, t->lane[lane],
            tutti_mpi_place(t, m, piece));
        if (code == MPI_SUCCESS) continue;
        tutti_mpi_abandon(transport, (tutti_message *)m);
        return tutti_mpi_fail(code, "MPI_Irecv");
    }
    *message = (tutti_message *)m;
    return TUTTI_OK;
}

/* Looks at all messages when a message is tested for the second time since the last look. */
tutti_status tutti_mpi_test(tutti_transport *transport, tutti_message *message, int *done)
{
    tutti_mpi_message *m = (tutti_mpi_message *)message;
    tutti_mpi *t = (tutti_mpi *)transport;
    if (is_broken(t)) return test_broken(t, m, done);
    if (m->left && m->looked == t->under_way.looks) tutti_mpi_look(t);
    m->looked = t->under_way.looks;
    *done = !m->left;
    tutti_status status = m->status;
    if (!*done) return status;
    if (m->to && !status) memmove(m->to, m->from, m->bytes);
    tutti_mpi_message_free(t, m);
    return status;
}

/* ---- after a failure ---- */

/* A matched receive still ends normally; a send ends when it is received, and a collective when all
 * ranks have started theirs. */
void tutti_mpi_cancel(tutti_transport *transport, tutti_message *message)
{
    tutti_mpi_message *m = (tutti_mpi_message *)message;
    tutti_mpi_requests *u = &((tutti_mpi *)transport)->under_way;
    m->cancelled = 1;
    for (int i = 0; i < u->count && !m->is_send && !m->kind; i++)
        if (u->piece[i].of == m) MPI_Cancel(&u->request[i]);
}

/* Takes the oldest unexpected message, as receive_unexpected says. */
static int take_unexpected(
    const tutti_mpi *t, int lane, int lanes, MPI_Message *arrived, MPI_Status *status)
{
    int found = 0, source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG, code = MPI_SUCCESS;
    if (t->stride) {
        code = MPI_Iprobe(source, tag, t->lane[lane], &found, status);
        if (code != MPI_SUCCESS || !found) return 0;
        source = status->MPI_SOURCE;
        tag = status->MPI_TAG;
        if (tag / t->stride < lane || tag / t->stride >= lane + lanes) return 0;
    }
    code = MPI_Improbe(source, tag, t->lane[lane], &found, arrived, status);
    return code == MPI_SUCCESS && found;
}

/* Receives one unexpected message of a lane. Returns whether there was one. Over a communicator that is lent it is of
 * any of the next `lanes` lanes; the oldest may be of another, whose receive comes and gets it. */
static int receive_unexpected(tutti_mpi *t, int lane, int lanes)
{
    int bytes = 0;
    MPI_Message arrived;
    MPI_Status status;
    tutti_mpi_message *m;
    const tutti_mpi_message like = {.lane = lane};
    if (message_new(t, &like, &m)) return 0;
    if (!take_unexpected(t, lane, lanes, &arrived, &status)) {
        tutti_mpi_message_free(t, m);
        return 0;
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    t->unexpected++;
    m->unexpected = 1;
    m->kept = malloc((size_t)bytes + 1);
    if (!m->kept) { /* truncates the message */
        m->kept = malloc(1);
        bytes = 0;
    }
    int code = MPI_Imrecv(m->kept, bytes, MPI_BYTE, &arrived, tutti_mpi_place(t, m, bytes));
    if (code != MPI_SUCCESS) {
        tutti_mpi_message_free(t, m);
        return 0;
    }
    tutti_mpi_started(t, m);
    return 1;
}

void tutti_mpi_sweep(tutti_transport *transport, int first, int lanes)
{
    enum { MOST = 16 }; /* buffers at once */
    tutti_mpi *t = (tutti_mpi *)transport;
    for (int k = first; k < first + lanes && !is_broken(t); k++)
        while (t->unexpected < MOST && receive_unexpected(t, k, first + lanes - k)) continue;
    if (t->under_way.count) tutti_mpi_look(t);
}
