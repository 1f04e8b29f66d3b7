/* What a rank waits for, or has begun and not ended: as the rank tells it and as the judge keeps it. [P] */
#ifndef TUTTI_MPICHECK_ITEM_H
#define TUTTI_MPICHECK_ITEM_H

#include <stdint.h>

typedef enum mpicheck_item_kind {
    MPICHECK_ITEM_SEND,
    MPICHECK_ITEM_RECV,
    MPICHECK_ITEM_COLL,
    MPICHECK_ITEM_FINALIZE,
    MPICHECK_ITEM_OTHER, /* nobody knows who ends it */
} mpicheck_item_kind;

/* One thing that is waited for, or pending. */
typedef struct mpicheck_item {
    mpicheck_item_kind kind;
    uint64_t comm;     /* id */
    int peer;          /* world rank; -1: any of the communicator */
    int tag;           /* MPI_ANY_TAG is sent as -1 */
    uint64_t sequence; /* of a collective */
    int64_t bytes;
    const char *call; /* that started it */
    int site;
} mpicheck_item;

#endif
