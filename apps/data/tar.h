/* Reads the entries of an uncompressed tar file one after the other, so that their contents can
 * later be read at their offset. Known are POSIX's formats (ustar, and pax with its long names and
 * sizes) and GNU's (long names, large numbers, sparse files, which are named as such). Nothing is
 * trusted that the file's size contradicts.
 *
 * Errors: FORMAT (logged), with the file, the offset and what to do; IO. Threads: [A].
 * Source: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar's manual, "Basic Tar Format". */
#ifndef TUTTI_TAR_H
#define TUTTI_TAR_H

#include "apps/data/file.h"
#include "dag/base/status.h"

#include <stdint.h>

/* As long as a path of Linux can be. */
enum { TUTTI_TAR_NAME = 4096 };

typedef struct tutti_tar_entry {
    char name[TUTTI_TAR_NAME];
    int64_t header;        /* where it begins */
    int64_t offset, bytes; /* of the contents; they are inside the file */
    char type;  /* '0': a plain file; otherwise as the header has it, 'S': it is sparse */
    int joined; /* a mark of the end is before it: archives were joined, as by cat */
} tutti_tar_entry;

/* Finds the next entry that is not a folder. *at: where to look, 0 at first; moved on. *found 0: no entry
 * is left; *at is then where the last mark of the end begins, and no entry follows. */
tutti_status tutti_tar_next(
    const tutti_data_file *file, int64_t *at, tutti_tar_entry *entry, int *found);

/* Whether the first bytes of a file are a tar header. [P] */
enum { TUTTI_TAR_BLOCK = 512 };
int tutti_tar_recognise(const uint8_t block[TUTTI_TAR_BLOCK]);

#endif
