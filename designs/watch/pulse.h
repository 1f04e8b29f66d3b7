/* Whether the process of a silent rank runs, as far as this host can see: each rank sends the
 * others its identity once, and /proc shows the state of that process. A process on another host,
 * or in another container, cannot be seen. [A] */
#ifndef TUTTI_PULSE_H
#define TUTTI_PULSE_H

#include "designs/watch/stall.h"

#include <stdint.h>

enum { TUTTI_PULSE_HOST = 128 };

/* Who a process is. */
typedef struct tutti_pulse_id {
    int64_t pid, started;        /* start time, in the unit of /proc; pid 0: unknown */
    char host[TUTTI_PULSE_HOST]; /* identifies the kernel's boot and the PID namespace */
} tutti_pulse_id;

/* This process. */
tutti_pulse_id tutti_pulse_self(void);
/* The state of `other`, as seen from `self`. */
tutti_pulse tutti_pulse_of(const tutti_pulse_id *self, const tutti_pulse_id *other);

#endif
