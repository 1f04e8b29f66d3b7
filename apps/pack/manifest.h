/* OUT/tutti-pack.txt: with what settings the shards were made, of what, and how far it is. A run
 * that was interrupted continues from there; --check finds the checksums of shards in it. Lines:
 *
 *   tutti-pack 1
 *   format=webdataset           the settings that make a difference
 *   ...
 *   source=0123456789abcdef     origin.h
 *   at SPLIT PLACE NUMBER BYTES INDEX IMAGES      where to continue; SPLIT: train, val or done
 *   file NAME BYTES IMAGES HASH                   whole files; XXH3
 *   left out: SPLIT: NAME: WHY
 *
 * Threads: [M]. */
#ifndef TUTTI_PACK_MANIFEST_H
#define TUTTI_PACK_MANIFEST_H

#include "apps/data/bytes.h"
#include "apps/train/hash.h"
#include "dag/base/status.h"

#include <stdint.h>

#define TUTTI_PACK_MANIFEST "tutti-pack.txt"

enum { TUTTI_PACK_TRAIN, TUTTI_PACK_VAL, TUTTI_PACK_DONE };

typedef struct tutti_pack_manifest {
    char *path;
    int split;                     /* which is next */
    int64_t place, number;         /* of the next image and of the next shard, in that split */
    int64_t bytes, index;          /* of a record file and its index, as far as they are synced */
    int64_t images;                /* that they have */
    int64_t left_out, packed;      /* in all */
    tutti_bytes head, files, left; /* text, in lines */
} tutti_pack_manifest;

/* settings: text as of tutti_conf_text. Reads OUT's manifest, or begins one if the folder is empty
 * but for a lock. FORMAT (logged): it is damaged, or another run's; the folder has something else
 * in it. IO, NOMEM. */
tutti_status tutti_pack_manifest_open(
    const char *out, const char *settings, const char *source, tutti_pack_manifest *manifest);
void tutti_pack_manifest_close(tutti_pack_manifest *manifest);

tutti_status tutti_pack_manifest_add(tutti_pack_manifest *manifest, const char *name, int64_t bytes,
    int64_t images, const char *hash);
tutti_status tutti_pack_manifest_leave_out(tutti_pack_manifest *manifest, const char *fault);
/* Replaces the file as a whole, and syncs it. */
tutti_status tutti_pack_manifest_save(tutti_pack_manifest *manifest);

/* What the manifest beside a shard says of it: 1 and its bytes and hash, or 0: nothing. */
int tutti_pack_manifest_find(const char *shard, int64_t *bytes, char hash[TUTTI_HASH_TEXT]);

#endif
