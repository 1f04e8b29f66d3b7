/* What the judge knows: only its own thread touches it.  judge.c hears the ranks, court.c speaks to
 * them, match.c compares collectives, message.c messages, hang.c looks for deadlocks, report.c writes. */
#ifndef TUTTI_CHECK_COURT_H
#define TUTTI_CHECK_COURT_H

#include "apps/check/door.h"
#include "apps/check/frame.h"
#include "apps/check/item.h"
#include "apps/check/record.h"
#include "apps/check/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A call site of a rank. */
typedef struct tutti_place {
    char *module, *symbol;
    uint64_t offset;
} tutti_place;

/* What one thread of a rank waits for. */
typedef struct tutti_stop {
    int64_t thread, probe;
    bool any;
    char *call;
    int site;
    tutti_item *waited, *pending; /* their `call` is the stop's own memory */
    int waits, pendings;
    bool alive;    /* hang.c: can still be freed */
    int64_t epoch; /* of its beginning */
    struct tutti_stop *next;
} tutti_stop;

typedef enum tutti_rank_state {
    TUTTI_RANK_RUNS,
    TUTTI_RANK_FINALIZES,
    TUTTI_RANK_GONE
} tutti_rank_state;

typedef struct tutti_rank {
    int socket;                /* -1: not connected yet, or no more */
    tutti_frame input, output; /* output: what the socket has not taken yet */
    tutti_rank_state state;
    tutti_place *places; /* from number 1 */
    int nplaces;
    tutti_stop *stops;
    int threads;       /* of the program */
    tutti_record last; /* last collective it has announced: call and site alone */
} tutti_rank;

/* Calls of one collective. */
typedef struct tutti_slot {
    int arrived;
    bool differs;
    double since;          /* when the first difference was seen */
    tutti_record *calls[]; /* by member; NULL: not arrived */
} tutti_slot;

typedef struct tutti_court_comm {
    uint64_t id;
    char *maker;
    int site, maker_rank;
    int size, others;
    int *members;       /* world ranks: own group, then the other */
    uint64_t finished;  /* collectives that every member has announced */
    tutti_slot **slots; /* of the collectives after those */
    int nslots;
} tutti_court_comm;

typedef struct tutti_judge tutti_judge; /* judge.h */

struct tutti_judge {
    pthread_t thread;
    _Atomic bool quits; /* its starter does not want it any more */
    tutti_door door;
    int size;
    int64_t answer; /* to a HELLO */
    tutti_rank *ranks;
    tutti_table comms, messages; /* by id; ends of messages, by channel and number */
    tutti_court_comm **order;    /* all communicators */
    int ncomms;
    bool reported; /* an error was written: the run ends */
    bool ended;    /* END or ABORT was sent */
    uint64_t collectives;
    int64_t epoch, probe; /* of the last change of a rank; number of the last question */
    int64_t asked_epoch;
    int rounds; /* questions answered without a change */
    double asked_at;
};

/* court.c: ends the frame and sends it, now or as soon as the rank reads: the judge waits for nobody. */
void tutti_court_send(tutti_judge *judge, int rank, tutti_frame *frame);
void tutti_court_send_all(tutti_judge *judge, tutti_frame *frame);
/* Gives the socket what it takes now. */
void tutti_court_flush(tutti_rank *rank);
tutti_court_comm *tutti_court_comm_find(tutti_judge *judge, uint64_t id); /* NULL: not known */

/* match.c: a rank joins a communicator; announces a collective; and what has waited for latecomers. */
void tutti_court_comm_joined(tutti_judge *judge, int rank, tutti_frame *frame);
void tutti_court_collective(tutti_judge *judge, int rank, tutti_record *record);
void tutti_court_match_tick(tutti_judge *judge);
/* At the end: reports a collective that some member has never announced; false: there is none. */
bool tutti_court_unmatched(tutti_judge *judge);
/* World ranks that have not announced a collective: how many; `missing` has room for all. */
int tutti_court_missing(tutti_judge *judge, uint64_t comm, uint64_t sequence, int *missing);
void tutti_court_comms_free(tutti_judge *judge);

/* message.c: one end of a point-to-point message. */
void tutti_court_message(tutti_judge *judge, int rank, tutti_frame *frame);
void tutti_court_messages_free(tutti_judge *judge);

/* hang.c */
void tutti_court_blocked(tutti_judge *judge, int rank, tutti_frame *frame);
void tutti_court_unblocked(tutti_judge *judge, int rank, int64_t thread);
void tutti_court_hang_tick(tutti_judge *judge);
void tutti_court_stop_free(tutti_stop *stop);

/* report.c: text for people, in pieces; sent to stderr as a whole. */
typedef struct tutti_report {
    char *text;
    size_t length, capacity;
} tutti_report;
void tutti_report_add(tutti_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "main (prog.c:12)" of a site of a rank. */
void tutti_report_site(tutti_report *report, tutti_judge *judge, int rank, int site);
/* "MPI_COMM_WORLD", "the communicator of MPI_Comm_split at main (prog.c:7)". */
void tutti_report_comm(tutti_report *report, tutti_judge *judge, uint64_t id);
/* "rank 3", "ranks 0, 2-5". */
void tutti_report_ranks(tutti_report *report, const int *ranks, int count);
/* Writes it and frees it. */
void tutti_report_write(tutti_report *report);
/* Writes it as the error of the run, and ends all ranks. */
void tutti_report_error(tutti_judge *judge, tutti_report *report);

#endif
