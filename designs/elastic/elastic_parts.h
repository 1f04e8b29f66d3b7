/* The internals of a tutti_elastic: elastic_open.c, elastic_calls.c (what the training thread calls), elastic_thread.c
 * (its thread), elastic_members.c (the connections, and what the machine says to do), elastic_door.c (who connects),
 * elastic_mesh.c (the connections of an epoch; elastic_data.c: those that have come). */
#ifndef TUTTI_ELASTIC_PARTS_H
#define TUTTI_ELASTIC_PARTS_H

#include "designs/elastic/control.h"
#include "designs/elastic/elastic.h"
#include "designs/elastic/keeper.h"
#include "designs/elastic/words.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ELASTIC_MEMBERS = 2 * TUTTI_MEMBERSHIP_MOST };

/* A control connection. */
typedef struct elastic_member {
    int used, cut, suspected;
    int64_t id;
    double cut_s; /* cut: when it closes at the latest */
    tutti_elastic_control control;
} elastic_member;

/* A connection for collectives that has come before this rank needs it. */
typedef struct elastic_data {
    int socket; /* -1: none */
    int64_t epoch, from;
} elastic_data;

/* To be connected to. */
typedef struct elastic_call {
    int used;
    int64_t id; /* -1: the rank that answers at that address */
    double next_s, answered_s; /* answered_s: the last answer, or when it began */
    double until_s;            /* when it is given up at the latest */
    char address[TUTTI_MEMBERSHIP_ADDRESS];
} elastic_call;

struct tutti_elastic {
    tutti_elastic_options options; /* without its pointers */
    tutti_membership first;        /* n 0: this rank is a newcomer */
    char token[TUTTI_TCP_TOKEN_BYTES + 1], contact[TUTTI_MEMBERSHIP_ADDRESS];
    tutti_tcp_listener *door;
    tutti_elastic_keeper keeper;
    int wakeup;              /* an eventfd: written when the thread has to look again */
    double until_s;          /* until then, the first ranks connect */
    pthread_t thread, caller;
    int threads; /* how many have started */
    /* Protects all below. */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the training thread, and for the caller */
    int stop;               /* the threads end */
    int opened;             /* the machine is */
    tutti_membership_machine machine;
    elastic_member member[ELASTIC_MEMBERS];
    elastic_call call[ELASTIC_MEMBERS];
    elastic_data data[ELASTIC_MEMBERS];
    /* ---- between the threads ---- */
    int inside;   /* the training thread is in an epoch */
    int wants;    /* the machine wants it to leave: 1 gently, 2 at once */
    int has_next; /* an epoch to enter: */
    tutti_membership next, entered;
    atomic_int broken; /* the connections of the epoch that was entered break */
    int64_t valid;     /* newer snapshots are void; -1: none is */
    int over;          /* the run is, here: 1 finished, 2 stopped, because */
    char why[TUTTI_MEMBERSHIP_WHY];
    char later[TUTTI_MEMBERSHIP_WHY]; /* why the last connection was put off */
};

/* lock is held in all of these. */

/* ---- elastic_members.c ---- */

extern const tutti_membership_acts tutti_elastic_acts;
/* The thread looks again. lock need not be held. */
void tutti_elastic_wake(const tutti_elastic *e);
/* That of a rank which is not cut; NULL: there is none. */
elastic_member *tutti_elastic_find(tutti_elastic *e, int64_t id);
/* Takes over the socket. held: until tutti_elastic_release, nothing is written. NULL: there are too many. */
elastic_member *tutti_elastic_add(tutti_elastic *e, int64_t id, int socket, int held);
void tutti_elastic_release(tutti_elastic *e, elastic_member *m);
void tutti_elastic_remove(elastic_member *m);
/* Nothing more goes to this member; it is removed when it has closed, too. */
void tutti_elastic_cut(elastic_member *m);
/* Reads what has come, and reports ends and silence. */
void tutti_elastic_read_members(tutti_elastic *e, double now_s);
void tutti_elastic_stop(tutti_elastic *e, const char *why);
tutti_membership_hello tutti_elastic_hello(const tutti_elastic *e);
/* Asks the caller to connect. */
void tutti_elastic_call(tutti_elastic *e, int64_t id, const char *address);

/* ---- elastic_door.c ---- */

void tutti_elastic_accept(tutti_elastic *e);
/* The thread that connects, because that blocks. */
void *tutti_elastic_run_caller(void *e);

/* ---- elastic_data.c ---- */

/* Keeps a connection for collectives until the training thread takes it. 0: it is not wanted, or not yet. */
int tutti_elastic_keep_data(tutti_elastic *e, int64_t epoch, int64_t from, int socket);
/* -1: it has not come. */
int tutti_elastic_take_data(tutti_elastic *e, int64_t epoch, int64_t from);
/* Those of epochs before this one. */
void tutti_elastic_drop_data(tutti_elastic *e, int64_t epoch);

/* ---- elastic_thread.c ---- */

/* Opens the machine: of a newcomer at once, else when the first ranks are connected. */
void tutti_elastic_begin(tutti_elastic *e);
void *tutti_elastic_run(void *e);
#endif
