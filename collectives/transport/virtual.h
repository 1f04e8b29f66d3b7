/* A transport in virtual time: all ranks of a simulation are in one thread, and messages travel over the links of a
 * topology (collectives/links/flows.h) on a clock that only tutti_virtual_next moves.
 *
 *   open all ranks -> { what can be done now, on the ranks concerned -> next }* -> close all -> free
 *
 * Payload is not there: buffers are addresses that no rank may read (tutti_virtual_payload; args.memory
 * is TUTTI_MEMORY_DEVICE), and the transport's arithmetic takes time and computes nothing. Messages between other
 * addresses are copied when they have arrived: those steer the system.
 *
 * A message takes a moment of the sender's time, travels, and takes a moment of the receiver's. One of more than the
 * eager limit of the sender's kind first asks the receiver, once both sides have posted it. A rank does one thing at a
 * time of what takes its own time, in the order in which that begins: these moments, and local steps. As in
 * collectives/sched/price.h, but here ranks do what the engine and all above it decide.
 *
 * What happens is a function of the calls alone: events of one instant come in the order in which they were made.
 * Threads: one for a world and all its transports. */
#ifndef TUTTI_TRANSPORT_VIRTUAL_H
#define TUTTI_TRANSPORT_VIRTUAL_H

#include "collectives/links/topology.h"
#include "collectives/transport/transport.h"

typedef struct tutti_virtual_world tutti_virtual_world;

/* The first `ranks` ranks of a topology, which is finished and outlives the world. INVAL: ranks < 1, or more than there
 * are. NOMEM. */
tutti_status tutti_virtual_world_new(
    const tutti_topology *topology, int ranks, tutti_virtual_world **world);
/* Every transport over it must have been closed. Accepts NULL. */
void tutti_virtual_world_free(tutti_virtual_world *world);

/* This rank's end; borrows the world. INVAL: rank or lanes out of range. NOMEM. */
tutti_status tutti_transport_virtual(
    tutti_virtual_world *world, int rank, int lanes, tutti_transport **transport);

/* The address of payload, of any rank and up to a TiB: no rank reads it, so that all buffers may have the same.
 * Touching it ends the process. */
void *tutti_virtual_payload(const tutti_virtual_world *world);

/* Seconds since the world began. */
double tutti_virtual_now(const tutti_virtual_world *world);
/* Lets a rank be among those concerned at this time, which is not before now. NOMEM. */
tutti_status tutti_virtual_wake_at(tutti_virtual_world *world, double at_s, int rank);
/* When anything will happen; HUGE_VAL: nothing will. NOMEM. */
tutti_status tutti_virtual_when(tutti_virtual_world *world, double *at_s);
/* Moves the clock to the next time at which anything happens, and lets that happen. *rank: the ranks concerned, each
 * once, in order; valid until the next call. *ranks: how many; 0: nothing will ever happen. NOMEM. */
tutti_status tutti_virtual_next(tutti_virtual_world *world, const int **rank, int *ranks);
/* Whether a rank is concerned now because watched messages (tutti_transport_ops.watch) or local steps have ended, and
 * for nothing else. */
int tutti_virtual_only_flights(const tutti_virtual_world *world, int rank);

/* From now on messages end with COMM, those under way and later ones: for a simulation that cannot end otherwise. */
void tutti_virtual_break(tutti_virtual_world *world);

/* What has happened so far. */
typedef struct tutti_virtual_account {
    int64_t messages, events; /* messages: that have begun to travel */
    double sent_bytes;        /* of these */
} tutti_virtual_account;
tutti_virtual_account tutti_virtual_totals(const tutti_virtual_world *world);
/* The capacity of the topology that has been used most, of its rate times the time so far; -1: none has. */
int tutti_virtual_busiest(const tutti_virtual_world *world, double *share);

#endif
