/* Composes sentences about who waits for whom from the ranks' reports about themselves. Pure: it sends nothing
 * (designs/watch/inquiry.h does) and reads no clock. [P]
 *
 * A report is about one collective: the lowest that some rank waits in. Collectives of all ranks come before those
 * of groups, and those before messages of edges. The cause lies at the smallest number (doc/designs.md), in the
 * ranks that have not arrived there. If such a rank waits for another group or edge, the report moves on to that
 * one.
 *
 * A missing rank is late while it can continue by itself: its program runs its own code (it computes, reads, waits
 * for data), or one of its tasks runs. A stall is when every rank waits for a rank that also waits, or that is
 * gone. */
#ifndef TUTTI_STALL_H
#define TUTTI_STALL_H

#include "designs/queue/record.h"

/* A rank's progress with a collective. */
typedef enum tutti_stall_place {
    TUTTI_STALL_NOT_SUBMITTED, /* its program has not reached it */
    TUTTI_STALL_SUBMITTED,     /* its buffers are not ready */
    TUTTI_STALL_READY,         /* but may not start yet */
    TUTTI_STALL_STARTED,
    TUTTI_STALL_ENDED,
    TUTTI_STALL_PLACES
} tutti_stall_place;

/* The state of a process that does not answer. */
typedef enum tutti_pulse {
    TUTTI_PULSE_UNKNOWN, /* it cannot be seen from here */
    TUTTI_PULSE_RUNS,
    TUTTI_PULSE_STOPPED,
    TUTTI_PULSE_GONE
} tutti_pulse;

/* What is known of one rank. Ages are seconds. */
typedef struct tutti_stall_state {
    int known;         /* it has reported at least once */
    int answers;       /* it has reported lately */
    int can_move;      /* it can continue by itself, as far as the collective needs it */
    int announced;     /* its program has announced why it is late (tutti_inquiry_set_activity) */
    int left;          /* it has left, after which it answers no more */
    int away;          /* it receives messages only while its program waits: silence means little */
    tutti_pulse pulse; /* of a rank that does not answer */
    double last_report_s;     /* age of its last report */
    int outside;              /* it is not a member of the queried collective's group */
    int64_t about;            /* the queried collective; -1: none */
    tutti_stall_place place;  /* of that collective on this rank */
    int64_t submitted, ended; /* numbers of collectives */
    int64_t tasks;            /* number of ended tasks */
    int64_t waits;            /* the oldest collective in flight there; -1: none */
    double waits_s;           /* how long that one has made no progress */
    int64_t
        behind; /* if it has not arrived: the other collective that it waits for first; -1: none */
    /* the call by which its program would submit the queried message; NULL: not a message, or the
     * program makes no such calls */
    const char *call;
    double idle_s; /* how long nothing has ended, moved or been submitted there */
    /* of this rank: the members of the queried collective, "group 2 {0, 3}"; "": all ranks */
    char members[TUTTI_RECORD_NAME];
    int message;                  /* of this rank: whether the queried collective is a message between two ranks */
    char name[TUTTI_RECORD_NAME]; /* of the queried collective, if known */
    char way[248];                /* what blocks it there; "": unknown */
} tutti_stall_state;

/* The lowest collective in which a rank that answers waits; -1: none. */
int64_t tutti_stall_lowest(int ranks, const tutti_stall_state state[]);
/* Sets missing[r] for the ranks that have not arrived in the collective, and returns how many. These are the ranks
 * that have not reported their arrival or, if all have, those that no longer answer. Among the silent ranks, only
 * those silent for longest count: the others' answers are merely late. */
int tutti_stall_missing(
    int ranks, const tutti_stall_state state[], int64_t collective, int missing[]);
/* The other collective that keeps a rank from arriving in this one: the cause lies there. -1: a rank that has not
 * arrived is itself the cause, or the cause is not known (yet). */
int64_t tutti_stall_behind(int ranks, const tutti_stall_state state[], int64_t collective);
/* Whether every missing rank has announced why it is late: less reason to warn. */
int tutti_stall_announced(int ranks, const tutti_stall_state state[], int64_t collective);
/* How long no rank has been able to continue: nothing has moved on any rank that answers, and none of
 * them can move by itself; or a missing rank is silent, whatever the others do. A rank that has never
 * reported counts as silent for `unreported_s`. */
double tutti_stall_lasts_s(
    int ranks, const tutti_stall_state state[], int64_t collective, double unreported_s);
/* The lowest rank that answers; -1: none. */
int tutti_stall_spokesman(int ranks, const tutti_stall_state state[]);
/* The lowest rank that answers and waits in a collective; -1: none. */
int tutti_stall_first_to_wait(int ranks, const tutti_stall_state state[]);

/* Writes "collective #18 "fc.weight"", with the name if a rank has reported it. Returns text. */
char *tutti_stall_title(
    int ranks, const tutti_stall_state state[], int64_t collective, char *text, size_t size);
/* Writes a sentence such as "collective #18 "fc.weight": rank 1 has not reached it; blocked by task "x", running
 * for 6.2 s; it is late, not stuck", cut to fit `text`. Returns text. */
char *tutti_stall_sentence(
    int ranks, const tutti_stall_state state[], int64_t collective, char *text, size_t size);
/* Writes one line of the report: what this rank does. Returns text. */
char *tutti_stall_line(int ranks, const tutti_stall_state state[], int rank, int64_t collective,
    char *text, size_t size);

#endif
