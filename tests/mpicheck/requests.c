/* Requests: every way to complete, inspect, start and free one, and objects that may be freed earlier. */
#include "tests/mpicheck/programs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int x[16] = {1, 2, 3}, y[64];

/* The last rank is late, so that the others free the communicator before the collective can end. Only two ranks and
 * collectives of one round: otherwise Open MPI 4.1 uses the communicator that it has freed, and crashes. */
static void late(void)
{
    if (check_rank == check_size - 1) usleep(300000);
}

static void comm_freed_early(void)
{
    int dims[1] = {check_size}, periods[1] = {1}, index, flag = 0;
    MPI_Comm comm, cart;
    MPI_Request r;
    MPI_Comm_dup(WORLD, &comm);
    late();
    MPI_Ibarrier(comm, &r);
    MPI_Comm_free(&comm);
    MPI_Wait(&r, MPI_STATUS_IGNORE);

    MPI_Comm_dup(WORLD, &comm);
    late();
    MPI_Ibarrier(comm, &r);
    MPI_Comm_free(&comm);
    while (!flag) MPI_Testany(1, &r, &index, &flag, MPI_STATUS_IGNORE);

    MPI_Cart_create(WORLD, 1, dims, periods, 0, &cart);
    late();
    MPI_Ineighbor_allgather(x, 1, MPI_INT, y, 1, MPI_INT, cart, &r);
    MPI_Comm_free(&cart);
    MPI_Waitall(1, &r, MPI_STATUSES_IGNORE);
}

