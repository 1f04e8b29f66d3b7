/* A collective call as a value: what one rank says about it, and what two ranks must agree on.
 *
 * What data flows is kept by peer: `out` is what this rank sends to each, `in` what it expects from
 * each (one signature for all, or one a peer, or none where nothing is said). Two ranks i and j fit when
 * out of i for j equals in of j from i, on the pairs that the flow of the kind names. */
#ifndef TUTTI_CHECK_RECORD_H
#define TUTTI_CHECK_RECORD_H

#include "apps/check/frame.h"
#include "apps/check/signature.h"

typedef enum tutti_flow {
    TUTTI_FLOW_NONE,    /* no data that could be compared */
    TUTTI_FLOW_SAME,    /* every rank names the same data: `out`, one signature or a row of them */
    TUTTI_FLOW_TO_ROOT, /* every rank's out fits the root's in */
    TUTTI_FLOW_FROM_ROOT, /* the root's out fits every rank's in */
    TUTTI_FLOW_ALL,       /* every rank's out fits every rank's in */
} tutti_flow;

typedef struct tutti_record {
    const char *call;  /* MPI_Ibcast */
    const char *kind;  /* Bcast */
    const char *what;  /* its arguments, for people */
    const char *op;    /* the operator, by name; "" where there is none */
    uint64_t comm;     /* the communicator's id */
    uint64_t sequence; /* 0 for the first collective on the communicator */
    int flow;
    int root;      /* rank in the communicator; -1 where there is none */
    int site;      /* number of the call site */
    int blocking;  /* 1: waits for GO; 0: nonblocking, matched only with its like */
    int outs, ins; /* lengths of out and in */
    tutti_signature *out, *in;
} tutti_record;

/* Writes all of the record into a frame that was begun. */
void tutti_record_put(tutti_frame *frame, const tutti_record *record);
/* A record of its own memory, or NULL when the frame is torn. */
tutti_record *tutti_record_get(tutti_frame *frame);
void tutti_record_free(tutti_record *record);

/* What differs between the calls of members i and j of a communicator ("the root"), or NULL. `inter`:
 * on an intercommunicator, where only kind and operator are compared. [P] */
const char *tutti_record_differs(
    const tutti_record *a, int i, const tutti_record *b, int j, int inter);

#endif
