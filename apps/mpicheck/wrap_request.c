/* Requests: waiting, testing, starting, freeing. */
#include "apps/mpicheck/call.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/requests.h"
#include "apps/mpicheck/wait.h"

#include <stdlib.h>
#include <string.h>

/* A call that may complete requests. Their records are claimed before MPI frees the handles. Where the caller
 * ignores statuses, ours stand in: they identify the sender of a message. */
typedef struct ending {
    mpicheck_wanted wanted;
    mpicheck_request **known; /* NULL: unknown, or settled */
    MPI_Status *statuses, *own;
} ending;

static ending ending_of(int count, const MPI_Request *requests, MPI_Status *statuses)
{
    size_t room = (size_t)(count > 0 ? count : 0) + 1;
    ending e = {.known = calloc(room, sizeof(mpicheck_request *)), .statuses = statuses};
    /* The two constants may differ, and programs confuse them. */
    if (statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE)
        e.statuses = e.own = malloc(sizeof(MPI_Status) * room);
    if (!e.known || !e.statuses) abort();
    e.wanted = (mpicheck_wanted){.requests = requests, .known = e.known, .count = (int)room - 1};
    mpicheck_request_claim(requests, e.wanted.count, e.known);
    return e;
}

static bool held(const ending *e)
{
    return mpicheck_request_held(e->known, e->wanted.count);
}

/* A test that must fail because a rank has not started a collective yet; MPI still makes progress. */
static int not_yet(int *flag, const ending *e)
{
    *flag = 0;
    const int rc = mpicheck_process_progress();
    mpicheck_wait_polled(mpicheck_wait_requests(e->wanted, false));
    return rc;
}

/* Records whether the thread polls, after a test. */
static void tested(bool found, const ending *e, bool any)
{
    if (found)
        mpicheck_wait_no_poll();
    else
        mpicheck_wait_polled(mpicheck_wait_requests(e->wanted, any));
}

static void settle(ending *e, int index, const MPI_Status *status)
{
    mpicheck_request_done(e->known[index], status);
    e->known[index] = NULL;
}

/* MPI refused the call, or an operation failed: requests whose handles are gone are over. */
static void failed(ending *e, int rc, bool each)
{
    for (int i = 0; i < e->wanted.count; i++) {
        bool told = each && rc == MPI_ERR_IN_STATUS;
        int error = told ? e->statuses[i].MPI_ERROR : rc;
        if (told && error == MPI_SUCCESS)
            settle(e, i, &e->statuses[i]);
        else if (e->wanted.requests[i] == MPI_REQUEST_NULL)
            settle(e, i, NULL);
    }
}

