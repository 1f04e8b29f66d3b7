/* Regular files read at any offset, with messages that name the file, the place, and what to do.
 *
 * pread rather than mmap: a file that shrinks or fails during training is an error at its record,
 * not a signal. Only regular files are opened (a pipe or device would block).
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

/* A path formatted as by printf; the caller frees it. NULL: out of memory. */
char *tutti_path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens `path`, and copies the string. IO (logged, with the reason) if the file is missing,
 * unreadable or not a regular file. */
tutti_status tutti_data_file_open(const char *path, tutti_data_file *file);
/* Reads exactly `bytes` bytes from `offset`. FORMAT (logged) if the file ends earlier, IO if
 * reading fails. */
tutti_status tutti_data_file_read(
    const tutti_data_file *file, int64_t offset, void *to, size_t bytes);
/* Tells the system that small pieces will be read in no order, so that it reads nothing but them. */
void tutti_data_file_scattered(const tutti_data_file *file);
/* Accepts a zeroed file. */
void tutti_data_file_close(tutti_data_file *file);

/* Looks at a file without logging: returns its size, -1 if there is no regular file of this name, 0
 * if it cannot be read. Copies the first `bytes` bytes to `head`, padded with zeros. */
int64_t tutti_data_file_peek(const char *path, void *head, size_t bytes);

/* OK if `path` is a folder that can be listed and is not empty. IO (logged) otherwise. */
tutti_status tutti_folder_check(const char *path);

#endif
