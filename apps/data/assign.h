/* Deals shards among ranks, each of which reads only what is on its own disk. [P] */
#ifndef TUTTI_DATA_ASSIGN_H
#define TUTTI_DATA_ASSIGN_H

#include "apps/data/bytes.h"
#include "apps/data/folder.h"

#include <stdint.h>

/* Appends a rank's list: each name with the size of its file in the folder. A shard is known by both,
 * so that files of one name on different disks may be different shards. NOMEM (logged). */
tutti_status tutti_shard_list(const char *folder, const tutti_names *names, tutti_bytes *list);

/* Keeps the names that this rank reads. list[r]: that of rank r; `names`: of this rank. In the order
 * of names each shard goes to the rank that has it and has been assigned the fewest, the first of
 * several: every shard to exactly one rank, which each rank finds out alone. *without: the first rank
 * that gets none, or -1. *shards: how many there are. NOMEM (logged). */
tutti_status tutti_assign_shards(const tutti_bytes list[], int ranks, int rank, tutti_names *names,
    int *without, int64_t *shards);

#endif
