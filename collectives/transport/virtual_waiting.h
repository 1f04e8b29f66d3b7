/* Messages in virtual time that wait for their other side, by key. [M] */
#ifndef TUTTI_VIRTUAL_WAITING_H
#define TUTTI_VIRTUAL_WAITING_H

#include "collectives/transport/transport.h"

/* One side of a message. What every event needs is in one line of the cache: large simulations wait for memory. */
enum { TUTTI_VIRTUAL_LINE = 64 };
struct tutti_message {
    _Alignas(TUTTI_VIRTUAL_LINE) tutti_message *partner;
    int *news; /* set when it ends; or NULL. Then the watcher is called */
    const tutti_watcher *watcher;
    size_t bytes;
    int from, to, lane, tag; /* from TUTTI_ANY_RANK: of a receive */
    unsigned char phase, sends;
    unsigned char used;        /* 0: it is free */
    unsigned char waits;       /* is in the list of its key */
    unsigned char busy;        /* the world still needs it */
    unsigned char ended, gone; /* for its poster; and its poster needs it no more */
    unsigned char copied;      /* a send's data is a copy, of what is really there */
    tutti_status status;
    void *data;
    tutti_message *next, *before; /* in the list of its key, or of those that are free */
    uint64_t number;              /* of messages that were posted before */
};

/* Messages of one key that wait for the other side, oldest first: all sends, or all receives. from TUTTI_ANY_RANK:
 * receives from any rank, and the sends for them. */
typedef struct tutti_virtual_waiting {
    int from, to, lane, tag; /* lane -1: an empty slot */
    tutti_message *first, *last;
} tutti_virtual_waiting;

/* By key, with open addressing; keys stay. */
typedef struct tutti_virtual_table {
    tutti_virtual_waiting *slot;
    size_t slots, used; /* slots: a power of two */
    uint64_t any;       /* bit l: there is a key from any rank on lane l, or l + 64, ... */
} tutti_virtual_table;

/* Those with the key of a message. NULL: no memory. */
tutti_virtual_waiting *tutti_virtual_waiting_for(
    tutti_virtual_table *table, const tutti_message *message);
void tutti_virtual_append(tutti_virtual_waiting *waiting, tutti_message *message);
void tutti_virtual_remove(tutti_virtual_waiting *waiting, tutti_message *message);

#endif
