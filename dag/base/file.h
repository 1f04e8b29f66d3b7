/* Every file that Tutti writes.
 *
 * A file that is replaced as a whole or not at all:
 *
 *   begin -> write* -> end          written as PATH.<16 random hex digits>.part, then
 *                                   synced, verified, the earlier one kept, renamed, its folder synced
 *
 * and one that grows while it is written (stream). Both follow a link given as PATH, and write beside
 * what it leads to: the link stays. A link that another user has put into a folder that everybody may
 * write to is refused. The part's name cannot be guessed, and it must be new: nothing that somebody
 * has put there is written through. What is not a regular file is never replaced.
 *
 * Earlier files: with keep N, PATH becomes PATH.1, PATH.1 becomes PATH.2 and so on up to PATH.N. PATH
 * itself is there at every moment, unless the file system knows no hard links.
 *
 * What keeps two programs from writing one file is dag/base/lock.h.
 *
 * Errors are IO, logged with `what` ("checkpoint"), the path and the reason. Threads: [A], each file
 * on one. */
#ifndef TUTTI_FILE_H
#define TUTTI_FILE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct tutti_file_options {
    const char *what, *path; /* borrowed until end */
    int keep;                /* how many earlier files are kept */
    int anew; /* PATH and PATH.1, PATH.2 ... are another run's: they go when the new one is there */
    int unsynced; /* it may be lost when the machine goes down, and nobody waits for the disk */
    int lenient;  /* failures are logged as warnings */
    tutti_status (*verify)(const char *part); /* what else must be right (it logs); or NULL */
} tutti_file_options;

typedef struct tutti_file {
    tutti_file_options options;
    int fd;
    int error; /* errno of the first write that failed; set it to make end give up */
    char *path, *part;
} tutti_file;

tutti_status tutti_file_begin(const tutti_file_options *options, tutti_file *file);
/* A failure is kept, and comes out of end. */
void tutti_file_write(tutti_file *file, const void *data, size_t bytes);
/* Puts it into its place when everything could be written and is verified; otherwise removes the
 * part, and a file that was there before stays. */
tutti_status tutti_file_end(tutti_file *file);
/* begin, one write and end. */
tutti_status tutti_file_put(const tutti_file_options *options, const void *data, size_t bytes);

/* A file that others may read while it grows. An earlier one of some bytes is kept as `keep` says;
 * with `append` it is continued instead, behind its last whole line of JSON. A pipe, a terminal and whatever
 * else is no file is opened as it is. */
tutti_status tutti_file_stream(const tutti_file_options *options, int append, FILE **stream);

/* Whether stream opens it as it is. */
int tutti_file_is_device(const char *path);
/* Where a path leads to, links followed; the caller frees it. NOMEM. */
tutti_status tutti_file_target(const tutti_file_options *options, char **target);
/* Whether two paths name one file that is there. */
int tutti_file_same(const char *a, const char *b);
/* "PATH.n"; the caller frees it. NULL: no memory. */
char *tutti_file_earlier(const char *path, int n);
/* PATH.n takes the place of PATH, which becomes PATH.damaged when it is there. */
tutti_status tutti_file_restore(const tutti_file_options *options, int n);
/* Removes the parts of a target that programs which were killed have left. Only for who knows that
 * nobody else writes it: see dag/base/lock.h. */
void tutti_file_sweep(const char *target);
/* A name for a part of this target: "TARGET.<16 random hex digits>.part"; the caller frees it. NULL:
 * no memory. */
char *tutti_file_part(const char *target);

#endif
