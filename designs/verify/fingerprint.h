/* What ranks compare about a collective: all that must be the same everywhere when it is the n-th
 * that is started on its lane. [P] */
#ifndef TUTTI_FINGERPRINT_H
#define TUTTI_FINGERPRINT_H

#include "designs/queue/queue.h"

enum { TUTTI_FINGERPRINT_NAME = 48, TUTTI_FINGERPRINT_OP = 24, TUTTI_FINGERPRINT_TEXT = 200 };

typedef struct tutti_fingerprint {
    int64_t sequence, index; /* where it was submitted: in the program, in its step */
    int64_t number;          /* where it starts: how many were started on its lane before it */
    int64_t count;
    int32_t lane, root;
    int32_t chunk, chunks;              /* this one of its node's */
    int32_t kind, dtype, op;            /* tutti_coll_kind, tutti_dtype, tutti_reduce_op */
    uint64_t counts;                    /* tutti_coll_counts_hash */
    char name[TUTTI_FINGERPRINT_NAME];  /* cut to fit; the hash knows all of it */
    char op_name[TUTTI_FINGERPRINT_OP]; /* likewise */
    uint64_t hash;                      /* of all but lane and number */
} tutti_fingerprint;

/* Of a ready entry, as the number-th of its lane of so many ranks. What its kind ignores is set to one value. */
void tutti_fingerprint_make(
    const tutti_entry *entry, int64_t number, int ranks, tutti_fingerprint *fingerprint);
/* "#17 'fc.weight', allreduce of 5130 F32 (sum)" into text; returns text. */
char *tutti_fingerprint_write(const tutti_fingerprint *fingerprint, char *text, size_t size);

#endif
