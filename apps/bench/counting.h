/* A transport that counts the messages and bytes that this rank sends through another transport.
 * The MPI library's own collectives bypass it. Threads: as for the inner transport. */
#ifndef TUTTI_BENCH_COUNTING_H
#define TUTTI_BENCH_COUNTING_H

#include "collectives/transport/transport.h"

#include <stdint.h>

typedef struct tutti_traffic {
    int64_t messages, bytes;
} tutti_traffic;

/* Takes over `inner`, also on failure. Adds to *sent, which must outlive the transport. NOMEM. */
tutti_status tutti_transport_counting(
    tutti_transport *inner, tutti_traffic *sent, tutti_transport **transport);

#endif
