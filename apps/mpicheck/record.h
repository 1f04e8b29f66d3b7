/* A collective call as a value: what one rank reports, and what two ranks must agree on.
 *
 * The data flow is kept per peer: `out` is what this rank sends to each, `in` what it expects from
 * each (one signature for all, one per peer, or none if unspecified). Ranks i and j fit when out of
 * i for j equals in of j from i, for the pairs given by the flow of the kind. */
#ifndef TUTTI_MPICHECK_RECORD_H
#define TUTTI_MPICHECK_RECORD_H

#include "apps/mpicheck/frame.h"
#include "apps/mpicheck/signature.h"

typedef enum mpicheck_flow {
    MPICHECK_FLOW_NONE, /* no data that can be compared */
    MPICHECK_FLOW_SAME, /* every rank describes the same data in `out`, by one or more signatures */
    MPICHECK_FLOW_TO_ROOT,   /* every rank's out fits the root's in */
    MPICHECK_FLOW_FROM_ROOT, /* the root's out fits every rank's in */
    MPICHECK_FLOW_ALL,       /* every rank's out fits every rank's in */
} mpicheck_flow;

typedef struct mpicheck_record {
    const char *call;  /* MPI_Ibcast */
    const char *kind;  /* Bcast */
    const char *what;  /* its arguments, for people */
    const char *op;    /* name of the operator; "": none */
    uint64_t comm;     /* the communicator's id */
    uint64_t sequence; /* 0 for the first collective on the communicator */
    int flow;
    int root;      /* rank in the communicator; -1: none */
    int site;      /* number of the call site */
    int blocking;  /* 1: waits for GO; 0: nonblocking, matches only nonblocking calls */
    int outs, ins; /* lengths of out and in */
    mpicheck_signature *out, *in;
} mpicheck_record;

/* Writes the whole record into a frame that was begun. */
void mpicheck_record_put(mpicheck_frame *frame, const mpicheck_record *record);
/* A record with its own memory, or NULL when the frame is damaged. */
mpicheck_record *mpicheck_record_get(mpicheck_frame *frame);
void mpicheck_record_free(mpicheck_record *record);

/* What differs between the calls of members i and j of a communicator (such as "the root"), or
 * NULL. `inter`: an intercommunicator, where only kind and operator are compared. [P] */
const char *mpicheck_record_differs(
    const mpicheck_record *a, int i, const mpicheck_record *b, int j, int inter);

#endif
