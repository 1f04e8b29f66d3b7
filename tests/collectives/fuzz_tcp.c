/* A connection whose other end sends damaged frames: fuzz_tcp [ITERATIONS]. A transport with messages posted reads
 * a stream of frames that fit, of which some are damaged or come in any order, in pieces of any length, and noise.
 * Whatever comes, its messages end when the connection breaks, and a receive changes no byte outside of its data. Also
 * greetings of random bytes. */
#include "collectives/transport/tcp.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ITERATIONS = 20000,
    LANES = 2,
    TAGS = 4,
    POSTED = 6,
    SIZE = 300,
    EARLY = 200,
    STREAM = 1 << 12
};

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static uint64_t roll(dice *d, uint64_t bound)
{
    return tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

/* A frame, mostly a right one. */
static size_t draw_frame(dice *d, unsigned char *to)
{
    static const uint64_t sizes[] = {0, 1, 100, SIZE, SIZE + 1, 1 << 18, (1 << 18) + 1};
    tutti_tcp_frame f = {.kind = (tutti_tcp_kind)roll(d, TUTTI_TCP_KINDS),
        .lane = (int)roll(d, LANES),
        .tag = (int)roll(d, TAGS),
        .bytes = roll(d, 4) ? sizes[roll(d, 4)] : sizes[roll(d, 7)]};
    if (!roll(d, 50)) f.bytes = UINT64_MAX >> roll(d, 64);
    if (!roll(d, 50)) f.place = 1 + roll(d, 1 << 20);
    if (f.kind >= TUTTI_TCP_PLACED && roll(d, 4)) f.bytes = roll(d, POSTED);
    tutti_tcp_frame_write(&f, to);
    size_t data = (f.kind == TUTTI_TCP_DATA || f.kind == TUTTI_TCP_EARLY) && f.bytes <= SIZE
                      ? (size_t)f.bytes
                      : 0;
    for (size_t i = 0; i < data; i++) to[TUTTI_TCP_HEADER_BYTES + i] = (unsigned char)i;
    if (!roll(d, 12)) to[roll(d, TUTTI_TCP_HEADER_BYTES)] ^= (unsigned char)(1 << roll(d, 8));
    return TUTTI_TCP_HEADER_BYTES + data;
}

static int fuzz_frames(dice *d)
{
    static unsigned char stream[STREAM + SIZE + TUTTI_TCP_HEADER_BYTES], ignored[1 << 16];
    unsigned char in[POSTED][SIZE + 2], out[SIZE] = {0};
    tutti_connection_message *m[2 * POSTED];
    tutti_connection *t;
    int ends[2], done, count = 0;
    size_t size[POSTED], bytes = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) return 1;
    const tutti_connection_options o = {
        .lanes = LANES, .tags = TAGS, .silence_s = 60, .early_bytes = roll(d, 2) ? EARLY : 0};
    if (tutti_connection_open(ends[0], &o, &t)) return 1;
    memset(in, 0xAB, sizeof in);
    for (int i = 0; i < POSTED; i++) {
        int lane = (int)roll(d, LANES), tag = (int)roll(d, TAGS);
        size[i] = roll(d, 3) ? SIZE : roll(d, SIZE);
        tutti_connection_irecv(t, lane, tag, in[i], size[i], &m[count++]);
        if (!roll(d, 6)) tutti_connection_cancel(t, m[count - 1]);
        tutti_connection_isend(t, lane, tag, out, size[i], &m[count++]);
    }
    for (int frames = 1 + (int)roll(d, 12); frames-- && bytes < STREAM;)
        bytes += draw_frame(d, stream + bytes);
    for (size_t sent = 0; sent < bytes;) {
        size_t piece = 1 + roll(d, bytes - sent);
        ssize_t n = send(ends[1], stream + sent, piece, MSG_NOSIGNAL);
        if (n < 0) break; /* the transport has broken off */
        sent += (size_t)n;
        tutti_connection_pass(t);
        while (recv(ends[1], ignored, sizeof ignored, MSG_DONTWAIT) > 0) continue;
    }
    close(ends[1]);
    tutti_connection_pass(t);
    int failures = !tutti_connection_broken(t);
    for (int i = 0; i < count; i++) {
        tutti_connection_test(m[i], &done);
        failures += !done;
    }
    for (int i = 0; i < POSTED; i++)
        for (size_t k = size[i]; k < SIZE + 2; k++) failures += in[i][k] != 0xAB;
    tutti_connection_close(t);
    return failures;
}

static void fuzz_greeting(dice *d)
{
    unsigned char bytes[TUTTI_TCP_GREETING_BYTES];
    tutti_tcp_greeting g = {.version = TUTTI_TCP_VERSION};
    for (size_t i = 0; i < TUTTI_TCP_TOKEN_BYTES; i++) g.token[i] = 'x';
    tutti_tcp_greeting_write(&g, bytes);
    for (uint64_t n = roll(d, 20); n--;) bytes[roll(d, sizeof bytes)] = (unsigned char)roll(d, 256);
    tutti_tcp_greeting_read(bytes, &g);
    (void)strlen(g.token); /* ends */
}

int main(int argc, char **argv)
{
    long iterations = argc > 1 ? atol(argv[1]) : ITERATIONS;
    uint64_t seed = testing_seed(5);
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (long i = 0; i < iterations; i++) {
        dice d = {.seed = seed, .iteration = (uint64_t)i};
        int failures = fuzz_frames(&d);
        fuzz_greeting(&d);
        if (failures) {
            printf("iteration %ld: %d failures\n", i, failures);
            return 1;
        }
    }
    return 0;
}
