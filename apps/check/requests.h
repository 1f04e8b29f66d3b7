/* Requests that the program has and what they are for. [A]
 *
 * MPI gives a handle to another thread as soon as it has freed the request. So a call that may free a request
 * claims what is known of it beforehand and settles it afterwards by that; never by the handle. */
#ifndef TUTTI_CHECK_REQUESTS_H
#define TUTTI_CHECK_REQUESTS_H

#include "apps/check/comms.h"
#include "apps/check/item.h"
#include "apps/check/signature.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct tutti_request {
    tutti_item item; /* what it waits for; kind, communicator, peer, tag, call, site */
    tutti_comm *comm;
    bool persistent, active;
    bool complete;  /* the program knows that it is complete, and still has the handle */
    MPI_Comm *made; /* MPI_Comm_idup: where the handle of the new communicator appears */
    uint64_t seed;  /* and what its id is made of */
    /* A buffer that must not change while the request is active. */
    const void *buffer;
    int count;
    MPI_Datatype type;
    uint64_t content;
    tutti_signature data; /* of a message */
    uint64_t number;      /* of an active receive: pairing.h */
    MPI_Request handle;
    /* Of requests that are complete at once MPI may give out one handle for all: how many there are, and how
     * many of them calls are about to complete. */
    int times, claims;
} tutti_request;

/* Remembers a request that MPI has just made; copies `what`. Nothing when it is MPI_REQUEST_NULL. */
void tutti_request_made(MPI_Request handle, const tutti_request *what);
/* MPI_Start. */
void tutti_request_started(MPI_Request handle);
/* MPI_Request_free, before MPI is called. */
void tutti_request_freed(MPI_Request handle);
/* MPI_Cancel: the buffer's owner is uncertain from now on. */
void tutti_request_cancelled(MPI_Request handle);
/* MPI_Type_free, before MPI is called: buffers of this type cannot be looked into any more. */
void tutti_request_type_freed(MPI_Datatype type);

/* Before a call that may complete requests: what is known of each, NULL where nothing is. Every claim is given
 * back by one of the three calls below, with NULL too. */
void tutti_request_claim(const MPI_Request *handles, int count, tutti_request **known);
/* The request is not complete. */
void tutti_request_release(tutti_request *known);
/* It is complete: forgotten, or inactive if persistent. `status` is NULL when it has failed. */
void tutti_request_done(tutti_request *known, const MPI_Status *status);
/* It is complete, and the program keeps the handle (MPI_Request_get_status). */
void tutti_request_seen(tutti_request *known, const MPI_Status *status);

/* Whether one of them is of a nonblocking collective that some rank has not started yet. MPI may end it
 * early, but a program must not rely on that. */
bool tutti_request_held(tutti_request *const *known, int count);
/* What a claimed request waits for; false: it is inactive. */
bool tutti_request_waits(const tutti_request *known, tutti_item *item);

/* Calls visit with each active request that is not complete, under the lock. */
void tutti_request_each(void (*visit)(const tutti_request *request, void *with), void *with);

/* At MPI_Finalize: an error for each active request, a note for each inactive one; true: none active. */
bool tutti_request_leaks(bool notes);

/* A hash of count elements at buffer, gaps left out. */
uint64_t tutti_request_content(const void *buffer, int count, MPI_Datatype type);

#endif
