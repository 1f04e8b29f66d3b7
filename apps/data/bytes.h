/* Bytes in memory that grow at their end. Threads: [A], one thread per object. */
#ifndef TUTTI_DATA_BYTES_H
#define TUTTI_DATA_BYTES_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed before its first use; with count 0 its memory is used again. */
typedef struct tutti_bytes {
    uint8_t *bytes;
    size_t count, room;
} tutti_bytes;

/* data NULL: zeros. NOMEM (logged); then nothing is appended. */
tutti_status tutti_bytes_append(tutti_bytes *to, const void *data, size_t count);
void tutti_bytes_free(tutti_bytes *bytes);

#endif
