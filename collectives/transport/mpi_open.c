#include "collectives/transport/mpi.h"

#include "collectives/transport/mpi_lock.h"
#include "dag/base/log.h"
#include "dag/base/process.h"
#include "dag/base/rng.h"

#include <limits.h>
#include <stdlib.h>

enum { LENT_LANES = 64 };

/* MPI writes the communicator to `fresh` while it is being duplicated, because the array may move. */
static tutti_status mpi_grow(
    tutti_transport *transport, int lanes, const tutti_members *members, int *done)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    (void)members; /* lanes are of all ranks */
    if (!t->growing) {
        MPI_Comm *more = realloc(t->lane, (size_t)(t->base.lanes + lanes) * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d lanes", lanes);
        t->lane = more;
        t->growing = lanes;
        t->opening = MPI_REQUEST_NULL;
    }
    for (; t->stride && t->growing; t->growing--) {
        if (t->base.lanes == LENT_LANES)
            return tutti_fail(TUTTI_ERR_UNSUPPORTED, "more than %d lanes", LENT_LANES);
        t->lane[t->base.lanes++] = t->lane[0];
    }
    for (*done = 0; t->growing;) {
        int code = MPI_SUCCESS, opened = 0;
        if (t->opening == MPI_REQUEST_NULL)
            code = MPI_Comm_idup(t->lane[0], &t->fresh, &t->opening);
        if (code == MPI_SUCCESS) code = MPI_Test(&t->opening, &opened, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && !opened) return TUTTI_OK;
        if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(t->fresh, MPI_ERRORS_RETURN);
        if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "opening a group's lanes");
        t->lane[t->base.lanes++] = t->fresh;
        t->growing--;
    }
    *done = 1;
    return TUTTI_OK;
}

/* The memory of a collective that has not ended is not freed: MPI may use it. */
static void mpi_close(tutti_transport *transport)
{
    tutti_mpi *t = (tutti_mpi *)transport;
    tutti_transport_close_device(transport);
    /* After a failure lanes stay: a later communicator may reuse a freed one's id, and get its late messages. */
    for (int k = 0; k < t->base.lanes && !transport->abandoned && !t->stride; k++)
        if (t->lane[k] != MPI_COMM_NULL) MPI_Comm_free(&t->lane[k]);
    for (int op = 0; op < TUTTI_REDUCE_OPS && !transport->abandoned; op++)
        if (t->op[op] != MPI_OP_NULL) MPI_Op_free(&t->op[op]);
    for (tutti_mpi_message *m = t->idle, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    free(t->under_way.request);
    free(t->under_way.piece);
    free(t->under_way.ended);
    free(t->under_way.status);
    free(t->lane);
    free(t->member);
    free(t->base.host);
    free(t);
}

static const tutti_transport_ops mpi_ops = {
    .name = "mpi",
    .isend = tutti_mpi_isend,
    .irecv = tutti_mpi_irecv,
    .test = tutti_mpi_test,
    .cancel = tutti_mpi_cancel,
    .sweep = tutti_mpi_sweep,
    .abandon = tutti_mpi_abandon,
    .collective = tutti_mpi_collective,
    .grow = mpi_grow,
    .close = mpi_close,
};

/* Numbers the machines in the order of their first ranks. Returns whether there is one. */
static int number_hosts(const uint64_t hash[], int size, int host[])
{
    int hosts = 0;
    for (int r = 0; r < size; r++) {
        int first = r;
        /* Mostly it is that of the rank before; ranks of many machines are few enough to look at all. */
        if (r && hash[r] == hash[r - 1])
            first = r - 1;
        else
            for (int q = r - 1; q >= 0; q--)
                if (hash[q] == hash[r]) first = q;
        host[r] = first < r ? host[first] : hosts++;
    }
    return hosts == 1;
}

int tutti_mpi_host(uint64_t *hash)
{
    char host[MPI_MAX_PROCESSOR_NAME + TUTTI_PROCESS_BOOT];
    int length = 0, code = MPI_Get_processor_name(host, &length);
    if (code != MPI_SUCCESS) return code;
    tutti_process_boot(host + length);
    *hash = tutti_rng_stream(host);
    return MPI_SUCCESS;
}

/* Which ranks share one machine's memory, and whether all do: they have the same host name and boot id (a
 * container has a different host name). MPI_Comm_split_type would show it, too, but blocks. */
static int find_hosts(tutti_mpi *t, MPI_Comm comm)
{
    uint64_t mine, *all = malloc((size_t)t->base.size * sizeof *all);
    int code = tutti_mpi_host(&mine);
    if (code != MPI_SUCCESS) {
        free(all);
        return code;
    }
    t->base.host = malloc((size_t)t->base.size * sizeof *t->base.host);
    MPI_Request request;
    code = all && t->base.host
               ? MPI_Iallgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, comm, &request)
               : MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS) code = tutti_mpi_await(&request);
    if (code == MPI_SUCCESS) t->base.near = number_hosts(all, t->base.size, t->base.host);
    free(all);
    return code;
}

