/* Which send meets which receive.
 *
 * Messages with the same sender, receiver, communicator and tag do not overtake each other: the
 * k-th send meets the k-th receive posted for that sender and tag, wildcards resolved. Each side
 * counts its own end and reports it to the judge, which compares the two. Nothing is reported when
 * several threads post (only MPI knows the order then), or after a cancelled message. [A] */
#ifndef TUTTI_MPICHECK_PAIRING_H
#define TUTTI_MPICHECK_PAIRING_H

#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/item.h"
#include "apps/mpicheck/signature.h"

#include <stdbool.h>

/* A send or receive is posted; `peer` and `tag` of a receive may be wildcards. Returns a receive's
 * number, for the calls below. */
uint64_t mpicheck_pairing_posted(const mpicheck_item *item, mpicheck_signature data);
/* The receive has matched a message from this sender (world rank) with this tag. */
void mpicheck_pairing_received(uint64_t number, int source, int tag);
/* From now on the pairing is uncertain, and nothing is reported. */
void mpicheck_pairing_lost(void);
/* Whether all sends and receives of this rank have been reported. */
bool mpicheck_pairing_is_certain(void);

#endif
