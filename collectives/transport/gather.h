/* What ranks tell each other before the first collective of a transport. */
#ifndef TUTTI_GATHER_H
#define TUTTI_GATHER_H

#include "collectives/transport/transport.h"

/* Writes what each rank tells, `bytes` of each, into all[], in the order of ranks, the same on every
 * rank. All ranks call it, with nothing in flight; it takes the transport's lock while it needs it.
 * TIMEOUT (logged): some have not come within timeout_s. COMM. */
tutti_status tutti_transport_gather(
    tutti_transport *transport, const void *mine, size_t bytes, void *all, double timeout_s);

#endif
