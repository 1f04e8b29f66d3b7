/* A cache of schedules, keyed by what they depend on, so that a steady state builds none. Not
 * locked. */
#ifndef TUTTI_CACHE_H
#define TUTTI_CACHE_H

#include "collectives/sched/sched.h"

typedef struct tutti_cache tutti_cache;

typedef struct tutti_cache_entry {
    struct tutti_cache_entry *next;
    tutti_sched_builder build;
    tutti_sched *sched;
    int users; /* flights; an entry with users is never evicted */
} tutti_cache_entry;

tutti_status tutti_cache_new(tutti_cache **cache);
void tutti_cache_free(tutti_cache *cache); /* accepts NULL; no entry may have users */
/* The schedule of this builder and shape, built if missing; the caller counts as a user until
 * drop. */
tutti_status tutti_cache_get(tutti_cache *cache, tutti_sched_builder build,
    const tutti_sched_shape *shape, tutti_cache_entry **entry);
void tutti_cache_drop(tutti_cache_entry *entry); /* accepts NULL */

#endif
