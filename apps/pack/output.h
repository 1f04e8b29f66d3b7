/* The files of a split: shards, each put in place when it is whole (tar), or one file with its
 * index, whose parts are synced now and then (records). After either, the manifest says where to
 * continue. Threads: [M]. */
#ifndef TUTTI_PACK_OUTPUT_H
#define TUTTI_PACK_OUTPUT_H

#include "apps/pack/item.h"
#include "apps/pack/manifest.h"

typedef struct tutti_pack_output tutti_pack_output;

/* Goes on where the manifest says; its pointer is borrowed. records: one file and an index.
 * shard_bytes: how large a shard becomes, or how much is written between two syncs. IO, FORMAT
 * (logged), NOMEM. */
tutti_status tutti_pack_output_open(const char *out, int records, int64_t shard_bytes,
    tutti_pack_manifest *manifest, tutti_pack_output **output);
/* Writes the image at manifest->place, and moves that on; an item without bytes is listed. IO
 * (logged): the disk is full, say. */
tutti_status tutti_pack_output_put(tutti_pack_output *output, const tutti_pack_item *item);
/* The split is complete: the next one is the manifest's. */
tutti_status tutti_pack_output_end(tutti_pack_output *output);
/* Leaves what a later run continues with, and nothing else. After end, or without it. */
void tutti_pack_output_close(tutti_pack_output *output);

#endif
