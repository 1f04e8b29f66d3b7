/* Regular files read at any offset, with messages that name the file, the place, and what to do.
 *
 * pread rather than mmap: a file that shrinks or fails under a running training is an error at its
 * record, not a signal. Nothing but a regular file is opened (a pipe or device would block).
 * Threads: open/close [M]; the rest [A]. */
#ifndef TUTTI_DATA_FILE_H
#define TUTTI_DATA_FILE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_data_file {
    char *path; /* owned; NULL: not open */
    int fd;
    int64_t bytes; /* size when opened */
} tutti_data_file;

/* A path put together as printf would, on the heap; NULL when memory runs out. */
char *tutti_path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens `path` and takes a copy of it. IO (logged, with the reason) when it is missing, unreadable
 * or no regular file. */
tutti_status tutti_data_file_open(const char *path, tutti_data_file *file);
/* Exactly `bytes` bytes from `offset`. FORMAT (logged) when the file ends before, IO when reading
 * fails. */
tutti_status tutti_data_file_read(
    const tutti_data_file *file, int64_t offset, void *to, size_t bytes);
/* Accepts a zeroed file. */
void tutti_data_file_close(tutti_data_file *file);

/* Looks at a file without a word: its size, or -1 when there is no regular file of this name; 0
 * when it cannot be read. The first `bytes` bytes go to `head`, zeros where the file is shorter. */
int64_t tutti_data_file_peek(const char *path, void *head, size_t bytes);

/* OK when `path` is a folder that can be listed and holds something. IO (logged) otherwise. */
tutti_status tutti_folder_check(const char *path);

#endif
