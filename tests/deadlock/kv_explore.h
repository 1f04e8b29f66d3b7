/* The explorer of cases of keys: schedules of a world (tests/deadlock/kv_world.h), all of them or
 * random ones, each judged.
 *
 * All schedules are explored depth first, as those of collectives are (tests/deadlock/explore.h),
 * with the same reduction: only steps that matter are choices, the others are taken at once. */
#ifndef TUTTI_DEADLOCK_KV_EXPLORE_H
#define TUTTI_DEADLOCK_KV_EXPLORE_H

#include "tests/deadlock/explore_case.h"
#include "tests/deadlock/kv_case.h"

/* As explore_case, of the case's keys. */
tutti_status kv_explore(const kv_case *c, const explore_options *options, explore_result *result);
/* Adds one random schedule. */
tutti_status kv_explore_random(const kv_case *c, uint64_t seed, explore_result *result);
/* A case drawn from a seed, which ends well: servers, clients and their workers, type, keys, the
 * order of calls, rounds that wait for pulls of the round before; clients that leave, or die and
 * return; keys in two copies, and servers that die. */
void kv_draw(uint64_t seed, kv_case *c);

#endif
