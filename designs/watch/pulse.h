/* Whether the process of a rank that does not answer runs, as far as this host can see: each rank sends the
 * others its identity once, and /proc shows what became of it. A process on another host, or in another
 * container, cannot be seen. [A] */
#ifndef TUTTI_PULSE_H
#define TUTTI_PULSE_H

#include "designs/watch/stall.h"

#include <stdint.h>

enum { TUTTI_PULSE_HOST = 128 };

/* Who a process is. */
typedef struct tutti_pulse_id {
    int64_t pid, started;        /* when, as /proc counts; pid 0: it is not known */
    char host[TUTTI_PULSE_HOST]; /* of the kernel that runs now, and of the space of its numbers */
} tutti_pulse_id;

/* This process. */
tutti_pulse_id tutti_pulse_self(void);
/* What became of `other`, seen from `self`. */
tutti_pulse tutti_pulse_of(const tutti_pulse_id *self, const tutti_pulse_id *other);

#endif
