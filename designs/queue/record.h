/* The flight recorder of one rank: its last 1024 collectives with the times of what happened to
 * them.
 *
 *   reserve (submitted) -> post (buffers are ready) -> start -> end
 *
 * A collective enters the ring when it is posted, so that a program which submits thousands ahead
 * does not push out those that matter. Writing costs a look at the clock and a few stores. Times
 * are seconds of tutti_clock_s. Not locked: the driver's queue lock covers it. */
#ifndef TUTTI_RECORD_H
#define TUTTI_RECORD_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

#include <stdio.h>

enum { TUTTI_RECORD_ROOM = 1024, TUTTI_RECORD_NAME = 64, TUTTI_RECORD_OP = 24 };

typedef struct tutti_record_entry {
    int64_t sequence, index;
    int lane, chunk, chunks;      /* this one of its node's */
    char name[TUTTI_RECORD_NAME]; /* cut to fit */
    tutti_coll_kind kind;
    tutti_dtype dtype;
    char op[TUTTI_RECORD_OP]; /* its name, likewise */
    int root;
    int64_t count, bytes;                            /* bytes: of one buffer of count elements */
    double reserved_s, posted_s, started_s, ended_s; /* 0: not yet */
    tutti_status status;                             /* of its end */
} tutti_record_entry;

typedef struct tutti_record {
    tutti_record_entry *ring;
    int64_t next; /* how many were posted */
} tutti_record;

/* What a collective is before it has buffers. */
typedef struct tutti_record_key {
    int64_t sequence, index;
    int lane, chunk, chunks;
    const char *name;
    double reserved_s;
} tutti_record_key;

tutti_status tutti_record_open(tutti_record *record); /* NOMEM */
void tutti_record_close(tutti_record *record);

/* Enters a collective and returns its number here, for what follows. A number that has left the
 * ring is ignored by start and end. */
int64_t tutti_record_post(
    tutti_record *record, const tutti_record_key *key, const tutti_coll_args *args);
void tutti_record_start(tutti_record *record, int64_t number);
void tutti_record_end(tutti_record *record, int64_t number, tutti_status status);

/* The oldest number still in the ring; those up to next are. get: NULL when it is not. */
int64_t tutti_record_oldest(const tutti_record *record);
const tutti_record_entry *tutti_record_get(const tutti_record *record, int64_t number);

/* One JSON object a line for each, oldest first. Times are seconds before `now_s`; null: not yet. */
void tutti_record_write(const tutti_record *record, double now_s, FILE *out);

#endif
