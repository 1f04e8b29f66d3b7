/* Every file that Tutti writes.
 *
 * A file is replaced as a whole or not at all:
 *
 *   begin -> write* -> end      written as PATH.<16 random hex digits>.part, then synced and
 *                               verified, the earlier one kept, renamed, its folder synced
 *
 * or it grows while it is written (stream). Both follow a symbolic link given as PATH and write
 * beside its target, so the link stays. A link that another user has put into a world-writable
 * folder is refused. The part's name cannot be guessed and must be new, so nothing that somebody
 * has put there is written through. Anything but a regular file is never replaced.
 *
 * Earlier files: with keep N, PATH becomes PATH.1, PATH.1 becomes PATH.2 and so on up to PATH.N.
 * PATH itself exists at every moment, unless the file system has no hard links.
 *
 * dag/base/lock.h keeps two programs from writing one file.
 *
 * Errors are IO, logged with `what` ("checkpoint"), the path and the reason. Threads: [A], one
 * thread per file. */
#ifndef TUTTI_FILE_H
#define TUTTI_FILE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tutti_file_options {
    const char *what, *path; /* borrowed until end */
    int keep;                /* how many earlier files are kept */
    int anew; /* earlier files are another run's: remove PATH.1, PATH.2 ... once PATH is verified */
    int unsynced; /* it may be lost when the machine crashes; nothing waits for the disk */
    int secret;   /* only its owner may read it */
    int lenient;  /* failures are logged as warnings */
    tutti_status (*verify)(const char *part); /* checks the contents (and logs); may be NULL */
} tutti_file_options;

typedef struct tutti_file {
    tutti_file_options options;
    int fd;
    int error; /* errno of the first failed write; set it to make end give up */
    char *path, *part;
} tutti_file;

tutti_status tutti_file_begin(const tutti_file_options *options, tutti_file *file);
/* A failure is kept for end to return. */
void tutti_file_write(tutti_file *file, const void *data, size_t bytes);
/* Puts the file in place if everything was written and verified; otherwise removes the part, and
 * the file that was there before stays. */
tutti_status tutti_file_end(tutti_file *file);
/* Gives up without a word: removes the part. */
void tutti_file_drop(tutti_file *file);
/* begin, one write and end. */
tutti_status tutti_file_put(const tutti_file_options *options, const void *data, size_t bytes);

/* A file that takes so long that a program which is killed has to continue it: its part is
 * PATH.part, and stays.
 *
 *   begin_at 0 -> { write* -> sync }* -> end
 *   begin_at N -> ...                          N: how much there was at a sync
 *
 * Bytes behind the N-th are cut off. FORMAT (logged): the part is shorter than that. end removes a
 * part that could not be written; keep closes it instead, and leaves it. */
tutti_status tutti_file_begin_at(const tutti_file_options *options, int64_t n, tutti_file *file);
tutti_status tutti_file_sync(tutti_file *file);
void tutti_file_keep(tutti_file *file);

/* A file that others may read while it grows. An earlier one that is not empty is kept as `keep`
 * says; with `append` it is continued instead, after its last whole line of JSON. A pipe, a
 * terminal or another device is opened as it is. */
tutti_status tutti_file_stream(const tutti_file_options *options, int append, FILE **stream);

/* Whether stream opens the path as it is. */
int tutti_file_is_device(const char *path);
/* The target of a path, links followed; the caller frees it. NOMEM. */
tutti_status tutti_file_target(const tutti_file_options *options, char **target);
/* Whether two paths name one existing file. */
int tutti_file_same(const char *a, const char *b);
/* "PATH.n"; the caller frees it. NULL: no memory. */
char *tutti_file_earlier(const char *path, int n);
/* PATH.n replaces PATH, which becomes PATH.damaged if it exists. */
tutti_status tutti_file_restore(const tutti_file_options *options, int n);
/* Calls see with the path of each part of a target that is there. */
void tutti_file_each_part(
    const char *target, void (*see)(const void *ctx, const char *path), const void *ctx);
/* Removes the parts of a target that killed programs have left. Only for a caller that knows that no
 * other process writes the target: see dag/base/lock.h. */
void tutti_file_sweep(const char *target);
/* NAME in the user's folder for what can be made again: "$XDG_CACHE_HOME/tutti/NAME", where that is
 * an absolute path, or else "$HOME/.cache/tutti/NAME". Creates the folders, as far as it can; the
 * caller frees it. NULL: there is no such folder, or no memory. */
char *tutti_file_in_cache(const char *name);
/* A name for a part of this target: "TARGET.<16 random hex digits>.part"; the caller frees it.
 * NULL: no memory. */
char *tutti_file_part(const char *target);

#endif
