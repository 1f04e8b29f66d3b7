/* The judge's state; only its own thread touches it.  judge.c reads from the ranks, tracker.c
 * writes to them, match.c compares collectives and message.c messages, hang.c looks for deadlocks,
 * report.c prints. */
#ifndef TUTTI_MPICHECK_TRACKER_H
#define TUTTI_MPICHECK_TRACKER_H

#include "apps/mpicheck/door.h"
#include "apps/mpicheck/frame.h"
#include "apps/mpicheck/item.h"
#include "apps/mpicheck/record.h"
#include "apps/mpicheck/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A call site of a rank. */
typedef struct mpicheck_place {
    char *module, *symbol;
    uint64_t offset;
} mpicheck_place;

/* A blocked call: what one thread of a rank waits for. */
typedef struct mpicheck_blocked_call {
    int64_t thread, probe;
    bool any;
    char *call;
    int site;
    mpicheck_item *waited, *pending; /* the blocked call owns their `call` */
    int waits, pendings;
    bool alive;    /* hang.c: can still be freed */
    int64_t epoch; /* when it began */
    struct mpicheck_blocked_call *next;
} mpicheck_blocked_call;

typedef enum mpicheck_rank_state {
    MPICHECK_RANK_RUNS,
    MPICHECK_RANK_FINALIZES,
    MPICHECK_RANK_GONE
} mpicheck_rank_state;

typedef struct mpicheck_rank {
    int socket;                   /* -1: not connected, yet or any more */
    mpicheck_frame input, output; /* output: not written to the socket yet */
    mpicheck_rank_state state;
    mpicheck_place *places; /* from number 1 */
    int nplaces;
    mpicheck_blocked_call *blocked_calls;
    int threads;          /* of the program */
    bool unpaired;        /* as it last waited, it had lost count of its messages */
    mpicheck_record last; /* the last collective it announced: only call and site */
} mpicheck_rank;

/* The calls of one collective. */
typedef struct mpicheck_slot {
    int arrived;
    bool differs;
    double since;             /* when the first difference was seen */
    mpicheck_record *calls[]; /* by member; NULL: not arrived */
} mpicheck_slot;

typedef struct mpicheck_tracker_comm {
    uint64_t id;
    char *maker;
    int site, maker_rank;
    int size, others;
    int *members;          /* world ranks: local group, then remote group */
    uint64_t finished;     /* collectives that every member has announced */
    mpicheck_slot **slots; /* of the collectives after those */
    int nslots;
} mpicheck_tracker_comm;

typedef struct mpicheck_judge mpicheck_judge; /* judge.h */

struct mpicheck_judge {
    pthread_t thread;
    _Atomic bool quits; /* mpicheck_judge_quit was called */
    mpicheck_door door;
    int size;
    int64_t answer; /* to a HELLO */
    mpicheck_rank *ranks;
    mpicheck_table comms, messages; /* by id; ends of messages, by channel and number */
    mpicheck_tracker_comm **order;  /* all communicators */
    int ncomms;
    bool reported; /* an error was written: the run ends */
    bool ended;    /* END or ABORT was sent */
    uint64_t collectives;
    int64_t epoch, probe; /* of the last change of a rank; number of the last question */
    int64_t asked_epoch;
    int rounds; /* questions answered without a change */
    double asked_at;
};

/* tracker.c: ends the frame and sends it, now or when the rank reads: the judge never waits. */
void mpicheck_tracker_send(mpicheck_judge *judge, int rank, mpicheck_frame *frame);
void mpicheck_tracker_send_all(mpicheck_judge *judge, mpicheck_frame *frame);
/* Writes what the socket accepts now. */
void mpicheck_tracker_flush(mpicheck_rank *rank);
/* NULL: not known. */
mpicheck_tracker_comm *mpicheck_tracker_comm_find(mpicheck_judge *judge, uint64_t id);

/* match.c: a rank joins a communicator; a rank announces a collective; differences that have waited
 * for latecomers are reported. */
void mpicheck_tracker_comm_joined(mpicheck_judge *judge, int rank, mpicheck_frame *frame);
void mpicheck_tracker_collective(mpicheck_judge *judge, int rank, mpicheck_record *record);
void mpicheck_tracker_match_tick(mpicheck_judge *judge);
/* At the end: reports a collective that some member has never announced; false: none. */
bool mpicheck_tracker_unmatched(mpicheck_judge *judge);
/* Fills `missing`, which has room for all, with the world ranks that have not announced a
 * collective; returns how many. */
int mpicheck_tracker_missing(mpicheck_judge *judge, uint64_t comm, uint64_t sequence, int *missing);
void mpicheck_tracker_comms_free(mpicheck_judge *judge);

/* message.c: one end of a point-to-point message. */
void mpicheck_tracker_message(mpicheck_judge *judge, int rank, mpicheck_frame *frame);
/* How many messages that a rank's receive may take have been sent and were not received, as far as ranks have
 * reported all of theirs. */
int64_t mpicheck_tracker_sent(mpicheck_judge *judge, const mpicheck_item *recv, int receiver);
void mpicheck_tracker_messages_free(mpicheck_judge *judge);

/* hang.c */
void mpicheck_tracker_blocked(mpicheck_judge *judge, int rank, mpicheck_frame *frame);
void mpicheck_tracker_unblocked(mpicheck_judge *judge, int rank, int64_t thread);
void mpicheck_tracker_hang_tick(mpicheck_judge *judge);
void mpicheck_blocked_call_free(mpicheck_blocked_call *blocked);

/* report.c: text for people, assembled in pieces and written to stderr at once. */
typedef struct mpicheck_report {
    char *text;
    size_t length, capacity;
} mpicheck_report;
void mpicheck_report_add(mpicheck_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "main (prog.c:12)" of a site of a rank. */
void mpicheck_report_site(mpicheck_report *report, mpicheck_judge *judge, int rank, int site);
/* Whether two ranks' sites, whose numbers are each rank's own, are one. */
bool mpicheck_report_same_site(
    const mpicheck_judge *judge, int rank_a, int site_a, int rank_b, int site_b);
/* "MPI_COMM_WORLD", "the communicator of MPI_Comm_split at main (prog.c:7)". */
void mpicheck_report_comm(mpicheck_report *report, mpicheck_judge *judge, uint64_t id);
/* "rank 3", "ranks 0, 2-5". */
void mpicheck_report_ranks(mpicheck_report *report, const int *ranks, int count);
/* Writes it and frees it. */
void mpicheck_report_write(mpicheck_report *report);
/* Writes it as the error of the run, and ends all ranks. */
void mpicheck_report_error(mpicheck_judge *judge, mpicheck_report *report);

#endif
