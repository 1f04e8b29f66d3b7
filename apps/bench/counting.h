/* A transport that counts what goes through another one: messages and bytes that this rank sends.
 * What the MPI library's own collectives send does not go through it. Threads: as the inner one. */
#ifndef TUTTI_BENCH_COUNTING_H
#define TUTTI_BENCH_COUNTING_H

#include "collectives/transport/transport.h"

#include <stdint.h>

typedef struct tutti_traffic {
    int64_t messages, bytes;
} tutti_traffic;

/* Takes `inner` over, also on failure, and adds to *sent, which outlives it. NOMEM. */
tutti_status tutti_transport_counting(
    tutti_transport *inner, tutti_traffic *sent, tutti_transport **transport);

#endif
