/* Which parameter server has what of a key, of a store of keys (tutti/kv.h) or of a step (dag/step/service.h). All
 * ranks partition the same keys in the same order, and so know it without a message.
 *
 * A key of `cut` elements or more has a part on every server; these sizes differ by at most one element. A smaller
 * key goes whole to the server that has the fewest bytes so far. A part has a number on its server, from 0.
 *
 * With two copies, a part has a second server, the next one after the first, with a number there. [P] */
#ifndef TUTTI_PORTIONS_H
#define TUTTI_PORTIONS_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_portions {
    int servers; /* 1 or more */
    int copies;  /* 1, or 2 where there are two servers or more */
    int64_t cut;
    struct tutti_portions_server {
        int64_t bytes; /* of its parts, second copies apart */
        int slots;     /* how many parts it has */
    } * server;
} tutti_portions;

typedef struct tutti_portion {
    int server, slot;
    int second, second_slot; /* with two copies: the other server, and the part's number there */
    int64_t first, count;    /* elements of the key */
} tutti_portion;

/* One copy; the caller may set `copies` before it assigns the first part. NOMEM (logged). */
tutti_status tutti_portions_open(int servers, int64_t cut, tutti_portions *portions);
void tutti_portions_close(tutti_portions *portions);

/* The number of parts of a key of `count` elements. */
int tutti_portions_parts(const tutti_portions *portions, int64_t count);
/* Assigns part p of `parts` of a key: portion says where it is. */
void tutti_portions_partition(tutti_portions *portions, int64_t count, size_t element_bytes,
    int parts, int p, tutti_portion *portion);

#endif
