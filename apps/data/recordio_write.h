/* Writes records of MXNet's RecordIO, as its im2rec does: one label, and the image's file as it is.
 * recordio_read.h describes the format.
 *
 * Errors: NOMEM; FORMAT for an image that no record can hold (both logged). Threads: [A], one
 * thread per buffer. */
#ifndef TUTTI_RECORDIO_WRITE_H
#define TUTTI_RECORDIO_WRITE_H

#include "apps/data/bytes.h"
#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Appends a record; id: the key of its line in the index. */
tutti_status tutti_recordio_append(
    tutti_bytes *to, int32_t label, uint64_t id, const void *image, size_t count);

/* A line of the index: the record with this id begins at `offset`. Returns its length. [P] */
enum { TUTTI_RECORDIO_LINE = 48 };
int tutti_recordio_line(uint64_t id, int64_t offset, char line[TUTTI_RECORDIO_LINE]);

#endif
