/* A run of tutti-pack: from a data set to shards. */
#ifndef TUTTI_PACK_H
#define TUTTI_PACK_H

#include "apps/pack/item.h"

typedef struct tutti_pack_plan {
    const char *from, *to;
    const char *settings; /* as text: a run that continues must have the same */
    tutti_pack_recipe recipe;
    int64_t shard_bytes;
    int shuffled;
    uint64_t seed;
    int threads;
} tutti_pack_plan;

/* Packs what is not packed yet, and says so. *interrupted: the signal that ended it early, or 0.
 * Errors, all logged: IO, FORMAT, USAGE, UNSUPPORTED, NOMEM; INTERRUPTED. [M] */
tutti_status tutti_pack_run(const tutti_pack_plan *plan, int *interrupted);

#endif
