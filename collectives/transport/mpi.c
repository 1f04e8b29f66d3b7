#include "collectives/transport/mpi.h"

#include "dag/base/log.h"

#include <limits.h>
#include <stdlib.h>

/* A send or recv: one MPI request a piece. */
struct tutti_message {
    tutti_message *next;     /* while idle */
    MPI_Request *request;    /* [room] */
    int room, pieces, ended; /* requests before `ended` have ended */
    int is_send, peer, lane;
    size_t bytes;
};

tutti_status tutti_mpi_fail(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    return tutti_fail(TUTTI_ERR_COMM, "%s failed: MPI error %d: %.*s", what, code, length, text);
}

static int pieces_of(const tutti_mpi *t, size_t bytes)
{
    return bytes <= t->piece ? 1 : (int)((bytes + t->piece - 1) / t->piece);
}

static size_t piece_bytes(const tutti_mpi *t, size_t bytes, int i)
{
    size_t left = bytes - (size_t)i * t->piece;
    return left < t->piece ? left : t->piece;
}

static tutti_status message_new(tutti_mpi *t, size_t bytes, tutti_message **message)
{
    if (bytes / t->piece >= INT_MAX)
        return tutti_fail(
            TUTTI_ERR_UNSUPPORTED, "a message of %zu bytes in pieces of %zu", bytes, t->piece);
    int pieces = pieces_of(t, bytes);
    tutti_message *m = t->idle;
    if (m)
        t->idle = m->next;
    else
        m = calloc(1, sizeof *m);
    if (m && m->room < pieces) {
        free(m->request);
        m->request = malloc((size_t)pieces * sizeof *m->request);
        m->room = m->request ? pieces : 0;
    }
    if (!m || !m->request) {
        free(m);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message of %d pieces", pieces);
    }
    m->pieces = m->ended = 0;
    m->bytes = bytes;
    *message = m;
    return TUTTI_OK;
}

static void recycle(tutti_mpi *t, tutti_message *m)
{
    m->next = t->idle;
    t->idle = m;
}

/* Cancels what can be cancelled. A send cannot: its request is freed, and MPI ends it when it can.
 */
static void mpi_abandon(tutti_transport *transport, tutti_message *m)
{
    for (int i = m->ended; i < m->pieces; i++) {
        if (!m->is_send) MPI_Cancel(&m->request[i]);
        MPI_Request_free(&m->request[i]);
    }
    recycle((tutti_mpi *)transport, m);
}

static tutti_status mpi_isend(tutti_transport *transport, int lane, int peer, int tag,
    const void *data, size_t bytes, tutti_message **message)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    tutti_message *m;
    tutti_status status = message_new(t, bytes, &m);
    if (status) return status;
    m->is_send = 1;
    m->peer = peer;
    m->lane = lane;
    for (int i = 0, n = pieces_of(t, bytes); i < n; i++, m->pieces++) {
        const char *from = (const char *)data + (size_t)i * t->piece;
        int code = MPI_Isend(from, (int)piece_bytes(t, bytes, i), MPI_BYTE, peer, tag,
            t->lane[lane], &m->request[i]);
        if (code == MPI_SUCCESS) continue;
        mpi_abandon(transport, m);
        return tutti_mpi_fail(code, "MPI_Isend");
    }
    *message = m;
    return TUTTI_OK;
}

static tutti_status mpi_irecv(tutti_transport *transport, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    tutti_message *m;
    tutti_status status = message_new(t, bytes, &m);
    if (status) return status;
    m->is_send = 0;
    m->peer = peer;
    m->lane = lane;
    for (int i = 0, n = pieces_of(t, bytes); i < n; i++, m->pieces++) {
        char *to = (char *)data + (size_t)i * t->piece;
        int code = MPI_Irecv(
            to, (int)piece_bytes(t, bytes, i), MPI_BYTE, peer, tag, t->lane[lane], &m->request[i]);
        if (code == MPI_SUCCESS) continue;
        mpi_abandon(transport, m);
        return tutti_mpi_fail(code, "MPI_Irecv");
    }
    *message = m;
    return TUTTI_OK;
}

