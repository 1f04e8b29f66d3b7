/* Who waits for whom: sentences from what each rank has told about itself. Pure: no rank is asked
 * here (designs/watch/inquiry.h), no clock is read. [P]
 *
 * The report is about one collective, the lowest in which some rank waits: with the smallest number
 * everywhere lies the cause (doc/designs.md), and the ranks that have not arrived there are it. Such a rank is
 * late as long as it can go on by itself, because its program is in its own code (it computes, reads, waits for
 * data) or a task of it runs; else everybody waits for a rank that waits, too, or is gone: a stall. */
#ifndef TUTTI_STALL_H
#define TUTTI_STALL_H

#include "designs/queue/record.h"

/* How far a rank has come with a collective. */
typedef enum tutti_stall_place {
    TUTTI_STALL_NOT_SUBMITTED, /* its program has not come to it */
    TUTTI_STALL_SUBMITTED,     /* its buffers are not ready */
    TUTTI_STALL_READY,         /* but may not start yet */
    TUTTI_STALL_STARTED,
    TUTTI_STALL_ENDED,
    TUTTI_STALL_PLACES
} tutti_stall_place;

/* Of a process that does not answer. */
typedef enum tutti_pulse {
    TUTTI_PULSE_UNKNOWN, /* it cannot be seen from here */
    TUTTI_PULSE_RUNS,
    TUTTI_PULSE_STOPPED,
    TUTTI_PULSE_GONE
} tutti_pulse;

/* What is known of one rank. Ages are seconds. */
typedef struct tutti_stall_state {
    int known;                /* it has told something, some time */
    int answers;              /* it has told so lately */
    int can_move;             /* it can go on by itself, as far as the collective needs it */
    int announced;            /* its program has said before what keeps it (tutti_inquiry_note) */
    int away;                 /* it hears only while its program waits: silence means little */
    tutti_pulse pulse;        /* of one that does not answer */
    double heard_s;           /* how long ago */
    int64_t about;            /* the collective it was asked about; -1: none */
    tutti_stall_place place;  /* of that collective on this rank */
    int64_t submitted, ended; /* how many collectives */
    int64_t tasks;            /* how many tasks have ended */
    int64_t waits;            /* the oldest collective in flight there; -1: it waits in none */
    double waits_s;           /* since when that one has not moved */
    double idle_s;            /* since when nothing has ended, moved or been submitted there */
    char name[TUTTI_RECORD_NAME]; /* of the collective asked about, where it knows it */
    char way[248];                /* what is in the way there; "" when it does not know */
} tutti_stall_state;

/* The lowest collective in which a rank that answers waits; -1 when none does. */
int64_t tutti_stall_lowest(int ranks, const tutti_stall_state state[]);
/* Which ranks have not arrived in the collective, and how many: those that have not told that they have;
 * when all have told so, those that do not answer any more. Of those that do not answer, only the ones
 * that have been silent for longest count: others are late with an answer. */
int tutti_stall_missing(
    int ranks, const tutti_stall_state state[], int64_t collective, int missing[]);
/* Whether every rank that has not arrived has announced what keeps it: less to warn of. */
int tutti_stall_announced(int ranks, const tutti_stall_state state[], int64_t collective);
/* For how long no rank can go on: nothing has moved on any rank that answers, and none of them can move by
 * itself; or a rank that has not arrived is silent, whatever the others do. A rank that nobody has heard
 * of yet has been silent for `unheard_s`. */
double tutti_stall_lasts_s(
    int ranks, const tutti_stall_state state[], int64_t collective, double unheard_s);
/* The lowest rank that answers; -1 when none does. */
int tutti_stall_spokesman(int ranks, const tutti_stall_state state[]);
/* The lowest rank that answers and waits in a collective; -1: none. */
int tutti_stall_first_to_wait(int ranks, const tutti_stall_state state[]);

/* "collective #18 "fc.weight"", with the name as far as a rank has told it. Returns text. */
char *tutti_stall_title(
    int ranks, const tutti_stall_state state[], int64_t collective, char *text, size_t size);
/* "collective #18 "fc.weight": rank 1 has not come to it; in the way is task "x", running for 6.2 s; it is
 * late, not stuck" and so on; what is too long for `text` is cut. Returns text. */
char *tutti_stall_sentence(
    int ranks, const tutti_stall_state state[], int64_t collective, char *text, size_t size);
/* One line of the report: what this rank does. Returns text. */
char *tutti_stall_line(int ranks, const tutti_stall_state state[], int rank, int64_t collective,
    char *text, size_t size);

#endif
