/* The membership of a run: which ranks there are, while some die and others come. A pure state machine: each rank has
 * one, which receives events, and calls the program. It neither sends, nor waits, nor reads a clock.
 *
 *     rank 2 dies        0 and 1 see it; 0 has the least id of those that live: it is the coordinator
 *     0 -> 1             PROPOSE epoch 8, the list {0, 1}, after settle_s
 *     0, 1               leave epoch 7: what is under way ends; then ACK, with their newest snapshots
 *     0 -> 1             COMMIT epoch 8: snapshot 840, the newest that both have
 *     0, 1               enter epoch 8
 *
 * LAW: no rank submits a collective of epoch e + 1 before COMMIT(e + 1), nor one of epoch e after its ACK of a later
 * epoch. So collectives of two epochs never meet.
 *
 * A death while the list is being decided begins the next epoch; so does that of the coordinator: the next one takes
 * over, and takes lists that may have been committed into account. A rank ACKs epochs in ascending order only.
 *
 * NO SPLIT BRAIN: evidence of a loss is certain or not (tutti_membership_lost). A rank ACKs a list only if, of the
 * last list that it knows to be committed, and of each list that it has ACKed since, the ranks that are left out are
 * certainly dead, or the list has more than half. Each rank judges by its own evidence. Where neither holds, the
 * coordinator stops. Who commits a list says OUT first to those that are not in it; these stop.
 *
 * A newcomer says hello at the door of each member (tutti_membership_admit), and of each newcomer before it, but waits
 * for none of these that dies. It is a guest until it is connected to all. The coordinator takes guests in at its next
 * snapshot, or together with the next loss, however late that is. Until then the run notices nothing.
 *
 * At the end of the run each rank reports that to the coordinator, and leaves when all have (tutti_membership_finish).
 *
 * Every wait has a deadline: tutti_membership_due. Nothing is ordered but messages from one rank to another. What
 * comes from an older epoch, or from a rank that was given up, is dropped. doc/designs.md ("Membership") has the
 * argument, tests/designs/test_membership.c explores it, tests/models/promela/membership.pml is its model.
 *
 * Threads: one at a time for a machine; different machines are [P]. A machine is a value: it may be copied. */
#ifndef TUTTI_MEMBERSHIP_H
#define TUTTI_MEMBERSHIP_H

#include "dag/base/status.h"
#include "designs/membership/message.h"

/* An epoch: the ranks in the order of their ids. Those that are fresh do not have the snapshot. */
typedef struct tutti_membership {
    int64_t epoch, snapshot; /* snapshot: its step; newer ones are void */
    int n;
    tutti_membership_entry entry[TUTTI_MEMBERSHIP_MOST];
} tutti_membership;

/* What the machine says to do; none of these may call it. They are called in the order in which they have to happen. */
typedef struct tutti_membership_acts {
    void *ctx;
    /* Copies the message. */
    void (*send)(void *ctx, int64_t to, const tutti_membership_message *message);
    /* Ends the collectives of this epoch, and then calls tutti_membership_left. gently: all ranks are there, and may
     * stop before the same step; it may be said again without. */
    void (*leave)(void *ctx, int64_t epoch, int gently);
    /* Restores the snapshot, and trains with these ranks. */
    void (*enter)(void *ctx, const tutti_membership *next);
    /* A newcomer: connects to the door of this rank, as a guest; then tutti_membership_connected, or _lost. */
    void (*connect)(void *ctx, const tutti_membership_entry *to);
    /* Closes the connection to a rank that is not in the epoch, after all messages to it. */
    void (*cut)(void *ctx, int64_t id);
    /* The end: this rank submits nothing any more; why: a sentence. */
    void (*stop)(void *ctx, const char *why);
    /* The end: all have finished. */
    void (*finish)(void *ctx);
} tutti_membership_acts;

typedef struct tutti_membership_options {
    const tutti_membership *first; /* epoch 1; NULL: this rank is a newcomer */
    tutti_membership_entry self;   /* in `first`, or new */
    uint64_t run, options;         /* as in tutti_membership_hello */
    int least, most;               /* how many ranks may train, at least and at most */
    double settle_s;               /* how long the coordinator waits for more losses */
    double ack_s;                  /* how long a rank may take to leave an epoch */
    double join_s; /* how long a newcomer waits until it is connected to all of a list */
} tutti_membership_options;

enum { TUTTI_MEMBERSHIP_PENDING = 16, TUTTI_MEMBERSHIP_WHY = 256 };

