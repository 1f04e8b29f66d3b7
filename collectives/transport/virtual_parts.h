/* The internals of a world in virtual time: virtual_message.c (messages: how sends and receives match, how far they
 * are), virtual_arithmetic.c (local steps), and virtual_world.c (worlds, and what happens next). */
#ifndef TUTTI_VIRTUAL_PARTS_H
#define TUTTI_VIRTUAL_PARTS_H

#include "collectives/links/events.h"
#include "collectives/links/flows.h"
#include "collectives/transport/virtual.h"
#include "collectives/transport/virtual_waiting.h"
#include "dag/base/log.h"

#include <stdlib.h>

/* Address space for payload: nothing of it is ever there. */
static const size_t TUTTI_VIRTUAL_PAYLOAD_BYTES = (size_t)1 << 40;

/* What an event is about: one of these. */
typedef struct tutti_virtual_subject {
    tutti_message *message;
    tutti_local_step *step;
    int rank; /* who is woken */
    int next; /* of the list of unused ones */
} tutti_virtual_subject;

/* What concerns a rank. */
enum { TUTTI_VIRTUAL_FLIGHTS = 1, TUTTI_VIRTUAL_MORE = 2 };

/* A rank's own. */
typedef struct tutti_virtual_place {
    double free_s; /* when its own time is free again */
    int concerned; /* by FLIGHTS: watched messages and local steps; by MORE than that; 0: it is not */
} tutti_virtual_place;

typedef struct tutti_virtual_slab tutti_virtual_slab;

struct tutti_virtual_world {
    const tutti_topology *topology;
    int ranks;
    double now_s;
    tutti_flows *flows;
    tutti_events events; /* what: a subject */
    tutti_virtual_subject *subject;
    int subjects, subject_room, unused;
    tutti_message **of_flow;
    int flow_room;
    tutti_virtual_table table;
    tutti_virtual_slab *slab;   /* memory of messages */
    tutti_message *spare;       /* messages that are free */
    tutti_virtual_place *place; /* [ranks] */
    int *concerned, concerns;
    char *payload;
    int broken;
    uint64_t posted; /* sides of messages so far */
    tutti_virtual_account account;
};

typedef struct tutti_virtual_transport {
    tutti_transport base;
    tutti_virtual_world *world;
} tutti_virtual_transport;

typedef struct tutti_virtual_arithmetic {
    tutti_arithmetic base;
    tutti_virtual_world *world;
    int rank;
} tutti_virtual_arithmetic;

/* ---- who is concerned, and when ---- */

static inline void tutti_virtual_concern(tutti_virtual_world *w, int rank, int by)
{
    if (!w->place[rank].concerned) w->concerned[w->concerns++] = rank;
    w->place[rank].concerned |= by;
}

static inline tutti_status tutti_virtual_add_event(
    tutti_virtual_world *w, double at_s, tutti_virtual_subject s)
{
    int number = w->unused;
    if (number >= 0) {
        w->unused = w->subject[number].next;
    } else {
        if (w->subjects == w->subject_room) {
            int room = w->subject_room ? 2 * w->subject_room : 256;
            tutti_virtual_subject *larger = realloc(w->subject, (size_t)room * sizeof *larger);
            if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d events", room);
            w->subject = larger;
            w->subject_room = room;
        }
        number = w->subjects++;
    }
    w->subject[number] = s;
    return tutti_events_add(&w->events, at_s, number);
}

/* Uses a rank's own time from now on, or from when it is free. Returns when that ends. */
static inline double tutti_virtual_use_time(tutti_virtual_world *w, int rank, double for_s)
{
    if (!(for_s > 0)) return w->now_s;
    if (w->place[rank].free_s < w->now_s) w->place[rank].free_s = w->now_s;
    return w->place[rank].free_s += for_s;
}

static inline int tutti_virtual_is_payload(const tutti_virtual_world *w, const void *address)
{
    const char *a = address;
    return a >= w->payload && a < w->payload + TUTTI_VIRTUAL_PAYLOAD_BYTES;
}

/* ---- virtual_message.c ---- */

extern const tutti_transport_ops tutti_virtual_ops;
/* The event of a message: its sender's moment has passed, or its receiver's. NOMEM. */
tutti_status tutti_virtual_advance(tutti_virtual_world *w, tutti_message *send);
/* Its flow has ended. NOMEM. */
tutti_status tutti_virtual_end_flow(tutti_virtual_world *w, tutti_message *send);
/* Calls the watchers of all messages. */
void tutti_virtual_raise_all(const tutti_virtual_world *w);
void tutti_virtual_free_messages(tutti_virtual_world *w);

/* ---- virtual_arithmetic.c ---- */

extern const tutti_arithmetic_ops tutti_virtual_arithmetic_ops;
void tutti_virtual_end_step(tutti_local_step *step);

#endif
