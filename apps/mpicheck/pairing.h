/* Which send meets which receive.
 *
 * Messages of one sender, receiver, communicator and tag do not overtake: the k-th send meets the k-th of the
 * receives, in the order in which they were posted, that have turned out to be for it. Each side counts by
 * itself and tells the judge, who compares the two ends. Nothing is told when several threads post (the order
 * is then MPI's secret), or after a cancelled message. [A] */
#ifndef TUTTI_MPICHECK_PAIRING_H
#define TUTTI_MPICHECK_PAIRING_H

#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/item.h"
#include "apps/mpicheck/signature.h"

/* A send or a receive is posted; `peer` and `tag` of a receive may be wildcards. Returns the number of a
 * receive, for the calls below. */
uint64_t mpicheck_pairing_posted(const mpicheck_item *item, mpicheck_signature data);
/* The receive has got a message of this sender (world rank) and tag. */
void mpicheck_pairing_received(uint64_t number, int source, int tag);
/* From now on nothing is known for certain. */
void mpicheck_pairing_lost(void);

#endif