/* tutti_mpi_lock is held. */
static tutti_status open_lanes(tutti_mpi *t, MPI_Comm comm)
{
    int *limit, found = 0, code = MPI_SUCCESS;
    for (int k = 0; code == MPI_SUCCESS && k < t->base.lanes; k++) {
        MPI_Request request;
        code = MPI_Comm_idup(comm, &t->lane[k], &request);
        if (code == MPI_SUCCESS) code = tutti_mpi_await(&request);
        if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(t->lane[k], MPI_ERRORS_RETURN);
    }
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(comm, &t->base.rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(comm, &t->base.size);
    if (code == MPI_SUCCESS) code = find_hosts(t, comm);
    if (code == MPI_SUCCESS) code = MPI_Comm_get_attr(comm, MPI_TAG_UB, &limit, &found);
    if (code != MPI_SUCCESS) return tutti_mpi_fail(code, "opening the lanes");
    t->base.tags = found ? (int64_t)*limit + 1 : 32768; /* the minimum that the standard allows */
    return TUTTI_OK;
}

static tutti_status make_transport(int lanes, size_t piece, tutti_mpi **transport)
{
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
    t->base.lock = tutti_mpi_lock();
    t->piece = piece;
    for (int k = 0; k < lanes; k++) lane[k] = MPI_COMM_NULL;
    for (int op = 0; op < TUTTI_REDUCE_OPS; op++) t->op[op] = MPI_OP_NULL;
    *transport = t;
    return TUTTI_OK;
}

tutti_status tutti_transport_mpi_pieces(
    const void *comm, int lanes, size_t piece, tutti_transport **transport)
{
    if (!comm || lanes < 1 || piece < 1 || piece > INT_MAX)
        return tutti_fail(TUTTI_ERR_INVAL,
            "no MPI transport with %d lanes and pieces of %zu bytes over %s", lanes, piece,
            comm ? "this communicator" : "no communicator");
    tutti_mpi *t;
    tutti_status status = make_transport(lanes, piece, &t);
    if (status) return status;
    pthread_mutex_lock(t->base.lock);
    status = open_lanes(t, *(const MPI_Comm *)comm);
    if (status) mpi_close(&t->base);
    pthread_mutex_unlock(tutti_mpi_lock());
    if (status) return status;
    *transport = &t->base;
    return TUTTI_OK;
}

tutti_status tutti_transport_mpi(const void *comm, int lanes, tutti_transport **transport)
{
    return tutti_transport_mpi_pieces(comm, lanes, (size_t)1 << 30, transport);
}

/* Waits for no rank. */
tutti_status tutti_transport_mpi_lent(const tutti_mpi_lent *lent, tutti_transport **transport)
{
    const size_t size = (size_t)lent->size;
    int *limit, found = 0;
    tutti_mpi *t;
    if (lent->lanes < 1 || lent->lanes > LENT_LANES)
        return tutti_fail(
            TUTTI_ERR_UNSUPPORTED, "%d lanes, and at most %d have tags", lent->lanes, LENT_LANES);
    tutti_status status = make_transport(lent->lanes, (size_t)1 << 30, &t);
    if (status) return status;
    uint64_t *host = malloc(size * sizeof *host);
    t->member = malloc(size * sizeof *t->member);
    t->base.host = malloc(size * sizeof *t->base.host);
    pthread_mutex_lock(t->base.lock);
    tutti_mpi_forget_dead(lent->comm);
    MPI_Comm_get_attr(lent->comm, MPI_TAG_UB, &limit, &found);
    t->stride = (found ? *limit : 32767) / LENT_LANES;
    for (int k = 0; k < lent->lanes; k++) t->lane[k] = lent->comm;
    t->base.rank = lent->rank;
    t->base.size = lent->size;
    t->base.tags = t->stride;
    t->broken = lent->broken;
    for (int r = 0; host && t->member && r < lent->size; r++) {
        t->member[r] = lent->member[r];
        host[r] = lent->host[lent->member[r]];
    }
    if (host && t->member && t->base.host)
        t->base.near = number_hosts(host, lent->size, t->base.host);
    else
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", lent->size);
    if (status)
        mpi_close(&t->base);
    else
        *transport = &t->base;
    pthread_mutex_unlock(tutti_mpi_lock());
    free(host);
    return status;
}
