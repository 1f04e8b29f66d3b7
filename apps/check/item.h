/* What a rank waits for, or has begun and not ended: as the rank tells it and as the judge keeps it. [P] */
#ifndef TUTTI_CHECK_ITEM_H
#define TUTTI_CHECK_ITEM_H

#include <stdint.h>

typedef enum tutti_item_kind {
    TUTTI_ITEM_SEND,
    TUTTI_ITEM_RECV,
    TUTTI_ITEM_COLL,
    TUTTI_ITEM_FINALIZE,
    TUTTI_ITEM_OTHER, /* nobody knows who ends it */
} tutti_item_kind;

/* One thing that is waited for, or pending. */
typedef struct tutti_item {
    tutti_item_kind kind;
    uint64_t comm;     /* id */
    int peer;          /* world rank; -1: any of the communicator */
    int tag;           /* MPI_ANY_TAG is sent as -1 */
    uint64_t sequence; /* of a collective */
    int64_t bytes;
    const char *call; /* that started it */
    int site;
} tutti_item;

#endif
