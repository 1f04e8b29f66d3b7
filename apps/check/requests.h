/* Requests that the program has and what they are for. [A] */
#ifndef TUTTI_CHECK_REQUESTS_H
#define TUTTI_CHECK_REQUESTS_H

#include "apps/check/comms.h"
#include "apps/check/signature.h"
#include "apps/check/wait.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct tutti_request {
    tutti_item item; /* what it waits for; kind, communicator, peer, tag, call, site */
    tutti_comm *comm;
    bool persistent, active;
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
} tutti_request;

/* Remembers a request that MPI has just made; copies `what`. Nothing when it is MPI_REQUEST_NULL. */
void tutti_request_made(MPI_Request handle, const tutti_request *what);
/* MPI_Start. */
void tutti_request_started(MPI_Request handle);
/* It is complete: forgotten, or inactive if persistent. `handle` is its value before the call. */
void tutti_request_done(MPI_Request handle, const MPI_Status *status);
/* MPI_Request_free. */
void tutti_request_freed(MPI_Request handle);
/* MPI_Cancel: the buffer's owner is uncertain from now on. */
void tutti_request_cancelled(MPI_Request handle);
/* Copies what is known of it; false: nothing. */
bool tutti_request_look(MPI_Request handle, tutti_request *copy);

/* Whether one of them is of a nonblocking collective that some rank has not started yet. MPI may end it
 * early, but a program must not rely on that. */
bool tutti_request_held(const MPI_Request *requests, int count);
/* The same of what tutti_request_look has copied. */
bool tutti_request_is_held(const tutti_request *request);

/* Calls visit with each active request that is not complete, under the lock. */
void tutti_request_each(void (*visit)(const tutti_request *request, void *with), void *with);

/* At MPI_Finalize: an error for each active request, a note for each inactive one; true: none active. */
bool tutti_request_leaks(bool notes);

/* A hash of count elements at buffer, gaps left out. */
uint64_t tutti_request_content(const void *buffer, int count, MPI_Datatype type);

#endif
