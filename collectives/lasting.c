/* MPI whose ranks may die. */
#include "collectives/lasting.h"

#include "collectives/boot.h"
#include "collectives/transport/mpi.h"
#include "collectives/transport/mpi_lock.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tutti_lasting {
    tutti_boot boot;
    MPI_Comm *comm; /* [epochs] */
    int epochs;
    uint64_t *host; /* [size] a hash of each rank's host */
    /* MPI makes progress in calls alone. One rank needs it of another to end what is under way in an epoch that is
     * over, when that has left the epoch already. */
    pthread_t thread;
    int has_thread;
    atomic_int stop;
};

static void *make_progress(void *lasting)
{
    static const double every_s = 5e-3;
    tutti_lasting *l = lasting;
    while (!atomic_load(&l->stop)) {
        int found;
        pthread_mutex_lock(tutti_mpi_lock());
        MPI_Iprobe(l->boot.rank, 0, *(MPI_Comm *)l->boot.comm, &found, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(tutti_mpi_lock());
        tutti_clock_sleep(every_s);
    }
    return NULL;
}

const char *tutti_lasting_lacks(void)
{
    const char *on = getenv("OMPI_MCA_mpi_ft_enable");
    return on && *on && strcmp(on, "0")
               ? NULL
               : "MPI ends when one of its ranks dies: start it with mpirun --with-ft ulfm, or use "
                 "tutti-run --elastic, which needs no MPI";
}

int tutti_lasting_rank(const tutti_lasting *l)
{
    return l->boot.rank;
}

int tutti_lasting_size(const tutti_lasting *l)
{
    return l->boot.size;
}

int tutti_lasting_near(const tutti_lasting *l)
{
    int near = 1;
    for (int r = 1; r < l->boot.size; r++) near &= l->host[r] == l->host[0];
    return near;
}

tutti_status tutti_lasting_gather(tutti_lasting *l, const void *mine, size_t bytes, void *all)
{
    MPI_Request request;
    pthread_mutex_lock(tutti_mpi_lock());
    int code = MPI_Iallgather(
        mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *(MPI_Comm *)l->boot.comm, &request);
    if (code == MPI_SUCCESS) code = tutti_mpi_await(&request);
    pthread_mutex_unlock(tutti_mpi_lock());
    return code == MPI_SUCCESS ? TUTTI_OK : tutti_mpi_fail(code, "MPI_Iallgather");
}

static int make_comms(tutti_lasting *l, int epochs)
{
    int code = MPI_SUCCESS;
    for (; l->epochs < epochs && code == MPI_SUCCESS; l->epochs += code == MPI_SUCCESS) {
        MPI_Request request;
        MPI_Comm *comm = &l->comm[l->epochs];
        code = MPI_Comm_idup(*(MPI_Comm *)l->boot.comm, comm, &request);
        if (code == MPI_SUCCESS) code = tutti_mpi_await(&request);
        if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    }
    return code;
}

tutti_status tutti_lasting_open(tutti_lasting **lasting)
{
    enum { MORE = 8 };
    if (tutti_lasting_lacks())
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s", tutti_lasting_lacks());
    tutti_lasting *l = calloc(1, sizeof *l);
    if (!l) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for MPI");
    tutti_status status = tutti_boot_init(TUTTI_THREAD_SERIALIZED, NULL, &l->boot);
    if (status) {
        free(l);
        return status;
    }
    const int epochs = 2 * l->boot.size + MORE;
    l->comm = calloc((size_t)epochs, sizeof *l->comm);
    l->host = calloc((size_t)l->boot.size, sizeof *l->host);
    if (!l->comm || !l->host) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for MPI");
    int code = MPI_SUCCESS;
    uint64_t mine = 0;
    pthread_mutex_lock(tutti_mpi_lock());
    if (!status) code = make_comms(l, epochs);
    if (!status && code == MPI_SUCCESS) code = tutti_mpi_host(&mine);
    pthread_mutex_unlock(tutti_mpi_lock());
    if (code != MPI_SUCCESS) status = tutti_mpi_fail(code, "opening communicators");
    if (!status) status = tutti_lasting_gather(l, &mine, sizeof mine, l->host);
    if (!status) l->has_thread = !pthread_create(&l->thread, NULL, make_progress, l);
    if (!status && !l->has_thread)
        status = tutti_fail(TUTTI_ERR_NOMEM, "the thread of MPI did not start");
    if (status) {
        tutti_lasting_close(l, 0);
        return status;
    }
    *lasting = l;
    return TUTTI_OK;
}

static int is_member(const tutti_lasting_epoch *e, int rank)
{
    int r = 0;
    while (r < e->size && e->member[r] != rank) r++;
    return r < e->size;
}

/* MPI learns of a death a moment after, or before, the membership; of a rank that has ended on its own it mostly
 * does not. */
static void await_news(const tutti_lasting *l, const tutti_lasting_epoch *e, MPI_Comm comm)
{
    static const double most_s = 1, moment_s = 1e-3;
    const double until_s = tutti_clock_s() + most_s;
    for (int r = 0; r < l->boot.size; r++) {
        int knows = is_member(e, r);
        while (!knows && tutti_clock_s() < until_s) {
            pthread_mutex_lock(tutti_mpi_lock());
            knows = tutti_mpi_is_dead(comm, r);
            pthread_mutex_unlock(tutti_mpi_lock());
            if (!knows) tutti_clock_sleep(moment_s);
        }
    }
}

tutti_status tutti_lasting_transport(
    tutti_lasting *l, const tutti_lasting_epoch *e, tutti_transport **transport)
{
    if (e->epoch > l->epochs)
        return tutti_fail(TUTTI_ERR_COMM,
            "the list of ranks has changed %d times, and there are communicators for no more",
            l->epochs);
    const tutti_mpi_lent lent = {.comm = l->comm[e->epoch - 1],
        .member = e->member,
        .size = e->size,
        .rank = e->rank,
        .lanes = e->lanes,
        .host = l->host,
        .broken = e->broken};
    await_news(l, e, lent.comm);
    return tutti_transport_mpi_lent(&lent, transport);
}

void tutti_lasting_close(tutti_lasting *l, int all_there)
{
    if (!l) return;
    atomic_store(&l->stop, 1);
    if (l->has_thread) pthread_join(l->thread, NULL);
    if (all_there) {
        pthread_mutex_lock(tutti_mpi_lock());
        for (int i = 0; i < l->epochs; i++) MPI_Comm_free(&l->comm[i]);
        pthread_mutex_unlock(tutti_mpi_lock());
        tutti_boot_finalize(&l->boot);
    }
    free(l->comm);
    free(l->host);
    free(l);
}
