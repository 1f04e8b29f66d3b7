/* Two connections through shared memory, in one thread, for the tests of shared memory. */
#ifndef TUTTI_TEST_SHARED_PAIR_H
#define TUTTI_TEST_SHARED_PAIR_H

#include "collectives/transport/shm.h"
#include "collectives/transport/tcp_frame.h"
#include "tests/support/testing.h"

#include <math.h>
#include <string.h>

enum { RING = 1 << 12, LARGE = 1 << 20, ARENA = 1 << 23 };

static const tutti_shm_options memory = {.rings = 1, .ring_bytes = RING, .arena_bytes = ARENA};
static const tutti_connection_options through = {
    .lanes = 1, .tags = 4, .silence_s = INFINITY, .early_bytes = 256};

static tutti_shm *shared[2];
static tutti_connection *a, *b;

static inline void open_pair(void)
{
    for (int e = 0; e < 2; e++) ck_assert_ok(tutti_shm_create(&memory, &shared[e]));
    ck_assert_ok(tutti_shm_connect(shared[0], 0, shared[1], 0, &through, &a));
    ck_assert_ok(tutti_shm_connect(shared[1], 0, shared[0], 0, &through, &b));
}

static inline void close_pair(void)
{
    tutti_connection_close(a);
    tutti_connection_close(b);
    for (int e = 0; e < 2; e++) tutti_shm_close(shared[e]);
}

static inline void fill(unsigned char *data, size_t bytes, unsigned salt)
{
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(salt * 31 + i * 7 + (i >> 8));
}

static inline int is_filled(const unsigned char *data, size_t bytes, unsigned salt)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != (unsigned char)(salt * 31 + i * 7 + (i >> 8))) return 0;
    return 1;
}

/* Memory of end e. */
static inline unsigned char *take(int e, size_t bytes)
{
    void *at;
    ck_assert_ok(tutti_shm_take(shared[e], bytes, &at));
    memset(at, 0xEE, bytes);
    return at;
}

static inline int has_ended(tutti_connection_message *m, tutti_status wanted)
{
    int done;
    ck_assert_int_eq(tutti_connection_test(m, &done), wanted);
    return done;
}

/* Small messages that fill the ring of a connection to its last byte. Returns how many. */
static inline int fill_ring(tutti_connection *c, int tag, tutti_connection_message *m[])
{
    static const unsigned char out[256];
    int count = 0;
    for (size_t left = RING; left; count++) {
        size_t bytes = left - TUTTI_TCP_HEADER_BYTES;
        if (bytes > sizeof out)
            bytes = left - sizeof out < 3 * (size_t)TUTTI_TCP_HEADER_BYTES ? 128 : sizeof out;
        ck_assert_ok(tutti_connection_isend(c, 0, tag, out, bytes, &m[count]));
        left -= TUTTI_TCP_HEADER_BYTES + bytes;
    }
    return count;
}

#endif