/* Whether a piece that has ended is the one that was expected. */
static tutti_status check(const tutti_mpi *t, const tutti_message *m, int code, MPI_Status *status)
{
    int class = MPI_SUCCESS, got = 0;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS && class != MPI_ERR_TRUNCATE)
        return tutti_mpi_fail(code, m->is_send ? "a send" : "a receive");
    if (m->is_send) return TUTTI_OK;
    int expected = (int)piece_bytes(t, m->bytes, m->ended);
    if (code == MPI_SUCCESS) MPI_Get_count(status, MPI_BYTE, &got);
    if (code == MPI_SUCCESS && got == expected) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "lane %d: rank %d sent %s%d bytes where %d were expected: the ranks' collectives differ in "
        "order or size",
        m->lane, m->peer, code == MPI_SUCCESS ? "" : "more than ",
        code == MPI_SUCCESS ? got : expected, expected);
}

static tutti_status mpi_test(tutti_transport *transport, tutti_message *m, int *done)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    *done = 0;
    while (m->ended < m->pieces) {
        MPI_Status mpi_status;
        int flag = 0;
        int code = MPI_Test(&m->request[m->ended], &flag, &mpi_status);
        if (code == MPI_SUCCESS && !flag) return TUTTI_OK;
        tutti_status status = check(t, m, code, &mpi_status);
        m->ended++;
        if (status) {
            mpi_abandon(transport, m);
            return status;
        }
    }
    *done = 1;
    recycle(t, m);
    return TUTTI_OK;
}

static void mpi_close(tutti_transport *transport)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    /* A communicator that is made later may get a freed one's place, and its late messages. */
    for (int k = 0; k < t->base.lanes && !transport->abandoned; k++)
        if (t->lane[k] != MPI_COMM_NULL) MPI_Comm_free(&t->lane[k]);
    for (tutti_message *m = t->idle, *next; m; m = next) {
        next = m->next;
        free(m->request);
        free(m);
    }
    free(t->lane);
    free(t);
}

static const tutti_transport_ops mpi_ops = {
    .name = "mpi",
    .isend = mpi_isend,
    .irecv = mpi_irecv,
    .test = mpi_test,
    .abandon = mpi_abandon,
    .collective = tutti_mpi_collective,
    .close = mpi_close,
};

/* Whether all ranks share one machine's memory. */
static int find_near(tutti_mpi *t, MPI_Comm comm)
{
    MPI_Comm here;
    int size = 0;
    int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Comm_size(here, &size);
    t->base.near = size == t->base.size;
    MPI_Comm_free(&here);
    return code;
}

static tutti_status open_lanes(tutti_mpi *t, MPI_Comm comm)
{
    int *limit, found = 0, code = MPI_SUCCESS;
    for (int k = 0; k < t->base.lanes; k++) t->lane[k] = MPI_COMM_NULL;
    for (int k = 0; code == MPI_SUCCESS && k < t->base.lanes; k++) {
        code = MPI_Comm_dup(comm, &t->lane[k]);
        if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(t->lane[k], MPI_ERRORS_RETURN);
    }
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(comm, &t->base.rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(comm, &t->base.size);
    if (code == MPI_SUCCESS) code = find_near(t, comm);
    if (code == MPI_SUCCESS) code = MPI_Comm_get_attr(comm, MPI_TAG_UB, &limit, &found);
    if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "opening the lanes");
    t->base.tags = found ? (int64_t)*limit + 1 : 32768; /* the least that the standard allows */
    return TUTTI_OK;
}

tutti_status tutti_transport_mpi_pieces(
    const void *comm, int lanes, size_t piece, tutti_transport **transport)
{
    if (!comm || lanes < 1 || piece < 1 || piece > INT_MAX)
        return tutti_fail(TUTTI_ERR_INVAL,
            "no MPI transport with %d lanes and pieces of %zu bytes over %s", lanes, piece,
            comm ? "this communicator" : "no communicator");
    tutti_mpi *t = calloc(1, sizeof *t);
    MPI_Comm *lane = calloc((size_t)lanes, sizeof(MPI_Comm));
    if (!t || !lane) {
        free(t);
        free(lane);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d lanes", lanes);
    }
    t->base.ops = &mpi_ops;
    t->base.lanes = lanes;
    t->lane = lane;
    t->piece = piece;
    tutti_status status = open_lanes(t, *(const MPI_Comm *)comm);
    if (status) {
        mpi_close(&t->base);
        return status;
    }
    *transport = &t->base;
    return TUTTI_OK;
}

tutti_status tutti_transport_mpi(const void *comm, int lanes, tutti_transport **transport)
{
    return tutti_transport_mpi_pieces(comm, lanes, (size_t)1 << 30, transport);
}