static void comms_freed_early(void)
{
    enum { n = 20 };
    MPI_Comm comm;
    MPI_Request r[n];
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(WORLD, &comm);
        MPI_Ibarrier(comm, &r[i]);
        MPI_Comm_free(&comm);
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(WORLD, &comm);
    MPI_Irecv(y, 1, MPI_INT, BEFORE, 0, comm, &r[0]);
    MPI_Isend(x, 1, MPI_INT, NEXT, 0, comm, &r[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void comm_freed_missing(void)
{
    MPI_Comm comm;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Comm_dup(WORLD, &comm);
    if (check_rank != 1) MPI_Ibarrier(comm, &r);
    if (check_rank != 1) MPI_Comm_free(&comm);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void poll_status(MPI_Request r)
{
    for (int flag = 0; !flag;) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
}

static void get_status(void)
{
    MPI_Request r;
    MPI_Status status;
    double d[2] = {0};
    for (int i = 0; i < 3; i++) {
        FIRST
        {
            MPI_Isend(x, 4, MPI_INT, 1, 0, WORLD, &r);
            poll_status(r);
            x[0]++; /* the buffer belongs to the program again */
        }
        SECOND
        {
            int flag = 0;
            MPI_Irecv(y, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &r);
            while (!flag) MPI_Request_get_status(r, &flag, &status);
            if (status.MPI_SOURCE != 0) MPI_Abort(WORLD, 3);
        }
        if (i != 1) MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (i == 1) MPI_Request_free(&r);
        FIRST MPI_Send(d, 2, MPI_DOUBLE, 1, 0, WORLD);
        SECOND MPI_Recv(d, 2, MPI_DOUBLE, 0, 0, WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Ibarrier(WORLD, &r);
    poll_status(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    poll_status(MPI_REQUEST_NULL);
}

static void get_status_persistent(void)
{
    MPI_Request r;
    FIRST MPI_Send_init(x, 2, MPI_INT, 1, 0, WORLD, &r);
    SECOND MPI_Recv_init(y, 2, MPI_INT, 0, 0, WORLD, &r);
    poll_status(r); /* inactive */
    for (int i = 0; i < 4; i++) {
        MPI_Start(&r);
        poll_status(r);
        x[0] = i;
        if (i % 2) poll_status(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        poll_status(r);
    }
    MPI_Request_free(&r);
}

static void get_status_changed(void)
{
    MPI_Request r;
    FIRST
    {
        MPI_Isend(x, 4, MPI_INT, 1, 0, WORLD, &r);
        x[2]++;
        poll_status(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    SECOND MPI_Recv(y, 4, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static void get_status_deadlock(void)
{
    MPI_Request r;
    MPI_Irecv(y, 4, MPI_INT, BEFORE, 0, WORLD, &r);
    poll_status(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* A type may be freed as soon as a call has used it, and another type may then get its handle. */
static void type_freed_early(void)
{
    MPI_Request r;
    for (int i = 0; i < 10; i++) {
        MPI_Datatype column, other;
        MPI_Type_vector(4, 1, 4, i % 2 ? MPI_INT : MPI_FLOAT, &column);
        MPI_Type_commit(&column);
        FIRST MPI_Isend(x, 1, column, 1, 0, WORLD, &r);
        SECOND MPI_Irecv(y, 4, i % 2 ? MPI_INT : MPI_FLOAT, 0, 0, WORLD, &r);
        MPI_Type_free(&column);
        MPI_Type_contiguous(64, MPI_DOUBLE, &other);
        MPI_Type_commit(&other);
        if (check_rank < 2) MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Type_free(&other);
    }
    FIRST
    {
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Send_init(x, 1, pair, 1, 0, WORLD, &r);
        MPI_Type_free(&pair);
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
    }
    SECOND MPI_Recv(y, 2, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

/* Requests that complete at once may share one handle. */
static void shared_handles(void)
{
    MPI_Request r[4], in[4];
    int bytes = 4 * (8 + MPI_BSEND_OVERHEAD);
    void *space = malloc((size_t)bytes);
    for (int i = 0; i < 4; i++) MPI_Irecv(&y[i], 1, MPI_INT, BEFORE, i, WORLD, &in[i]);
    MPI_Barrier(WORLD);
    for (int i = 0; i < 4; i++) MPI_Irsend(&x[i], 1, MPI_INT, NEXT, i, WORLD, &r[i]);
    for (int i = 0; i < 4; i++) {
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        x[i] = -7;
    }
    MPI_Waitall(4, in, MPI_STATUSES_IGNORE);
    MPI_Buffer_attach(space, bytes);
    for (int i = 0; i < 4; i++) MPI_Irecv(&y[i], 1, MPI_INT, BEFORE, i, WORLD, &in[i]);
    for (int i = 0; i < 4; i++) MPI_Ibsend(&x[i], 1, MPI_INT, NEXT, i, WORLD, &r[i]);
    for (int i = 3; i >= 0; i--) {
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        x[i] = 7;
    }
    MPI_Waitall(4, in, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&space, &bytes);
    free(space);
    if (y[0] != -7) MPI_Abort(WORLD, 3);
}

static void matched_probes(void)
{
    MPI_Message message;
    MPI_Request r;
    MPI_Status status;
    FIRST for (int i = 0; i < 4; i++) MPI_Send(x, 1 + i, MPI_INT, 1, i, WORLD);
    SECOND for (int i = 0; i < 4; i++)
    {
        int flag = 0, count;
        if (i % 2)
            MPI_Mprobe(0, i, WORLD, &message, &status);
        else
            while (!flag) MPI_Improbe(MPI_ANY_SOURCE, i, WORLD, &flag, &message, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        if (i < 2) {
            MPI_Imrecv(y, count, MPI_INT, &message, &r);
            MPI_Wait(&r, &status);
        } else {
            MPI_Mrecv(y, count, MPI_INT, &message, &status);
        }
        if (count != 1 + i || status.MPI_TAG != i) MPI_Abort(WORLD, 3);
    }
}

static void imrecv_leaks(void)
{
    MPI_Message message;
    MPI_Request r;
    FIRST MPI_Send(x, 1, MPI_INT, 1, 0, WORLD);
    SECOND
    {
        MPI_Mprobe(0, 0, WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(y, 1, MPI_INT, &message, &r);
    }
}

static int asked(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int dropped(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancels(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    MPI_Request r[2];
    int flag = 1;
    for (int i = 0; i < 3; i++) {
        MPI_Grequest_start(asked, dropped, cancels, NULL, &r[0]);
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
        if (flag) MPI_Abort(WORLD, 3);
        MPI_Grequest_complete(r[0]);
        MPI_Ibarrier(WORLD, &r[1]);
        if (i == 0) poll_status(r[0]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
}

static void one_sided(void)
{
    int memory[4] = {0}, out = 5, in = 0;
    MPI_Win win;
    MPI_Request r[2];
    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Rput(&out, 1, MPI_INT, NEXT, 0, 1, MPI_INT, win, &r[0]);
    MPI_Raccumulate(&out, 1, MPI_INT, NEXT, 1, 1, MPI_INT, MPI_SUM, win, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    out = 6;
    MPI_Rget(&in, 1, MPI_INT, check_rank, 3, 1, MPI_INT, win, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void file_requests(void)
{
    char name[] = "/tmp/tutti-mpicheck-XXXXXX";
    MPI_File file;
    MPI_Request r[2];
    FIRST close(mkstemp(name));
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, WORLD);
    MPI_File_open(WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_iwrite_at(file, 16 * check_rank, x, 4, MPI_INT, &r[0]);
    MPI_Irecv(y, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_File_iread_at(file, 16 * check_rank, y, 4, MPI_INT, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    FIRST unlink(name);
}

static void cancels_collective(void)
{
    MPI_Request r;
    late();
    MPI_Ibarrier(WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Some of the requests fail, and the program goes on with the others. */
static void error_in_status(void)
{
    MPI_Request r[2];
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    FIRST
    {
        MPI_Send(x, 4, MPI_INT, 1, 0, WORLD);
        MPI_Send(x, 1, MPI_INT, 1, 1, WORLD);
    }
    SECOND
    {
        MPI_Irecv(y, 1, MPI_INT, 0, 0, WORLD, &r[0]);
        MPI_Irecv(y + 1, 1, MPI_INT, 0, 1, WORLD, &r[1]);
        while (MPI_Waitall(2, r, statuses) == MPI_ERR_IN_STATUS &&
               statuses[1].MPI_ERROR == MPI_ERR_PENDING) {
        }
        if (y[1] != 1) MPI_Abort(WORLD, 3);
    }
    MPI_Barrier(WORLD);
}

static const check_case cases[] = {
    {"comm_freed_early_ok", 2, NULL, comm_freed_early},
    {"comms_freed_early_ok", 2, NULL, comms_freed_early},
    {"comm_freed_missing_nok", 2, "deadlock", comm_freed_missing},
    {"get_status_ok", 2, NULL, get_status},
    {"get_status_persistent_ok", 2, NULL, get_status_persistent},
    {"get_status_changed_nok", 2, "was changed while it was being sent", get_status_changed},
    {"get_status_nok", 2, "deadlock", get_status_deadlock},
    {"type_freed_early_ok", 2, NULL, type_freed_early},
    {"shared_handles_ok", 2, NULL, shared_handles},
    {"matched_probes_ok", 2, NULL, matched_probes},
    {"imrecv_leaks_nok", 2, "is never completed", imrecv_leaks},
    {"generalized_ok", 2, NULL, generalized},
    {"one_sided_requests_ok", 2, NULL, one_sided},
    {"file_requests_ok", 2, NULL, file_requests},
    {"cancels_collective_nok", 2, "", cancels_collective},
    {"error_in_status_ok", 2, NULL, error_in_status},
};
const check_table check_requests = {cases, sizeof cases / sizeof *cases};
