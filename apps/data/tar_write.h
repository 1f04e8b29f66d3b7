/* Writes the entries of an uncompressed tar file, in GNU's format: names of more than 100 bytes and
 * files of 8 GiB and more have what POSIX's ustar lacks, and every tar of today reads them. Entries
 * are regular files that all may read; owner, group and time are the same in every entry, so that
 * equal files give equal bytes.
 *
 * Errors: NOMEM (logged). Threads: [A], one thread per buffer.
 * Source: GNU tar's manual, "Basic Tar Format". */
#ifndef TUTTI_TAR_WRITE_H
#define TUTTI_TAR_WRITE_H

#include "apps/data/bytes.h"
#include "apps/data/tar.h"
#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes at the end of a file that tell that it is whole. */
enum { TUTTI_TAR_END = 2 * TUTTI_TAR_BLOCK };

/* Appends a whole entry: the blocks that name it, its contents, zeros up to a block's end. */
tutti_status tutti_tar_append(
    tutti_bytes *to, const char *name, const void *contents, size_t count);
tutti_status tutti_tar_append_end(tutti_bytes *to);

/* The header of a file of this size; a longer name than 100 bytes is cut. [P] */
void tutti_tar_header(const char *name, int64_t bytes, uint8_t block[TUTTI_TAR_BLOCK]);

#endif
