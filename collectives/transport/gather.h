/* An allgather over a transport, before its first collective. */
#ifndef TUTTI_GATHER_H
#define TUTTI_GATHER_H

#include "collectives/transport/transport.h"

/* Gathers `bytes` bytes of each rank into all[], in the order of ranks, on every rank. All ranks call it,
 * with nothing in flight; it takes the transport's lock while it needs it. TIMEOUT (logged): some rank
 * has not called it within timeout_s. COMM. */
tutti_status tutti_transport_gather(
    tutti_transport *transport, const void *mine, size_t bytes, void *all, double timeout_s);

#endif
