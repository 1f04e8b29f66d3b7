/* libfabric as a network (interconnect.h): a receive into registered memory lends it to the sender, whose network card,
 * or provider, writes the message there; then the frame PLACED says so (tcp_frame.h). Frames and all other data are
 * messages of the same endpoint, which arrive after what was written before them (FI_ORDER_SAW). So the order of
 * connection.h is that of shared memory (shm.h), and no end copies a large message.
 *
 *   socket       how the two know each other's endpoint, and that the other process is there
 *   endpoint     one a connection: packets of frames and data; what the other end writes to this one's memory
 *
 * Progress is made in passes alone: nothing is written to this process's memory by another thread, unless a
 * network card does. A network uses the interface of the first socket it is given. It must be trusted: who knows a
 * key can write. */
#ifndef TUTTI_FABRIC_H
#define TUTTI_FABRIC_H

#include "collectives/transport/interconnect.h"

typedef struct tutti_fabric_options {
    /* libfabric's name; NULL: TUTTI_FABRIC_PROVIDER, else verbs;ofi_rxm if there is one, else tcp;ofi_rxm */
    const char *provider;
    size_t most_bytes; /* that may be registered at once; 0: as many as the provider can */
    double lost_s;     /* what was sent for so long, and has not arrived, is lost; 0: 30 */
} tutti_fabric_options;

/* UNSUPPORTED (logged): this build or this machine has no libfabric, or the machine no provider; USAGE (logged): not
 * the one named. options NULL: all are NULL or 0. */
tutti_status tutti_fabric_open(const tutti_fabric_options *options, tutti_interconnect **network);
/* How many bytes are registered. */
size_t tutti_fabric_registered(tutti_interconnect *network);
/* Why this build has none; NULL: it has. [P] */
const char *tutti_fabric_lacks(void);

#endif
