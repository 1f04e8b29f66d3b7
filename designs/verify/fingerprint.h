/* What ranks compare about a collective: all that must agree on all ranks for the n-th collective
 * started on a lane. [P] */
#ifndef TUTTI_FINGERPRINT_H
#define TUTTI_FINGERPRINT_H

#include "collectives/value/members.h"
#include "designs/queue/queue.h"

enum { TUTTI_FINGERPRINT_NAME = 48, TUTTI_FINGERPRINT_OP = 24, TUTTI_FINGERPRINT_TEXT = 200 };

typedef struct tutti_fingerprint {
    int64_t sequence, index; /* where it was submitted: in the program, in its step */
    int64_t number;          /* its position on its lane: how many were started there before it */
    int64_t count;
    int32_t lane, root;
    int32_t chunk, chunks;              /* chunk: of its node's `chunks` */
    int32_t kind, dtype, op;            /* tutti_coll_kind, tutti_dtype, tutti_reduce_op */
    int32_t priority;                   /* of its place */
    int64_t key;                        /* of its members */
    uint64_t counts;                    /* tutti_coll_counts_hash */
    char name[TUTTI_FINGERPRINT_NAME];  /* cut to fit; the hash covers all of it */
    char op_name[TUTTI_FINGERPRINT_OP]; /* cut to fit */
    uint64_t hash;                      /* of everything but lane and number */
} tutti_fingerprint;

/* Of a ready entry, as the number-th on its lane, among these members. Fields that its kind ignores
 * get a fixed value. */
void tutti_fingerprint_make(const tutti_entry *entry, int64_t number, const tutti_members *members,
    tutti_fingerprint *fingerprint);
/* Writes "#17 'fc.weight', allreduce of 5130 F32 (sum)" into text; returns text. */
char *tutti_fingerprint_write(const tutti_fingerprint *fingerprint, char *text, size_t size);

#endif
