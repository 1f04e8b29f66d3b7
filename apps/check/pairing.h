/* Which send meets which receive.
 *
 * Messages of one sender, receiver, communicator and tag do not overtake: the k-th send meets the k-th of the
 * receives, in the order in which they were posted, that have turned out to be for it. Each side counts by
 * itself and tells the judge, who compares the two ends. Nothing is told when several threads post (the order
 * is then MPI's secret), or after a cancelled message. [A] */
#ifndef TUTTI_CHECK_PAIRING_H
#define TUTTI_CHECK_PAIRING_H

#include "apps/check/comms.h"
#include "apps/check/item.h"
#include "apps/check/signature.h"

/* A send or a receive is posted; `peer` and `tag` of a receive may be wildcards. Returns the number of a
 * receive, for the calls below. */
uint64_t tutti_pairing_posted(const tutti_item *item, tutti_signature data);
/* The receive has got a message of this sender (world rank) and tag. */
void tutti_pairing_received(uint64_t number, int source, int tag);
/* From now on nothing is known for certain. */
void tutti_pairing_lost(void);

#endif
