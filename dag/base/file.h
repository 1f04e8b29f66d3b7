/* A file that is replaced as a whole or not at all: written beside its place as "PATH.part", synced,
 * renamed, and its folder synced.
 *
 *   begin -> write* -> end
 *
 * Errors are IO, logged with `what` ("checkpoint"), the path and the reason. Threads: [A], each file
 * on one. */
#ifndef TUTTI_FILE_H
#define TUTTI_FILE_H

#include "dag/base/status.h"

#include <stddef.h>

typedef struct tutti_file {
    int fd;
    int error;               /* errno of the first write that failed */
    const char *what, *path; /* borrowed */
    char *part;
} tutti_file;

/* Whether begin would succeed: makes the part, empty, and removes it. */
tutti_status tutti_file_probe(const char *what, const char *path);
tutti_status tutti_file_begin(const char *what, const char *path, tutti_file *file);
/* A failure is kept, and comes out of end. */
void tutti_file_write(tutti_file *file, const void *data, size_t bytes);
/* Puts it into its place when everything could be written; otherwise removes the part, and a file
 * that was there before stays. */
tutti_status tutti_file_end(tutti_file *file);

#endif