typedef enum tutti_membership_phase {
    TUTTI_MEMBERSHIP_NEW,       /* a newcomer */
    TUTTI_MEMBERSHIP_QUIET,     /* in an epoch */
    TUTTI_MEMBERSHIP_WAITING,   /* a rank is lost: for the coordinator's proposal */
    TUTTI_MEMBERSHIP_SETTLING,  /* coordinator: for more losses */
    TUTTI_MEMBERSHIP_PROPOSING, /* coordinator: for ACKs */
    TUTTI_MEMBERSHIP_FOLLOWING, /* leaves, or waits for COMMIT */
    TUTTI_MEMBERSHIP_ENDED
} tutti_membership_phase;

/* A list that was proposed: a set of places in the machine's table. */
typedef struct tutti_membership_list {
    int64_t epoch, proposer;
    uint64_t members;
} tutti_membership_list;

/* Read only by those who call the functions below. */
typedef struct tutti_membership_machine {
    tutti_membership_phase phase;
    int self;                       /* its place */
    int64_t epoch;                  /* that it has entered; 0: none */
    int64_t promised;               /* it ACKs later epochs only */
    int64_t highest;                /* that it has seen */
    int64_t next;                   /* below, ids are used up */
    tutti_membership_list base;     /* the last list that it knows to be committed */
    tutti_membership_list proposal; /* its own, or the one that it follows */
    tutti_membership_list
        pending[TUTTI_MEMBERSHIP_PENDING]; /* ACKed since, and perhaps committed */
    int pendings;
    int leaving, left;                   /* leaving: 1 gently, 2 at once */
    int acked, refused;                  /* the proposal that it follows */
    uint64_t used, gone, silent, guests; /* places */
    uint64_t linked, asked,
        view;                 /* a newcomer: connected to, connecting to, should be connected to */
    uint64_t acks, finishers; /* at the coordinator */
    int64_t id[TUTTI_MEMBERSHIP_MOST];
    uint64_t reach[TUTTI_MEMBERSHIP_MOST]; /* of guests: whom they are connected to */
    int64_t newest[TUTTI_MEMBERSHIP_MOST], before[TUTTI_MEMBERSHIP_MOST];
    double now_s, due_s;
    char address[TUTTI_MEMBERSHIP_MOST][TUTTI_MEMBERSHIP_ADDRESS];
    tutti_membership_options options; /* without `first` */
    tutti_membership_acts acts;
} tutti_membership_machine;

/* Opens a machine. Of the first ranks, it has entered epoch 1 and says so (enter). USAGE, INVAL (logged). */
tutti_status tutti_membership_open(tutti_membership_machine *machine,
    const tutti_membership_options *options, const tutti_membership_acts *acts, double now_s);

/* ---- events ---- */

/* Time passes: to be called at tutti_membership_due, or later. */
void tutti_membership_tick(tutti_membership_machine *machine, double now_s);
/* When tick has to be called; INFINITY: not at all. */
double tutti_membership_due(const tutti_membership_machine *machine);
void tutti_membership_receive(
    tutti_membership_machine *machine, int64_t from, const tutti_membership_message *message);
/* A rank is lost. certain: it acts no more, and all that it had sent to this rank was received: its end has closed the
 * connection in order. Not certain: it is silent, or the connection broke in another way, even if its parent has seen
 * it exit, because an OUT may be lost. */
void tutti_membership_lost(tutti_membership_machine *machine, int64_t id, int certain);

typedef enum tutti_membership_verdict {
    TUTTI_MEMBERSHIP_WELCOME, /* it is a guest: receive takes its messages from now on */
    TUTTI_MEMBERSHIP_REFUSED,
    TUTTI_MEMBERSHIP_LATER /* not now; or the rank connects to the newcomer itself */
} tutti_membership_verdict;

/* A newcomer says hello at the door; why[]: the reason, unless it is welcome. */
tutti_membership_verdict tutti_membership_admit(tutti_membership_machine *machine,
    const tutti_membership_hello *hello, char why[TUTTI_MEMBERSHIP_WHY]);
/* A newcomer is connected to a rank: to the first one, whose address it was given, or to one that connect has named. */
void tutti_membership_connected(
    tutti_membership_machine *machine, const tutti_membership_entry *to);
/* This rank has made a snapshot. newest, before: the two that it has; -1: none. */
void tutti_membership_snapshot(tutti_membership_machine *machine, int64_t newest, int64_t before);
/* This rank has left its epoch: nothing of it is under way. */
void tutti_membership_left(tutti_membership_machine *machine, int64_t newest, int64_t before);
/* This rank has come to the end of the run. If the epoch ends before all have, it trains in the next one, and calls
 * this again there. */
void tutti_membership_finish(tutti_membership_machine *machine);

#endif