/* The requests of these indices (NULL: the first ones) are complete; gives the others back. */
static void ended(ending *e, int count, const int *indices)
{
    for (int i = 0; i < count; i++) settle(e, indices ? indices[i] : i, &e->statuses[i]);
    for (int i = 0; i < e->wanted.count; i++) mpicheck_request_release(e->known[i]);
    free(e->known);
    free(e->own);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPICHECK_WRAP(Wait, (request, status));
    ending e = ending_of(1, request, status);
    mpicheck_wait wait = mpicheck_wait_requests(e.wanted, false);
    int done = 0, rc;
    while (held(&e)) mpicheck_wait_step(&wait);
    while ((rc = PMPI_Test(request, &done, e.statuses)) == MPI_SUCCESS && !done)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    if (rc != MPI_SUCCESS) failed(&e, rc, false);
    ended(&e, rc == MPI_SUCCESS, NULL);
    MPICHECK_RETURN(rc);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    MPICHECK_WRAP(Waitall, (count, requests, statuses));
    ending e = ending_of(count, requests, statuses);
    mpicheck_wait wait = mpicheck_wait_requests(e.wanted, false);
    int done = 0, rc;
    while (held(&e)) mpicheck_wait_step(&wait);
    while ((rc = PMPI_Testall(count, requests, &done, e.statuses)) == MPI_SUCCESS && !done)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    if (rc != MPI_SUCCESS) failed(&e, rc, true);
    ended(&e, rc == MPI_SUCCESS ? count : 0, NULL);
    MPICHECK_RETURN(rc);
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
    MPICHECK_WRAP(Waitany, (count, requests, index, status));
    ending e = ending_of(count, requests, status);
    mpicheck_wait wait = mpicheck_wait_requests(e.wanted, true);
    int done = 0, rc;
    while ((rc = PMPI_Testany(count, requests, index, &done, e.statuses)) == MPI_SUCCESS && !done)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    if (rc != MPI_SUCCESS) failed(&e, rc, false);
    ended(&e, rc == MPI_SUCCESS && *index != MPI_UNDEFINED, index);
    MPICHECK_RETURN(rc);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    MPICHECK_WRAP(Waitsome, (count, requests, found, indices, statuses));
    ending e = ending_of(count, requests, statuses);
    mpicheck_wait wait = mpicheck_wait_requests(e.wanted, true);
    int rc;
    while ((rc = PMPI_Testsome(count, requests, found, indices, e.statuses)) == MPI_SUCCESS &&
           *found == 0)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    if (rc != MPI_SUCCESS) failed(&e, rc, false);
    ended(&e, rc == MPI_SUCCESS && *found != MPI_UNDEFINED ? *found : 0, indices);
    MPICHECK_RETURN(rc);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    MPICHECK_WRAP(Test, (request, flag, status));
    mpicheck_wait_poll_begins();
    ending e = ending_of(1, request, status);
    bool waits = held(&e);
    int rc = waits ? not_yet(flag, &e) : PMPI_Test(request, flag, e.statuses);
    if (!waits && rc != MPI_SUCCESS) failed(&e, rc, false);
    if (!waits && rc == MPI_SUCCESS) tested(*flag, &e, false);
    ended(&e, rc == MPI_SUCCESS && *flag, NULL);
    MPICHECK_RETURN(rc);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    MPICHECK_WRAP(Testall, (count, requests, flag, statuses));
    mpicheck_wait_poll_begins();
    ending e = ending_of(count, requests, statuses);
    bool waits = held(&e);
    int rc = waits ? not_yet(flag, &e) : PMPI_Testall(count, requests, flag, e.statuses);
    if (!waits && rc != MPI_SUCCESS) failed(&e, rc, true);
    if (!waits && rc == MPI_SUCCESS) tested(*flag, &e, false);
    ended(&e, rc == MPI_SUCCESS && *flag ? count : 0, NULL);
    MPICHECK_RETURN(rc);
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    MPICHECK_WRAP(Testany, (count, requests, index, flag, status));
    mpicheck_wait_poll_begins();
    ending e = ending_of(count, requests, status);
    int rc = PMPI_Testany(count, requests, index, flag, e.statuses);
    if (rc != MPI_SUCCESS)
        failed(&e, rc, false);
    else
        tested(*flag, &e, true);
    ended(&e, rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index);
    MPICHECK_RETURN(rc);
}

int MPI_Testsome(int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    MPICHECK_WRAP(Testsome, (count, requests, found, indices, statuses));
    mpicheck_wait_poll_begins();
    ending e = ending_of(count, requests, statuses);
    int rc = PMPI_Testsome(count, requests, found, indices, e.statuses);
    if (rc != MPI_SUCCESS)
        failed(&e, rc, false);
    else
        tested(*found != 0, &e, true);
    ended(&e, rc == MPI_SUCCESS && *found != MPI_UNDEFINED ? *found : 0, indices);
    MPICHECK_RETURN(rc);
}

/* The request stays, but the operation is complete if the flag is set. */
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    MPICHECK_WRAP(Request_get_status, (request, flag, status));
    mpicheck_wait_poll_begins();
    ending e = ending_of(1, &request, status);
    bool waits = held(&e);
    int rc = waits ? not_yet(flag, &e) : PMPI_Request_get_status(request, flag, e.statuses);
    if (!waits && rc == MPI_SUCCESS) tested(*flag, &e, false);
    if (rc == MPI_SUCCESS && *flag) {
        mpicheck_request_seen(e.known[0], e.statuses);
        e.known[0] = NULL;
    }
    ended(&e, 0, NULL);
    MPICHECK_RETURN(rc);
}

int MPI_Start(MPI_Request *request)
{
    MPICHECK_WRAP(Start, (request));
    mpicheck_request_started(*request);
    MPICHECK_RETURN(PMPI_Start(request));
}

int MPI_Startall(int count, MPI_Request *requests)
{
    MPICHECK_WRAP(Startall, (count, requests));
    for (int i = 0; i < count; i++) mpicheck_request_started(requests[i]);
    MPICHECK_RETURN(PMPI_Startall(count, requests));
}

int MPI_Request_free(MPI_Request *request)
{
    MPICHECK_WRAP(Request_free, (request));
    mpicheck_request_freed(*request);
    MPICHECK_RETURN(PMPI_Request_free(request));
}

int MPI_Cancel(MPI_Request *request)
{
    MPICHECK_WRAP(Cancel, (request));
    mpicheck_request_cancelled(*request);
    MPICHECK_RETURN(PMPI_Cancel(request));
}
