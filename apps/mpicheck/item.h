/* What a rank waits for, or has started and not completed: as the rank reports it and the judge
 * keeps it. [P] */
#ifndef TUTTI_MPICHECK_ITEM_H
#define TUTTI_MPICHECK_ITEM_H

#include <stdint.h>

typedef enum mpicheck_item_kind {
    MPICHECK_ITEM_SEND,
    MPICHECK_ITEM_RECV,
    MPICHECK_ITEM_COLL,
    MPICHECK_ITEM_FINALIZE,
    MPICHECK_ITEM_OTHER, /* no known rank ends it */
} mpicheck_item_kind;

/* One operation that is waited for, or pending. */
typedef struct mpicheck_item {
    mpicheck_item_kind kind;
    uint64_t comm;     /* id */
    int peer;          /* world rank; -1: any of the communicator */
    int tag;           /* -1: MPI_ANY_TAG */
    uint64_t sequence; /* of a collective */
    uint64_t number;   /* of a receive: pairing.h; of a probe: UINT64_MAX */
    int64_t bytes;
    const char *call; /* the MPI function that started it */
    int site;
} mpicheck_item;

#endif
