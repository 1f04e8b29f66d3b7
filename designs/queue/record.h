/* The flight recorder of one rank: its last 1024 collectives and the times of their events.
 *
 *   reserve (submitted) -> post (buffers are ready) -> start -> end
 *
 * A collective enters the ring when it is posted: a program that submits thousands ahead does not push
 * out the current ones. Recording costs one clock reading and a few stores. Times are seconds of
 * tutti_clock_s. Not locked: the driver's queue lock protects it. */
#ifndef TUTTI_RECORD_H
#define TUTTI_RECORD_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

#include <stdio.h>

enum { TUTTI_RECORD_ROOM = 1024, TUTTI_RECORD_NAME = 64, TUTTI_RECORD_OP = 24 };

typedef struct tutti_record_entry {
    int64_t sequence, index;
    int lane, chunk, chunks;         /* chunk: of its node's `chunks` */
    char name[TUTTI_RECORD_NAME];    /* cut to fit */
    char members[TUTTI_RECORD_NAME]; /* "group 2 {0, 3}"; "": all ranks */
    tutti_coll_kind kind;
    tutti_dtype dtype;
    char op[TUTTI_RECORD_OP]; /* the operator's name, also cut */
    int root;
    int64_t count, bytes;                            /* bytes: of one buffer of count elements */
    double reserved_s, posted_s, started_s, ended_s; /* 0: not yet */
    tutti_status status;                             /* of its end */
} tutti_record_entry;

typedef struct tutti_record {
    tutti_record_entry *ring;
    int64_t next; /* how many were posted */
} tutti_record;

/* What is known of a collective before it has buffers. */
typedef struct tutti_record_key {
    int64_t sequence, index;
    const char *members; /* NULL: all ranks */
    int lane, chunk, chunks;
    const char *name;
    double reserved_s;
} tutti_record_key;

tutti_status tutti_record_open(tutti_record *record); /* NOMEM */
void tutti_record_close(tutti_record *record);

/* Enters a collective and returns its number in the recorder, for start and end; these ignore a
 * number that has left the ring. */
int64_t tutti_record_post(
    tutti_record *record, const tutti_record_key *key, const tutti_coll_args *args);
void tutti_record_start(tutti_record *record, int64_t number);
void tutti_record_end(tutti_record *record, int64_t number, tutti_status status);

/* The oldest number still in the ring; all from there up to next are in it. get: NULL if the number
 * is not. */
int64_t tutti_record_oldest(const tutti_record *record);
const tutti_record_entry *tutti_record_get(const tutti_record *record, int64_t number);

/* Writes one JSON object per line, oldest first. Times are seconds before `now_s`; null: not
 * yet. */
void tutti_record_write(const tutti_record *record, double now_s, FILE *out);

#endif
