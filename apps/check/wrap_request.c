/* Requests: waiting, testing, starting, freeing. */
#include "apps/check/call.h"
#include "apps/check/process.h"
#include "apps/check/requests.h"
#include "apps/check/wait.h"

#include <stdlib.h>
#include <string.h>

/* A test that finds nothing because a rank has not started a collective yet: MPI works all the same. */
static int not_yet(int *flag, const MPI_Request *requests, int count)
{
    *flag = 0;
    tutti_wait_polled(tutti_wait_requests(requests, count, false));
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &(int){0}, MPI_STATUS_IGNORE);
}

/* What a call that completes requests is about to overwrite: the handles as they were; and statuses of our
 * own where the caller ignores them, because they say whom a message came from. */
typedef struct ending {
    MPI_Request *before;
    MPI_Status *statuses, *own;
} ending;

static ending ending_of(int count, const MPI_Request *requests, MPI_Status *statuses)
{
    size_t room = (size_t)(count > 0 ? count : 0);
    ending e = {.before = malloc(sizeof(MPI_Request) * (room + 1)), .statuses = statuses};
    /* The two constants may differ, and either may be given where the other is meant. */
    if (statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE)
        e.statuses = e.own = malloc(sizeof(MPI_Status) * (room + 1));
    if (!e.before || !e.statuses) abort();
    if (room > 0) memcpy(e.before, requests, sizeof(MPI_Request) * room);
    return e;
}

/* What a test has to say to the judge. */
static void tested(bool found, const MPI_Request *requests, int count, bool any)
{
    if (found)
        tutti_wait_no_poll();
    else
        tutti_wait_polled(tutti_wait_requests(requests, count, any));
}

/* The requests of these indices (NULL: the first ones) are complete; forgets the rest. */
static void ended(ending *e, int count, const int *indices)
{
    for (int i = 0; i < count; i++)
        tutti_request_done(e->before[indices ? indices[i] : i], &e->statuses[i]);
    free(e->before);
    free(e->own);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    TUTTI_WRAP(Wait, (request, status));
    ending e = ending_of(1, request, status);
    tutti_wait wait = tutti_wait_requests(request, 1, false);
    int done = 0, rc;
    while (tutti_request_held(request, 1)) tutti_wait_step(&wait);
    while ((rc = PMPI_Test(request, &done, e.statuses)) == MPI_SUCCESS && !done)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    ended(&e, 1, NULL);
    TUTTI_RETURN(rc);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    TUTTI_WRAP(Waitall, (count, requests, statuses));
    ending e = ending_of(count, requests, statuses);
    tutti_wait wait = tutti_wait_requests(requests, count, false);
    int done = 0, rc;
    while (tutti_request_held(requests, count)) tutti_wait_step(&wait);
    while ((rc = PMPI_Testall(count, requests, &done, e.statuses)) == MPI_SUCCESS && !done)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    ended(&e, count, NULL);
    TUTTI_RETURN(rc);
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
    TUTTI_WRAP(Waitany, (count, requests, index, status));
    ending e = ending_of(count, requests, status);
    tutti_wait wait = tutti_wait_requests(requests, count, true);
    int done = 0, rc;
    while ((rc = PMPI_Testany(count, requests, index, &done, e.statuses)) == MPI_SUCCESS && !done)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    ended(&e, *index != MPI_UNDEFINED, index);
    TUTTI_RETURN(rc);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    TUTTI_WRAP(Waitsome, (count, requests, found, indices, statuses));
    ending e = ending_of(count, requests, statuses);
    tutti_wait wait = tutti_wait_requests(requests, count, true);
    int rc;
    while ((rc = PMPI_Testsome(count, requests, found, indices, e.statuses)) == MPI_SUCCESS &&
           *found == 0)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    ended(&e, *found == MPI_UNDEFINED ? 0 : *found, indices);
    TUTTI_RETURN(rc);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    TUTTI_WRAP(Test, (request, flag, status));
    tutti_process_obey();
    if (tutti_request_held(request, 1)) TUTTI_RETURN(not_yet(flag, request, 1));
    ending e = ending_of(1, request, status);
    int rc = PMPI_Test(request, flag, e.statuses);
    ended(&e, rc == MPI_SUCCESS && *flag, NULL);
    tested(*flag, request, 1, false);
    TUTTI_RETURN(rc);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    TUTTI_WRAP(Testall, (count, requests, flag, statuses));
    tutti_process_obey();
    if (tutti_request_held(requests, count)) TUTTI_RETURN(not_yet(flag, requests, count));
    ending e = ending_of(count, requests, statuses);
    int rc = PMPI_Testall(count, requests, flag, e.statuses);
    ended(&e, rc == MPI_SUCCESS && *flag ? count : 0, NULL);
    tested(*flag, requests, count, false);
    TUTTI_RETURN(rc);
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    TUTTI_WRAP(Testany, (count, requests, index, flag, status));
    tutti_process_obey();
    ending e = ending_of(count, requests, status);
    int rc = PMPI_Testany(count, requests, index, flag, e.statuses);
    ended(&e, rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index);
    tested(*flag, requests, count, true);
    TUTTI_RETURN(rc);
}

int MPI_Testsome(int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    TUTTI_WRAP(Testsome, (count, requests, found, indices, statuses));
    tutti_process_obey();
    ending e = ending_of(count, requests, statuses);
    int rc = PMPI_Testsome(count, requests, found, indices, e.statuses);
    ended(&e, rc == MPI_SUCCESS && *found != MPI_UNDEFINED ? *found : 0, indices);
    tested(*found != 0, requests, count, true);
    TUTTI_RETURN(rc);
}

int MPI_Start(MPI_Request *request)
{
    TUTTI_WRAP(Start, (request));
    tutti_request_started(*request);
    TUTTI_RETURN(PMPI_Start(request));
}

int MPI_Startall(int count, MPI_Request *requests)
{
    TUTTI_WRAP(Startall, (count, requests));
    for (int i = 0; i < count; i++) tutti_request_started(requests[i]);
    TUTTI_RETURN(PMPI_Startall(count, requests));
}

int MPI_Request_free(MPI_Request *request)
{
    TUTTI_WRAP(Request_free, (request));
    tutti_request_freed(*request);
    TUTTI_RETURN(PMPI_Request_free(request));
}

int MPI_Cancel(MPI_Request *request)
{
    TUTTI_WRAP(Cancel, (request));
    tutti_request_cancelled(*request);
    TUTTI_RETURN(PMPI_Cancel(request));
}
