/* A queue of events in time: the earliest first, and of one instant the one that was added first. [P] */
#ifndef TUTTI_LINKS_EVENTS_H
#define TUTTI_LINKS_EVENTS_H

#include "dag/base/status.h"

#include <stdint.h>

typedef struct tutti_timed_event {
    double at_s;
    uint64_t number; /* of events that were added before */
    int64_t what;    /* the caller's */
} tutti_timed_event;

typedef struct tutti_events {
    tutti_timed_event *heap;
    int n, room;
    uint64_t added;
} tutti_events;

/* All zero is an empty queue. NOMEM. */
tutti_status tutti_events_add(tutti_events *events, double at_s, int64_t what);
/* The time of the earliest one; HUGE_VAL: there is none. */
double tutti_events_next(const tutti_events *events);
/* Takes the earliest one if it is not after `until_s`, or returns 0. */
int tutti_events_take(tutti_events *events, double until_s, tutti_timed_event *event);
void tutti_events_free(tutti_events *events);

#endif
