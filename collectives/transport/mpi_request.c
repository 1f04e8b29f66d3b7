/* MPI's requests under way, of all lanes, and their messages. */
#include "collectives/transport/mpi.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

static tutti_status make_room(tutti_mpi_requests *u, int more)
{
    if (u->count + more <= u->room) return TUTTI_OK;
    int room = 2 * (u->count + more);
    MPI_Request *request = realloc(u->request, (size_t)room * sizeof *request);
    if (request) u->request = request;
    tutti_mpi_piece *piece = realloc(u->piece, (size_t)room * sizeof *piece);
    if (piece) u->piece = piece;
    int *ended = realloc(u->ended, (size_t)room * sizeof *ended);
    if (ended) u->ended = ended;
    MPI_Status *status = realloc(u->status, (size_t)room * sizeof *status);
    if (status) u->status = status;
    if (!request || !piece || !ended || !status)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d messages", room);
    u->room = room;
    return TUTTI_OK;
}

/* Keeps the requests that are still under way, in their order. */
void tutti_mpi_close_gaps(tutti_mpi_requests *u)
{
    int kept = 0;
    for (int i = 0; i < u->count; i++) {
        if (u->request[i] == MPI_REQUEST_NULL) continue;
        u->request[kept] = u->request[i];
        u->piece[kept++] = u->piece[i];
    }
    u->count = kept;
}

void tutti_mpi_message_free(tutti_mpi *t, tutti_mpi_message *m)
{
    t->unexpected -= m->unexpected;
    free(m->kept);
    m->kept = NULL;
    m->next = t->idle;
    t->idle = m;
}

/* Checks the status and the size of a piece that has ended. */
static tutti_status check_piece(const tutti_mpi_piece *piece, int code, const MPI_Status *status)
{
    const tutti_mpi_message *m = piece->of;
    int class = MPI_SUCCESS, got = 0;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    if (m->cancelled || m->unexpected) return TUTTI_OK;
    if (class != MPI_SUCCESS && (m->kind || class != MPI_ERR_TRUNCATE))
        return tutti_mpi_fail(code, m->kind ? m->kind : m->is_send ? "a send" : "a receive");
    if (m->is_send || m->kind) return TUTTI_OK;
    if (class == MPI_SUCCESS) MPI_Get_count(status, MPI_BYTE, &got);
    if (class == MPI_SUCCESS && got == piece->bytes) return TUTTI_OK;
    char whole[64] = "";
    if (m->bytes != (size_t)piece->bytes)
        snprintf(whole, sizeof whole, " in a piece of a message of %zu bytes", m->bytes);
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "lane %d: rank %d sent %s%d bytes where %d were expected%s: the ranks' collectives differ "
        "in order or size",
        m->lane, m->peer, class == MPI_SUCCESS ? "" : "more than ",
        class == MPI_SUCCESS ? got : piece->bytes, piece->bytes, whole);
}

/* Whether a receive from any rank is still under way, although a rank of the communicator has died: it may be one that
 * is not meant (tutti_mpi_lent). */
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
static int is_pending(const tutti_mpi *t, int error)
{
    int class = MPI_SUCCESS;
    if (!t->broken || error == MPI_SUCCESS) return 0;
    MPI_Error_class(error, &class);
    if (class != MPIX_ERR_PROC_FAILED_PENDING) return 0;
    tutti_mpi_forget_dead(t->lane[0]);
    return 1;
}

void tutti_mpi_forget_dead(MPI_Comm comm)
{
    MPIX_Comm_failure_ack(comm);
}

int tutti_mpi_is_dead(MPI_Comm comm, int rank)
{
    MPI_Group dead, all;
    int there = MPI_UNDEFINED;
    if (rank < 0 || MPIX_Comm_get_failed(comm, &dead) != MPI_SUCCESS) return 0;
    MPI_Comm_group(comm, &all);
    MPI_Group_translate_ranks(all, 1, &rank, dead, &there);
    MPI_Group_free(&all);
    MPI_Group_free(&dead);
    return there != MPI_UNDEFINED;
}
#else
static int is_pending(const tutti_mpi *t, int error)
{
    (void)t, (void)error;
    return 0;
}

void tutti_mpi_forget_dead(MPI_Comm comm)
{
    (void)comm;
}

int tutti_mpi_is_dead(MPI_Comm comm, int rank)
{
    (void)comm, (void)rank;
    return 0;
}
#endif

/* Of a receive from any rank that Open MPI 5.0 ends without a message and without an error. */
static tutti_status ended_by_death(
    const tutti_mpi *t, const tutti_mpi_piece *piece, const MPI_Status *status)
{
    int got = 0;
    if (!t->broken || piece->of->is_send || piece->of->peer != TUTTI_ANY_RANK || !piece->bytes)
        return TUTTI_OK;
    MPI_Get_count(status, MPI_BYTE, &got);
    return got ? TUTTI_OK : tutti_fail(TUTTI_ERR_COMM, "a rank has died");
}

/* One call for all requests: MPI makes progress once, at the cost of a system call, and not once per
 * request as with MPI_Test. */
void tutti_mpi_look(tutti_mpi *t)
{
    tutti_mpi_requests *u = &t->under_way;
    int ended = 0;
    u->looks++;
    tutti_transport_select_device(&t->base);
    int class = MPI_SUCCESS, code = MPI_Testsome(u->count, u->request, &ended, u->ended, u->status);
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    if (class != MPI_SUCCESS && class != MPI_ERR_IN_STATUS) {
        tutti_status status = tutti_mpi_fail(code, "MPI_Testsome");
        for (int i = 0; i < u->count; i++) u->piece[i].of->status = status;
        return;
    }
    for (int i = 0; i < ended; i++) {
        int index = u->ended[i], error = class == MPI_SUCCESS ? class : u->status[i].MPI_ERROR;
        tutti_mpi_message *m = u->piece[index].of;
        if (is_pending(t, error)) continue;
        tutti_status status = ended_by_death(t, &u->piece[index], &u->status[i]);
        if (!status) status = check_piece(&u->piece[index], error, &u->status[i]);
        if (!m->status) m->status = status;
        m->left--;
        u->request[index] = MPI_REQUEST_NULL; /* also for one that has failed */
        if (!m->left && (m->unexpected || m->abandoned)) tutti_mpi_message_free(t, m);
    }
    if (ended > 0) tutti_mpi_close_gaps(u);
}

tutti_status tutti_mpi_message_new(
    tutti_mpi *t, const tutti_mpi_message *like, int pieces, tutti_mpi_message **message)
{
    tutti_status status = make_room(&t->under_way, pieces);
    if (status) return status;
    tutti_mpi_message *m = t->idle;
    if (m)
        t->idle = m->next;
    else
        m = malloc(sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message");
    *m = *like;
    m->looked = t->under_way.looks;
    *message = m;
    return TUTTI_OK;
}

MPI_Request *tutti_mpi_place(tutti_mpi *t, tutti_mpi_message *m, int bytes)
{
    tutti_mpi_requests *u = &t->under_way;
    u->piece[u->count] = (tutti_mpi_piece){m, bytes};
    return &u->request[u->count];
}

void tutti_mpi_started(tutti_mpi *t, tutti_mpi_message *m)
{
    m->left++;
    t->under_way.count++;
}
