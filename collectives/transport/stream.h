/* What a connection travels on: bytes to the other end and back, in their order, over a socket (stream_socket.c), in
 * memory that two processes share (shm.c), or over libfabric (fabric_stream.c). Not locked: one thread at a time. */
#ifndef TUTTI_STREAM_H
#define TUTTI_STREAM_H

#include "dag/base/status.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { TUTTI_STREAM_WHY = 400 };

typedef struct tutti_stream tutti_stream;

typedef struct tutti_stream_ops {
    /* How many bytes were written or read; 0: none can be now; -1: it is broken, and `why` says so. */
    ssize_t (*write)(tutti_stream *s, const struct iovec *part, int parts);
    ssize_t (*read)(tutti_stream *s, void *to, size_t most);
    /* Whether the other end's process has ended: what it had written can still be read. NULL: read finds out. */
    int (*is_dead)(tutti_stream *s, double now_s);
    /* Whether a read would find anything, or, if `writes`, a write make room; asked before `file` is waited for. NULL:
     * the file says so, or it can only be tried. */
    int (*is_ready)(const tutti_stream *s, int writes);
    /* `bytes` bytes or more come next: poll(2) need not say before that it can be read, unless the stream holds no
     * more. NULL: it always does. */
    void (*expect)(tutti_stream *s, size_t bytes);
    /* Where the other end finds this memory, if it can write to it; 0: it cannot. It is lent until it is taken back.
     * NULL: never. */
    uint64_t (*lend)(tutti_stream *s, const void *data, size_t bytes);
    void (*take_back)(tutti_stream *s, uint64_t place);
    /* The other end's memory at a place that it has lent; NULL: it has none there. */
    void *(*reach)(tutti_stream *s, uint64_t place, size_t bytes);
    /* For places that are not memory here, instead of reach. finds: whether the other end has lent this one. put:
     * writes to it, `at` bytes behind its begin. It adds one to *under_way, and a later call takes that away when the
     * data, which stay until then, are not read any more. The other end has them before what is written to the stream
     * after this. Returns 1; 0: not now; -1: it is broken. */
    int (*finds)(const tutti_stream *s, uint64_t place, size_t bytes);
    int (*put)(
        tutti_stream *s, uint64_t place, size_t at, const void *data, size_t bytes, int *under_way);
    void (*shut)(tutti_stream *s); /* nothing more is written */
    void (*close)(tutti_stream *s);
} tutti_stream_ops;

struct tutti_stream {
    const tutti_stream_ops *ops;
    int socket; /* poll(2) says whether it can be read and written; -1: there is none */
    int wakes;  /* what comes wakes who sleeps in memory (shm.h) */
    int file; /* to sleep on in poll(2), until it can be read, or, if it is the socket, written; -1: there is none */
    char why[TUTTI_STREAM_WHY]; /* why it is broken, as a predicate: "has closed the connection" */
};

/* Takes over the socket, also on failure. NOMEM. */
tutti_status tutti_stream_socket(int socket, tutti_stream **stream);

#endif
