/* The membership of a run at work: one thread of each rank has a connection to each other rank, a door for newcomers,
 * and a clock; it drives the state machine (designs/membership/membership.h). The thread that trains asks here which
 * epoch it is in.
 *
 *     open -> { enter -> train; look before each step -> end what is under way }* -> finish -> close
 *
 *     while (!(status = tutti_elastic_enter(e, newest, before, &epoch))) {
 *         restore epoch.snapshot; tutti_elastic_mesh(e, lanes, &mesh); open an exchange over the mesh
 *         train until the end, or until look says LEAVE, or a collective fails
 *         close the exchange
 *         at the end: tutti_elastic_finish(e, &finished); finished: leave the loop
 *     }
 *     tutti_elastic_close(e)
 *
 * A rank is lost for certain when its control connection has ended in order (designs/elastic/control.h), and suspected
 * when that is silent for silence_s, or was reset. Of a process that is killed, its keeper closes the connections in
 * order (designs/elastic/keeper.h).
 *
 * Every wait has a deadline. A rank that was stopped (SIGSTOP) reads what others had sent meanwhile before it
 * judges their silence.
 *
 * Threads: each call is [M], but look, which is [A]. */
#ifndef TUTTI_ELASTIC_H
#define TUTTI_ELASTIC_H

#include "collectives/lasting.h"
#include "collectives/transport/tcp.h"
#include "collectives/transport/transport.h"
#include "dag/base/status.h"
#include "designs/membership/membership.h"

typedef struct tutti_elastic tutti_elastic;

typedef struct tutti_elastic_options {
    tutti_tcp_listener *door;      /* taken over, also on failure */
    const char *token;             /* of the run: that of the door, and of all others; copied */
    const tutti_membership *first; /* epoch 1; NULL: this rank is a newcomer */
    tutti_membership_entry self;   /* in `first`, or new; address: "HOST:PORT" of the door */
    const char *contact;           /* of a newcomer: the address of a member; copied */
    uint64_t run, options;         /* as in tutti_membership_hello */
    int least, most;               /* how many ranks may train */
    double settle_s, ack_s;        /* as in tutti_membership_options */
    double
        join_s; /* how long a newcomer waits until it is connected to all, and the first ranks for each other */
    double silence_s; /* a rank that says nothing for so long is suspected */
    /* The ranks of an epoch are connected by this MPI; each one's number is its rank there, and none comes later. NULL:
     * by connections of their own. Borrowed */
    tutti_lasting *lasting;
} tutti_elastic_options;

/* Returns at once: enter waits. To be called early: it forks a process, for which the kernel keeps what is in memory
 * now (designs/elastic/keeper.h). USAGE, INVAL, NOMEM (logged). */
tutti_status tutti_elastic_open(const tutti_elastic_options *options, tutti_elastic **elastic);

/* Nothing of an epoch is under way: waits for the next one, which begins from its snapshot; snapshots that are newer
 * are void. newest, before: the two snapshots that this rank has; -1: none.
 * COMM (logged): this rank has to stop, and may only close. */
tutti_status tutti_elastic_enter(
    tutti_elastic *elastic, int64_t newest, int64_t before, tutti_membership *epoch);

/* Which rank of an epoch has this id; -1: none. [P] */
int tutti_elastic_rank(const tutti_membership *epoch, int64_t id);
/* How many ranks of an epoch another one lacks. [P] */
int tutti_elastic_lacking(const tutti_membership *of, const tutti_membership *in);

/* A transport of the ranks of the epoch that was entered, numbered in their order: new connections for each epoch, so
 * that messages of two epochs never meet. When the epoch has to end at once (LEAVE), they break. The caller closes it
 * before it enters the next one. COMM, TIMEOUT (logged): the epoch ends, or a rank was not reached; enter then says
 * what comes. */
tutti_status tutti_elastic_mesh(tutti_elastic *elastic, int lanes, tutti_transport **mesh);

typedef enum tutti_elastic_wish {
    TUTTI_ELASTIC_STAY,
    TUTTI_ELASTIC_HALT, /* all ranks are there: to stop before the same step, and to enter then */
    TUTTI_ELASTIC_LEAVE /* a rank is lost, or the run is over: collectives of this epoch may not end; to enter */
} tutti_elastic_wish;
tutti_elastic_wish tutti_elastic_look(tutti_elastic *elastic);

/* After collectives have failed: waits for a loss, which is noticed at the latest when a rank has been silent.
 * 0: no rank is lost. */
int tutti_elastic_await_loss(tutti_elastic *elastic);
/* The epoch has fewer than `least` ranks, which do not train: waits until it ends. As after a snapshot, others are
 * taken in at once. is_asked: this rank is to stop waiting. COMM (logged): no other rank has come within join_s. */
tutti_status tutti_elastic_await_others(tutti_elastic *elastic, int least, int64_t newest,
    int64_t before, int (*is_asked)(const void *ctx), const void *ctx);
/* This rank has made a snapshot. Newcomers are taken in now. */
void tutti_elastic_snapshot(tutti_elastic *elastic, int64_t newest, int64_t before);
/* This rank has come to the end of the run: waits for the others. *finished 0: the epoch has ended before, and this
 * rank is to enter the next one. COMM as above. */
tutti_status tutti_elastic_finish(tutti_elastic *elastic, int *finished);
/* Leaves: for the others this rank is lost for certain, unless all have finished. Accepts NULL. */
void tutti_elastic_close(tutti_elastic *elastic);

#endif
