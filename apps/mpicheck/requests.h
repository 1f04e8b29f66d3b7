/* The program's requests and what they are for. [A]
 *
 * MPI may reuse a handle in another thread as soon as it has freed the request. So a call that may
 * free a request first claims its record, and afterwards settles that record, not the handle. */
#ifndef TUTTI_MPICHECK_REQUESTS_H
#define TUTTI_MPICHECK_REQUESTS_H

#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/item.h"
#include "apps/mpicheck/region.h"
#include "apps/mpicheck/signature.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct mpicheck_request {
    mpicheck_item item; /* what it waits for; kind, communicator, peer, tag, call, site */
    mpicheck_comm *comm;
    bool persistent, active;
    bool complete;  /* the program knows of the completion and still has the handle */
    MPI_Comm *made; /* MPI_Comm_idup: where the handle of the new communicator appears */
    uint64_t seed;  /* the seed of its id */
    /* A buffer that must not change while the request is active. */
    const void *buffer;
    int64_t count;
    MPI_Datatype type;
    uint64_t content;
    mpicheck_used used; /* the memory that it uses while it is active; the request owns it */
    int busy; /* its place among those that use memory now, from 1 on; 0: not among them */
    mpicheck_signature data; /* of a message */
    MPI_Request handle;
    /* MPI may use one handle for all requests that complete at once: how many share it, and how
     * many of those are claimed by calls. */
    int times, claims;
} mpicheck_request;

/* Ends the program if the memory is in use: a request that is not complete writes it, or reads what
 * this call is to write. */
void mpicheck_request_check(const mpicheck_used *used);
/* Remembers a request that MPI has just made; copies `what`. Ignores MPI_REQUEST_NULL. Takes over
 * what->used. */
void mpicheck_request_made(MPI_Request handle, const mpicheck_request *what);
/* MPI_Start. */
void mpicheck_request_started(MPI_Request handle);
/* MPI_Request_free, before MPI is called. */
void mpicheck_request_freed(MPI_Request handle);
/* MPI_Cancel: from now on it is uncertain who owns the buffer. */
void mpicheck_request_cancelled(MPI_Request handle);
/* MPI_Type_free, before MPI is called: buffers of this type can no longer be inspected. */
void mpicheck_request_type_freed(MPI_Datatype type);

/* Before a call that may complete requests: the record of each, NULL if unknown. One of the three
 * calls below gives back each claim; they accept NULL. */
void mpicheck_request_claim(const MPI_Request *handles, int count, mpicheck_request **known);
/* The request is not complete. */
void mpicheck_request_release(mpicheck_request *known);
/* The request is complete: forgotten, or inactive if persistent. `status` is NULL if it failed. */
void mpicheck_request_done(mpicheck_request *known, const MPI_Status *status);
/* The request is complete, and the program keeps the handle (MPI_Request_get_status). */
void mpicheck_request_seen(mpicheck_request *known, const MPI_Status *status);

/* Whether one of them belongs to a nonblocking collective that some rank has not started yet. MPI
 * may complete it early, but a program must not rely on that. */
bool mpicheck_request_held(mpicheck_request *const *known, int count);
/* What a claimed request waits for; false: inactive. */
bool mpicheck_request_waits(const mpicheck_request *known, mpicheck_item *item);

/* Calls visit with each active request that is not complete, under the lock. */
void mpicheck_request_each(void (*visit)(const mpicheck_request *request, void *with), void *with);

/* At MPI_Finalize: an error per active request, a note per inactive one; true: none is active. */
bool mpicheck_request_leaks(bool notes);

/* A hash of count elements at buffer, without the gaps. */
uint64_t mpicheck_request_content(const void *buffer, int64_t count, MPI_Datatype type);

#endif
