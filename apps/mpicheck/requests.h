/* Requests that the program has and what they are for. [A]
 *
 * MPI gives a handle to another thread as soon as it has freed the request. So a call that may free a request
 * claims what is known of it beforehand and settles it afterwards by that; never by the handle. */
#ifndef TUTTI_MPICHECK_REQUESTS_H
#define TUTTI_MPICHECK_REQUESTS_H

#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/item.h"
#include "apps/mpicheck/signature.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct mpicheck_request {
    mpicheck_item item; /* what it waits for; kind, communicator, peer, tag, call, site */
    mpicheck_comm *comm;
    bool persistent, active;
    bool complete;  /* the program knows that it is complete, and still has the handle */
    MPI_Comm *made; /* MPI_Comm_idup: where the handle of the new communicator appears */
    uint64_t seed;  /* and what its id is made of */
    /* A buffer that must not change while the request is active. */
    const void *buffer;
    int count;
    MPI_Datatype type;
    uint64_t content;
    mpicheck_signature data; /* of a message */
    uint64_t number;         /* of an active receive: pairing.h */
    MPI_Request handle;
    /* Of requests that are complete at once MPI may give out one handle for all: how many there are, and how
     * many of them calls are about to complete. */
    int times, claims;
} mpicheck_request;

/* Remembers a request that MPI has just made; copies `what`. Nothing when it is MPI_REQUEST_NULL. */
void mpicheck_request_made(MPI_Request handle, const mpicheck_request *what);
/* MPI_Start. */
void mpicheck_request_started(MPI_Request handle);
/* MPI_Request_free, before MPI is called. */
void mpicheck_request_freed(MPI_Request handle);
/* MPI_Cancel: the buffer's owner is uncertain from now on. */
void mpicheck_request_cancelled(MPI_Request handle);
/* MPI_Type_free, before MPI is called: buffers of this type cannot be looked into any more. */
void mpicheck_request_type_freed(MPI_Datatype type);

/* Before a call that may complete requests: what is known of each, NULL where nothing is. Every claim is given
 * back by one of the three calls below, with NULL too. */
void mpicheck_request_claim(const MPI_Request *handles, int count, mpicheck_request **known);
/* The request is not complete. */
void mpicheck_request_release(mpicheck_request *known);
/* It is complete: forgotten, or inactive if persistent. `status` is NULL when it has failed. */
void mpicheck_request_done(mpicheck_request *known, const MPI_Status *status);
/* It is complete, and the program keeps the handle (MPI_Request_get_status). */
void mpicheck_request_seen(mpicheck_request *known, const MPI_Status *status);

/* Whether one of them is of a nonblocking collective that some rank has not started yet. MPI may end it
 * early, but a program must not rely on that. */
bool mpicheck_request_held(mpicheck_request *const *known, int count);
/* What a claimed request waits for; false: it is inactive. */
bool mpicheck_request_waits(const mpicheck_request *known, mpicheck_item *item);

/* Calls visit with each active request that is not complete, under the lock. */
void mpicheck_request_each(void (*visit)(const mpicheck_request *request, void *with), void *with);

/* At MPI_Finalize: an error for each active request, a note for each inactive one; true: none active. */
bool mpicheck_request_leaks(bool notes);

/* A hash of count elements at buffer, gaps left out. */
uint64_t mpicheck_request_content(const void *buffer, int count, MPI_Datatype type);

#endif
