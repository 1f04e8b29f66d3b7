/* Beginning and end of MPI, and what MPI itself finds wrong. */
#include "apps/check/call.h"
#include "apps/check/collective.h"
#include "apps/check/comms.h"
#include "apps/check/finding.h"
#include "apps/check/ops.h"
#include "apps/check/process.h"
#include "apps/check/requests.h"
#include "apps/check/start.h"

#include <string.h>
#include <unistd.h>

/* MPI refuses a call. If another rank's call is the cause, the judge is about to say so. */
static void refused(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    (void)comm;
    PMPI_Error_string(*code, text, &length);
    text[strcspn(text, "\n")] = '\0'; /* MPICH adds where in itself it has happened */
    for (int i = 0; i < 5; i++) {
        tutti_process_obey();
        usleep(100000);
    }
    tutti_finding('E', "MPI refuses the call: %s", text);
    tutti_process_await_verdict();
}

/* Programs that leave error handling alone have errors end them; this way they end with a report. */
static void watch_errors(void)
{
    MPI_Errhandler handler;
    if (!tutti_process_active()) return;
    PMPI_Comm_create_errhandler(refused, &handler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    PMPI_Errhandler_free(&handler);
}

static int started(int rc, const tutti_threads *before)
{
    if (rc != MPI_SUCCESS) return rc;
    tutti_process_start(before);
    watch_errors();
    return rc;
}

int MPI_Init(int *argc, char ***argv)
{
    tutti_threads before = tutti_threads_now();
    return started(PMPI_Init(argc, argv), &before);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    tutti_threads before = tutti_threads_now();
    return started(PMPI_Init_thread(argc, argv, required, provided), &before);
}

int MPI_Finalize(void)
{
    TUTTI_WRAP(Finalize, ());
    bool notes = tutti_process_self()->leaks;
    if (!tutti_request_leaks(notes)) tutti_process_await_verdict();
    if (notes) {
        tutti_comm_leaks('W');
        tutti_op_leaks('W');
    }
    tutti_process_stop();
    TUTTI_RETURN(PMPI_Finalize());
}

int MPI_Abort(MPI_Comm comm, int code)
{
    if (tutti_process_active()) {
        tutti_frame *frame = tutti_process_open(TUTTI_FRAME_LEAVE);
        tutti_frame_put(frame, 0);
        tutti_process_post();
    }
    return PMPI_Abort(comm, code);
}
