/* Start and end of MPI, and errors that MPI itself finds. */
#include "apps/mpicheck/call.h"
#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/finding.h"
#include "apps/mpicheck/ops.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/requests.h"
#include "apps/mpicheck/start.h"

#include <string.h>
#include <unistd.h>

/* MPI refuses a call. If another rank's call is the cause, the judge is about to report it. */
static void refused(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    (void)comm;
    PMPI_Error_string(*code, text, &length);
    text[strcspn(text, "\n")] = '\0'; /* MPICH appends its internal call stack */
    for (int i = 0; i < 5; i++) {
        mpicheck_process_obey();
        usleep(100000);
    }
    mpicheck_finding('E', "MPI refuses the call: %s", text);
    mpicheck_process_await_verdict();
}

/* By default, errors end the program; this way it ends with a report. */
static void watch_errors(void)
{
    MPI_Errhandler handler;
    if (!mpicheck_process_active()) return;
    PMPI_Comm_create_errhandler(refused, &handler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    PMPI_Errhandler_free(&handler);
}

static int started(int rc, const mpicheck_threads *before)
{
    if (rc != MPI_SUCCESS) return rc;
    mpicheck_process_start(before);
    watch_errors();
    return rc;
}

int MPI_Init(int *argc, char ***argv)
{
    mpicheck_threads before = mpicheck_threads_now();
    return started(PMPI_Init(argc, argv), &before);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    mpicheck_threads before = mpicheck_threads_now();
    return started(PMPI_Init_thread(argc, argv, required, provided), &before);
}

int MPI_Finalize(void)
{
    MPICHECK_WRAP(Finalize, ());
    bool notes = mpicheck_process_self()->leaks;
    if (!mpicheck_request_leaks(notes)) mpicheck_process_await_verdict();
    if (notes) {
        mpicheck_comm_leaks('W');
        mpicheck_op_leaks('W');
    }
    mpicheck_process_stop();
    MPICHECK_RETURN(PMPI_Finalize());
}

int MPI_Abort(MPI_Comm comm, int code)
{
    if (mpicheck_process_active()) {
        mpicheck_frame *frame = mpicheck_process_open(MPICHECK_FRAME_LEAVE);
        mpicheck_frame_put(frame, 0);
        mpicheck_process_post();
    }
    return PMPI_Abort(comm, code);
}
