/* What a shard holds, as far as it was read: every image is decoded. tar_check.h and
 * recordio_check.h read the shards. Threads: [A], one thread per tally. */
#ifndef TUTTI_SHARD_TALLY_H
#define TUTTI_SHARD_TALLY_H

#include "apps/data/decode.h"
#include "apps/data/file.h"
#include "apps/data/source.h"
#include "dag/base/status.h"

#include <stdint.h>

typedef struct tutti_shard_tally {
    int64_t images, others; /* others: files that belong to no image */
    int classes;            /* that images have */
    int32_t least, most;    /* labels */
    tutti_sample sample;    /* the image that is looked at */
    uint8_t *seen;          /* of each label: whether an image has it */
    tutti_decoder *decoder;
} tutti_shard_tally;

/* NOMEM. */
tutti_status tutti_shard_tally_open(tutti_shard_tally *tally);
void tutti_shard_tally_close(tutti_shard_tally *tally);

/* Decodes the image whose bytes are in `sample`, and counts it. FORMAT (logged) with the file, the
 * offset and what is wrong. */
tutti_status tutti_shard_take(
    tutti_shard_tally *tally, const tutti_data_file *file, int64_t offset, int32_t label);

#endif
