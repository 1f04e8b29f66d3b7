/* Labels of images against the folders that their names are in. Shards that were made of a folder for
 * each class keep these folders in their names: an image whose label is not that of nearly all others in
 * its folder has a wrong one, or is in the wrong folder. Where folders mean something else, their images
 * have many labels, and nothing is found. Threads: [A], one thread per object. */
#ifndef TUTTI_SHARD_FOLDERS_H
#define TUTTI_SHARD_FOLDERS_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* An image; folder: a hash of its name. */
typedef struct tutti_shard_place {
    uint64_t folder;
    int64_t offset;
    int32_t shard, label;
} tutti_shard_place;

/* Zeroed before its first use. */
typedef struct tutti_shard_folders {
    tutti_shard_place *list;
    size_t count, room;
} tutti_shard_folders;

/* A key without a folder is not noted. NOMEM (logged). */
tutti_status tutti_shard_folders_add(
    tutti_shard_folders *folders, const char *key, int32_t label, int32_t shard, int64_t offset);
/* How many images contradict their folder; *one: one of them. The list is in another order after. */
int64_t tutti_shard_folders_find(tutti_shard_folders *folders, tutti_shard_place *one);
void tutti_shard_folders_free(tutti_shard_folders *folders);

#endif
