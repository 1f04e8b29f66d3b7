/* Requests: waiting, testing, starting, freeing. */
#include "apps/check/call.h"
#include "apps/check/process.h"
#include "apps/check/requests.h"
#include "apps/check/wait.h"

#include <stdlib.h>
#include <string.h>

/* A test that finds nothing because a rank has not started a collective yet: MPI works all the same. */
static int not_yet(int *flag)
{
    *flag = 0;
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &(int){0}, MPI_STATUS_IGNORE);
}

/* The handles as they were before MPI set them to MPI_REQUEST_NULL; freed by the caller. */
static MPI_Request *copied(int count, const MPI_Request *requests)
{
    size_t bytes = sizeof(MPI_Request) * (size_t)(count > 0 ? count : 0);
    MPI_Request *copy = malloc(bytes + 1);
    if (!copy) abort();
    if (bytes > 0) memcpy(copy, requests, bytes);
    return copy;
}

static void all_done(MPI_Request *before, int count)
{
    for (int i = 0; i < count; i++) tutti_request_done(before[i]);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    TUTTI_WRAP(Wait, (request, status));
    MPI_Request before = *request;
    tutti_wait wait = tutti_wait_requests(request, 1, false);
    int done = 0, rc;
    while (tutti_request_held(request, 1)) tutti_wait_step(&wait);
    while ((rc = PMPI_Test(request, &done, status)) == MPI_SUCCESS && !done) tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    tutti_request_done(before);
    TUTTI_RETURN(rc);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    TUTTI_WRAP(Waitall, (count, requests, statuses));
    MPI_Request *before = copied(count, requests);
    tutti_wait wait = tutti_wait_requests(requests, count, false);
    int done = 0, rc;
    while (tutti_request_held(requests, count)) tutti_wait_step(&wait);
    while ((rc = PMPI_Testall(count, requests, &done, statuses)) == MPI_SUCCESS && !done)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    all_done(before, count);
    free(before);
    TUTTI_RETURN(rc);
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
    TUTTI_WRAP(Waitany, (count, requests, index, status));
    MPI_Request *before = copied(count, requests);
    tutti_wait wait = tutti_wait_requests(requests, count, true);
    int done = 0, rc;
    while ((rc = PMPI_Testany(count, requests, index, &done, status)) == MPI_SUCCESS && !done)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    if (*index != MPI_UNDEFINED) tutti_request_done(before[*index]);
    free(before);
    TUTTI_RETURN(rc);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    TUTTI_WRAP(Waitsome, (count, requests, found, indices, statuses));
    MPI_Request *before = copied(count, requests);
    tutti_wait wait = tutti_wait_requests(requests, count, true);
    int rc;
    while ((rc = PMPI_Testsome(count, requests, found, indices, statuses)) == MPI_SUCCESS &&
           *found == 0)
        tutti_wait_step(&wait);
    tutti_wait_end(&wait);
    for (int i = 0; *found != MPI_UNDEFINED && i < *found; i++)
        tutti_request_done(before[indices[i]]);
    free(before);
    TUTTI_RETURN(rc);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    TUTTI_WRAP(Test, (request, flag, status));
    MPI_Request before = *request;
    tutti_process_obey();
    if (tutti_request_held(request, 1)) TUTTI_RETURN(not_yet(flag));
    int rc = PMPI_Test(request, flag, status);
    if (rc == MPI_SUCCESS && *flag) tutti_request_done(before);
    TUTTI_RETURN(rc);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    TUTTI_WRAP(Testall, (count, requests, flag, statuses));
    tutti_process_obey();
    if (tutti_request_held(requests, count)) TUTTI_RETURN(not_yet(flag));
    MPI_Request *before = copied(count, requests);
    int rc = PMPI_Testall(count, requests, flag, statuses);
    if (rc == MPI_SUCCESS && *flag) all_done(before, count);
    free(before);
    TUTTI_RETURN(rc);
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    TUTTI_WRAP(Testany, (count, requests, index, flag, status));
    MPI_Request *before = copied(count, requests);
    tutti_process_obey();
    int rc = PMPI_Testany(count, requests, index, flag, status);
    if (rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) tutti_request_done(before[*index]);
    free(before);
    TUTTI_RETURN(rc);
}

int MPI_Testsome(int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    TUTTI_WRAP(Testsome, (count, requests, found, indices, statuses));
    MPI_Request *before = copied(count, requests);
    tutti_process_obey();
    int rc = PMPI_Testsome(count, requests, found, indices, statuses);
    for (int i = 0; rc == MPI_SUCCESS && *found != MPI_UNDEFINED && i < *found; i++)
        tutti_request_done(before[indices[i]]);
    free(before);
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
