/* Shared memory: receives into the arena, which the sender writes to, cancelled and given back at any moment; two
 * threads and two processes; what happens between the data and the word that they are there; memory that is too
 * small, another process's, or damaged. tests/collectives/test_tcp.c has the cases that all connections share. */
#include "collectives/transport/shm.h"
#include "collectives/transport/tcp_frame.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RING = 1 << 12, LARGE = 1 << 20, ARENA = 1 << 23 };

static const tutti_shm_options memory = {.rings = 1, .ring_bytes = RING, .arena_bytes = ARENA};
static const tutti_connection_options through = {
    .lanes = 1, .tags = 4, .silence_s = INFINITY, .early_bytes = 256};

static tutti_shm *shared[2];
static tutti_connection *a, *b;

static void open_pair(void)
{
    for (int e = 0; e < 2; e++) ck_assert_ok(tutti_shm_create(&memory, &shared[e]));
    ck_assert_ok(tutti_shm_connect(shared[0], 0, shared[1], 0, &through, &a));
    ck_assert_ok(tutti_shm_connect(shared[1], 0, shared[0], 0, &through, &b));
}

static void close_pair(void)
{
    tutti_connection_close(a);
    tutti_connection_close(b);
    for (int e = 0; e < 2; e++) tutti_shm_close(shared[e]);
}

static void fill(unsigned char *data, size_t bytes, unsigned salt)
{
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(salt * 31 + i * 7 + (i >> 8));
}

static int is_filled(const unsigned char *data, size_t bytes, unsigned salt)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != (unsigned char)(salt * 31 + i * 7 + (i >> 8))) return 0;
    return 1;
}

static unsigned char *take(int e, size_t bytes)
{
    void *at;
    ck_assert_ok(tutti_shm_take(shared[e], bytes, &at));
    memset(at, 0xEE, bytes);
    return at;
}

static int has_ended(tutti_connection_message *m, tutti_status wanted)
{
    int done;
    ck_assert_int_eq(tutti_connection_test(m, &done), wanted);
    return done;
}

/* ---- in one thread: every step in its order ---- */

START_TEST(is_written_in_place)
{
    static unsigned char out[LARGE];
    tutti_connection_message *s, *r;
    open_pair();
    unsigned char *in = take(1, LARGE);
    fill(out, LARGE, 1);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    if (!_i) ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    tutti_connection_pass(b);
    tutti_connection_pass(a);
    if (_i) { /* the credit is there first */
        ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
        tutti_connection_pass(a);
    }
    /* a message much larger than the ring has gone, and the receiver has done nothing for it */
    ck_assert(has_ended(s, TUTTI_OK));
    ck_assert(is_filled(in, LARGE, 1));
    ck_assert(!has_ended(r, TUTTI_OK)); /* it has not read the word yet */
    tutti_connection_pass(b);
    ck_assert(has_ended(r, TUTTI_OK));
    /* a credit is for one message */
    memset(in, 0xEE, LARGE);
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    tutti_connection_pass(a);
    ck_assert(!has_ended(s, TUTTI_OK));
    ck_assert_uint_eq(in[0], 0xEE);
    tutti_connection_cancel(a, s);
    ck_assert(has_ended(s, TUTTI_OK));
    tutti_shm_give(shared[1], in);
    ck_assert_uint_eq(tutti_shm_used(shared[1]), 0);
    close_pair();
}
END_TEST

/* When the receive is cancelled: before its message is sent, before its data are written, and after that. */
enum { BEFORE_THE_SEND, BEFORE_THE_DATA, AFTER_THE_DATA, MOMENTS };

START_TEST(is_cancelled)
{
    static unsigned char out[2][LARGE];
    tutti_connection_message *s[2], *r[2];
    open_pair();
    unsigned char *in = take(1, LARGE), *other = take(1, LARGE);
    for (int i = 0; i < 2; i++) fill(out[i], LARGE, (unsigned)i);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r[0]));
    if (_i == BEFORE_THE_DATA) ck_assert_ok(tutti_connection_isend(a, 0, 1, out[0], LARGE, &s[0]));
    if (_i == AFTER_THE_DATA) {
        tutti_connection_pass(b);
        ck_assert_ok(tutti_connection_isend(a, 0, 1, out[0], LARGE, &s[0]));
        tutti_connection_pass(a);
    }
    tutti_connection_cancel(b, r[0]);
    tutti_connection_cancel(b, r[0]);      /* once is enough */
    ck_assert(!has_ended(r[0], TUTTI_OK)); /* the sender may write to it */
    tutti_shm_give(shared[1], in);
    ck_assert_uint_eq(tutti_shm_used(shared[1]), 2 * LARGE);
    tutti_connection_pass(b);
    if (_i == AFTER_THE_DATA) ck_assert(has_ended(r[0], TUTTI_OK));
    tutti_connection_pass(a);
    tutti_connection_pass(b);
    if (_i != AFTER_THE_DATA) {
        ck_assert(has_ended(r[0], TUTTI_OK));
        ck_assert_uint_eq(tutti_shm_used(shared[1]), LARGE);
        ck_assert(in[0] == 0xEE && in[LARGE - 1] == 0xEE);
    }
    if (_i == BEFORE_THE_SEND) ck_assert_ok(tutti_connection_isend(a, 0, 1, out[0], LARGE, &s[0]));
    /* the memory has a new owner, and the next receive gets the next message */
    memset(in, 0xAB, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, other, LARGE, &r[1]));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out[1], LARGE, &s[1]));
    int sent = 0, got = 0;
    for (int i = 0; i < 5000 && !(sent == 2 && got); i++) {
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        if (sent < 2) sent += has_ended(s[sent], TUTTI_OK);
        if (!got) got = has_ended(r[1], TUTTI_OK);
    }
    ck_assert(sent == 2 && got);
    ck_assert(is_filled(other, LARGE, 1));
    for (size_t i = 0; i < LARGE; i++) ck_assert_uint_eq(in[i], 0xAB);
    ck_assert_ptr_null(tutti_connection_broken(a));
    close_pair();
}
END_TEST

/* A message that is written where it is received before it is sent. Its receive is cancelled never, while it is
 * written, when it has been written, and when it has been sent. */
enum { NEVER, WHILE_WRITTEN, WHEN_WRITTEN, WHEN_SENT, CLAIMS };

START_TEST(is_written_before_it_is_sent)
{
    static unsigned char spare[LARGE]; /* nobody reads it, unless the message goes through the ring */
    tutti_connection_message *s, *r, *cancelled;
    open_pair();
    unsigned char *in = take(1, LARGE);
    ck_assert_ptr_null(tutti_connection_claim(a, 0, 1, LARGE)); /* no credit */
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    tutti_connection_pass(b);
    tutti_connection_pass(a);
    ck_assert_ptr_null(tutti_connection_claim(a, 0, 2, LARGE));
    ck_assert_ptr_null(tutti_connection_claim(a, 0, 1, LARGE - 1)); /* of another size */
    unsigned char *there = tutti_connection_claim(a, 0, 1, LARGE);
    ck_assert_ptr_nonnull(there);
    ck_assert_ptr_null(tutti_connection_claim(a, 0, 1, LARGE)); /* once is enough */
    fill(there, LARGE / 2, 1);
    if (_i == WHILE_WRITTEN) tutti_connection_cancel(b, r);
    for (int k = 0; k < 2; k++) {
        tutti_connection_pass(b);
        tutti_connection_pass(a);
    }
    tutti_connection_pass(b);
    ck_assert(!has_ended(r, TUTTI_OK)); /* the memory is still written to */
    fill(there, LARGE, 1);
    tutti_connection_wrote(a, 0, 1);
    if (_i == WHEN_WRITTEN) {
        tutti_connection_cancel(b, r);
        tutti_connection_pass(b);
    }
    tutti_connection_pass(a);
    tutti_connection_pass(b);
    const int early = _i == WHILE_WRITTEN || _i == WHEN_WRITTEN;
    cancelled = r;
    if (early) ck_assert(has_ended(cancelled, TUTTI_OK));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, early ? spare : NULL, LARGE, &s));
    if (_i == WHEN_SENT) tutti_connection_cancel(b, r);
    int sent = 0;
    for (int k = 0; k < 5000 && !sent; k++) {
        tutti_connection_pass(b);
        tutti_connection_pass(a);
        sent = has_ended(s, TUTTI_OK);
    }
    tutti_connection_pass(b);
    ck_assert(sent);
    if (!early) ck_assert(has_ended(r, TUTTI_OK) && is_filled(in, LARGE, 1));
    ck_assert_uint_eq(tutti_connection_count(a).written_messages, !early);
    ck_assert_uint_eq(tutti_connection_count(a).moved_messages, 0); /* and nothing was copied */
    tutti_shm_give(shared[1], in);
    ck_assert_uint_eq(tutti_shm_used(shared[1]), 0);
    ck_assert_ptr_null(tutti_connection_broken(a));
    close_pair();
}
END_TEST

/* Who sends what is still written breaks the connection; either way its memory is never used again. */
START_TEST(breaks_while_it_is_written)
{
    tutti_connection_message *s, *r;
    open_pair();
    unsigned char *in = take(1, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    tutti_connection_pass(b);
    tutti_connection_pass(a);
    unsigned char *there = tutti_connection_claim(a, 0, 1, LARGE);
    ck_assert_ptr_nonnull(there);
    if (_i)
        tutti_connection_abandon(b, r);
    else
        ck_assert_int_eq(tutti_connection_isend(a, 0, 1, in, LARGE, &s), TUTTI_ERR_COMM);
    tutti_connection_pass(a);
    ck_assert_ptr_nonnull(tutti_connection_broken(a));
    fill(there, LARGE, 1);
    tutti_connection_wrote(a, 0, 1);
    ck_assert_ptr_null(tutti_connection_claim(a, 0, 1, LARGE));
    tutti_connection_pass(b);
    if (!_i) ck_assert(has_ended(r, TUTTI_ERR_COMM));
    tutti_shm_give(shared[1], in);
    ck_assert_uint_eq(tutti_shm_used(shared[1]), LARGE);
    close_pair();
}
END_TEST

/* Memory that is given back early is not taken again while the other end may write to it: never, if that is gone. */
START_TEST(is_given_back_early)
{
    static unsigned char out[LARGE];
    tutti_connection_message *s, *r;
    open_pair();
    unsigned char *in = take(1, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    tutti_shm_give(shared[1], in);
    unsigned char *next = take(1, LARGE);
    ck_assert_ptr_ne(next, in);
    if (_i) { /* it breaks */
        tutti_connection_abandon(b, r);
        ck_assert_ptr_nonnull(tutti_connection_broken(b));
        ck_assert_uint_eq(tutti_shm_used(shared[1]), 2 * LARGE);
    } else {
        fill(out, LARGE, 3);
        ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
        tutti_connection_pass(b);
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        ck_assert(has_ended(r, TUTTI_OK) && has_ended(s, TUTTI_OK));
        ck_assert_uint_eq(next[0], 0xEE);
        ck_assert_uint_eq(tutti_shm_used(shared[1]), LARGE);
    }
    close_pair();
}
END_TEST

/* Small messages that fill the ring of a connection to its last byte. Returns how many. */
static int fill_ring(tutti_connection *c, int tag, tutti_connection_message *m[])
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

/* The sender does not wait for what has not ended. */
static void leave(tutti_connection *c, tutti_connection_message *m)
{
    if (!has_ended(m, TUTTI_OK)) tutti_connection_abandon(c, m);
}

/* What happens when the data are in the receiver's memory, and the word that they are is not: the receive is cancelled;
 * it is abandoned; the sender ends. */
enum { IS_CANCELLED, IS_ABANDONED, SENDER_ENDS, HAPPENS };

START_TEST(between_the_data_and_the_word)
{
    static unsigned char out[LARGE];
    tutti_connection_message *s, *r, *small[RING];
    open_pair();
    unsigned char *in = take(1, LARGE);
    fill(out, LARGE, 4);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    tutti_connection_pass(b);
    const int fillers = fill_ring(a, 2, small);
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    tutti_connection_pass(a);
    ck_assert(is_filled(in, LARGE, 4) && !has_ended(s, TUTTI_OK));
    if (_i == IS_ABANDONED)
        tutti_connection_abandon(b, r);
    else if (_i == IS_CANCELLED)
        tutti_connection_cancel(b, r);
    if (_i != IS_CANCELLED) {
        leave(a, s);
        for (int i = 0; i < fillers; i++) leave(a, small[i]);
    }
    if (_i == SENDER_ENDS) tutti_connection_close(a);
    if (_i == SENDER_ENDS) tutti_connection_pass(b);
    if (_i != IS_CANCELLED) ck_assert_ptr_nonnull(tutti_connection_broken(b));
    /* its owner does not need it any more, but the sender may still write to it */
    tutti_shm_give(shared[1], in);
    ck_assert_uint_eq(tutti_shm_used(shared[1]), LARGE);
    unsigned char *next = take(1, LARGE);
    ck_assert(next >= in + LARGE || next + LARGE <= in);
    if (_i == SENDER_ENDS) ck_assert(has_ended(r, TUTTI_ERR_COMM));
    for (int i = 0; i < 4 && _i == IS_CANCELLED; i++) {
        tutti_connection_pass(b);
        tutti_connection_pass(a);
    }
    if (_i == IS_CANCELLED) { /* the word came: it was received */
        ck_assert(has_ended(r, TUTTI_OK) && has_ended(s, TUTTI_OK));
        for (int i = 0; i < fillers; i++) ck_assert(has_ended(small[i], TUTTI_OK));
    }
    ck_assert_uint_eq(tutti_shm_used(shared[1]), _i == IS_CANCELLED ? LARGE : 2 * LARGE);
    tutti_connection_close(b);
    if (_i != SENDER_ENDS) tutti_connection_close(a);
    for (int e = 0; e < 2; e++) tutti_shm_close(shared[e]);
}
END_TEST

START_TEST(sizes_differ)
{
    static unsigned char out[LARGE];
    tutti_connection_message *s, *r;
    open_pair();
    unsigned char *in = take(1, LARGE);
    /* the sender knows from the credit; small ones go early, so the receiver knows */
    for (size_t bytes = 100; bytes < LARGE; bytes *= 10) {
        ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
        ck_assert_ok(tutti_connection_isend(a, 0, 1, out, bytes, &s));
        for (int i = 0; i < 4; i++) {
            tutti_connection_pass(b);
            tutti_connection_pass(a);
        }
        ck_assert(has_ended(r, TUTTI_ERR_MISMATCH));
        ck_assert(has_ended(s, bytes <= through.early_bytes ? TUTTI_OK : TUTTI_ERR_MISMATCH));
        ck_assert_uint_eq(in[0], 0xEE);
    }
    tutti_shm_give(shared[1], in);
    ck_assert_uint_eq(tutti_shm_used(shared[1]), 0);
    ck_assert_ptr_null(tutti_connection_broken(a));
    close_pair();
}
END_TEST

/* Small messages go early, up to a number, and never before an older one of their stream. */
START_TEST(early_messages_stay_in_order)
{
    enum { MANY = 1000 };
    static unsigned char large[LARGE];
    static tutti_connection_message *s[MANY];
    tutti_connection_message *first, *after, *r;
    unsigned char one = 1, got = 0;
    int ended = 0;
    open_pair();
    unsigned char *in = take(1, LARGE);
    fill(large, LARGE, 2);
    ck_assert_ok(tutti_connection_isend(a, 0, 1, large, LARGE, &first));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, &one, 1, &after));
    for (int i = 0; i < MANY; i++) ck_assert_ok(tutti_connection_isend(a, 0, 2, &one, 1, &s[i]));
    for (int i = 0; i < 100; i++) { /* many ring's fulls of them */
        tutti_connection_pass(a);
        tutti_connection_pass(b);
    }
    while (ended < MANY && has_ended(s[ended], TUTTI_OK)) ended++;
    ck_assert_int_eq(ended, 256);
    ck_assert(!has_ended(first, TUTTI_OK) && !has_ended(after, TUTTI_OK));
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    for (int i = 0; i < 3; i++) {
        tutti_connection_pass(b);
        tutti_connection_pass(a);
    }
    tutti_connection_pass(b);
    ck_assert(has_ended(r, TUTTI_OK) && has_ended(first, TUTTI_OK) && is_filled(in, LARGE, 2));
    for (int i = 0; i <= MANY; i++) {
        got = 0;
        ck_assert_ok(tutti_connection_irecv(b, 0, i ? 2 : 1, &got, 1, &r));
        tutti_connection_pass(b);
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        ck_assert(has_ended(r, TUTTI_OK) && got == 1);
    }
    ck_assert(has_ended(after, TUTTI_OK));
    while (ended < MANY) ck_assert(has_ended(s[ended++], TUTTI_OK));
    tutti_shm_give(shared[1], in);
    close_pair();
}
END_TEST

/* What was sent before the other end closed can be received; nothing else. */
START_TEST(closes_after_early_messages)
{
    tutti_connection_message *s, *r;
    char out = 7, in = 0;
    open_pair();
    for (int i = 0; i < 2; i++) {
        ck_assert_ok(tutti_connection_isend(a, 0, i, &out, 1, &s));
        tutti_connection_pass(a);
        ck_assert(has_ended(s, TUTTI_OK));
    }
    tutti_connection_shut(a);
    tutti_connection_pass(b);
    ck_assert_str_eq(tutti_connection_broken(b), "has closed the connection");
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, &in, 1, &r));
    ck_assert(has_ended(r, TUTTI_OK) && in == 7);
    ck_assert_int_eq(tutti_connection_irecv(b, 0, 1, &in, 1, &r), TUTTI_ERR_COMM);
    ck_assert_int_eq(tutti_connection_isend(b, 0, 0, &out, 1, &s), TUTTI_ERR_COMM);
    close_pair();
}
END_TEST

START_TEST(blocks_of_the_arena)
{
    enum { MANY = 200 };
    uint64_t seed = testing_seed(3);
    unsigned char *at[MANY] = {NULL};
    size_t bytes[MANY];
    void *none;
    open_pair();
    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t k = tutti_rng_below(seed, i, 0, MANY);
        if (at[k]) {
            ck_assert(is_filled(at[k], bytes[k], (unsigned)k));
            tutti_shm_give(shared[0], at[k]);
            at[k] = NULL;
            continue;
        }
        bytes[k] = tutti_rng_below(seed, i, 1, 30000);
        at[k] = take(0, bytes[k]);
        ck_assert_uint_eq((uintptr_t)at[k] % 64, 0);
        fill(at[k], bytes[k], (unsigned)k);
    }
    for (int k = 0; k < MANY; k++) tutti_shm_give(shared[0], at[k]);
    ck_assert_uint_eq(tutti_shm_used(shared[0]), 0);
    ck_assert_int_eq(tutti_shm_take(shared[0], ARENA + 1, &none), TUTTI_ERR_NOMEM);
    ck_assert_ptr_nonnull(
        strstr(tutti_last_error(), "8388609 bytes does not fit into the 8388608"));
    ck_assert_int_eq(tutti_shm_take(shared[0], SIZE_MAX, &none), TUTTI_ERR_NOMEM);
    ck_assert_ok(tutti_shm_take(shared[0], ARENA, &none)); /* all are one piece again */
    close_pair();
}
END_TEST

/* After a failure, tasks that never end may use memory that was never given back. */
START_TEST(taken_memory_stays_mapped)
{
    tutti_connection_message *r, *s;
    static unsigned char out[LARGE];
    tutti_shm_name name;
    tutti_shm *theirs;
    for (int e = 0; e < 2; e++) ck_assert_ok(tutti_shm_create(&memory, &shared[e]));
    tutti_shm_get_name(shared[1], &name);
    ck_assert_ok(tutti_shm_map(&name, &theirs));
    ck_assert_ok(tutti_shm_connect(shared[0], 0, theirs, 0, &through, &a));
    ck_assert_ok(tutti_shm_connect(shared[1], 0, shared[0], 0, &through, &b));
    unsigned char *in = take(1, LARGE);
    fill(out, LARGE, 7);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    tutti_connection_pass(b);
    tutti_connection_abandon(b, r);
    tutti_connection_close(b);
    tutti_shm_close(shared[1]);
    ck_assert_uint_eq(in[LARGE - 1], 0xEE);
    /* the other end writes nothing more to a process that has closed */
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    tutti_connection_pass(a);
    ck_assert(has_ended(s, TUTTI_ERR_COMM));
    ck_assert_uint_eq(in[0], 0xEE);
    tutti_connection_close(a);
    tutti_shm_close(theirs);
    tutti_shm_close(shared[0]);
}
END_TEST

START_TEST(memory_is_missing)
{
    struct rlimit before, limit;
    tutti_shm *s;
    const int which = _i ? RLIMIT_AS : RLIMIT_FSIZE;
    const tutti_shm_options large = {
        .rings = 1, .ring_bytes = RING, .arena_bytes = (size_t)1 << 42};
    ck_assert_int_eq(getrlimit((__rlimit_resource_t)which, &before), 0);
    limit = (struct rlimit){(rlim_t)1 << 36, before.rlim_max};
    ck_assert_int_eq(setrlimit((__rlimit_resource_t)which, &limit), 0);
    tutti_status status = tutti_shm_create(&large, &s);
    ck_assert_int_eq(setrlimit((__rlimit_resource_t)which, &before), 0);
    ck_assert_int_eq(status, TUTTI_ERR_NOMEM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "43980465"));
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), _i ? "ulimit -v" : "ulimit -f"));
}
END_TEST

START_TEST(wrong_arguments)
{
    tutti_shm *s;
    const tutti_shm_options bad[] = {{0, RING, 0}, {1, 100, 0}, {1, 32, 0}, {1, RING, SIZE_MAX}};
    for (int i = 0; i < 4; i++) ck_assert_int_eq(tutti_shm_create(&bad[i], &s), TUTTI_ERR_INVAL);
    open_pair();
    tutti_shm_name name;
    tutti_connection *c;
    ck_assert_int_eq(tutti_shm_connect(shared[0], 1, shared[1], 0, &through, &c), TUTTI_ERR_INVAL);
    tutti_shm_get_name(shared[0], &name);
    name.key += 2;
    ck_assert_int_eq(tutti_shm_map(&name, &s), TUTTI_ERR_COMM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "is another one here"));
    name.file = 12345;
    ck_assert_int_eq(tutti_shm_map(&name, &s), TUTTI_ERR_COMM);
    close_pair();
}
END_TEST

/* The other end writes what it must not: frames into the ring, as a connection would, and its counts. */
START_TEST(the_other_end_is_wrong)
{
    static const struct {
        tutti_tcp_frame frame;
        const char *why;
    } rows[] = {
        {{.kind = TUTTI_TCP_WANT, .bytes = 16, .place = ARENA + 1}, "that it does not share"},
        {{.kind = TUTTI_TCP_WANT, .bytes = ARENA, .place = 2}, "that it does not share"},
        {{.kind = TUTTI_TCP_WANT, .bytes = 16, .place = UINT64_MAX}, "that it does not share"},
        {{.kind = TUTTI_TCP_PLACED, .tag = 1, .bytes = 1}, "places data that was not requested"},
        {{.kind = TUTTI_TCP_PLACED, .tag = 2, .bytes = 0}, "places data that was not requested"},
        {{.kind = TUTTI_TCP_REVOKED, .tag = 1, .bytes = 0}, "answers what was not asked"},
        {{.kind = TUTTI_TCP_EARLY, .bytes = 257}, "sends data that was not requested"},
    };
    const size_t row = (size_t)_i;
    unsigned char out[1000] = {0}, header[TUTTI_TCP_HEADER_BYTES];
    tutti_connection_message *s, *r;
    int done;
    tutti_shm_name name;
    char path[64];
    open_pair();
    unsigned char *in = take(1, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r)); /* number 0 */
    if (row < 3) ck_assert_ok(tutti_connection_isend(b, 0, 0, out, sizeof out, &s));
    tutti_shm_get_name(shared[1], &name);
    snprintf(path, sizeof path, "/proc/self/fd/%lld", (long long)name.file);
    FILE *file = fopen(path, "r+b");
    const uint64_t bytes = row < sizeof rows / sizeof *rows ? sizeof header : 2 * RING;
    if (bytes == sizeof header) tutti_tcp_frame_write(&rows[row].frame, header);
    /* the first ring is behind the first page: the count, and two lines later the bytes */
    ck_assert(file && !fseek(file, 4096 + 128, SEEK_SET) && fwrite(header, sizeof header, 1, file));
    ck_assert(!fseek(file, 4096, SEEK_SET) && fwrite(&bytes, sizeof bytes, 1, file));
    fclose(file);
    tutti_connection_pass(b);
    ck_assert_ptr_nonnull(tutti_connection_broken(b));
    const char *why = bytes == sizeof header ? rows[row].why : "has damaged the shared memory";
    ck_assert_msg(strstr(tutti_connection_broken(b), why), "%s", tutti_connection_broken(b));
    ck_assert_int_eq(tutti_connection_test(r, &done), TUTTI_ERR_COMM);
    if (row < 3) (void)tutti_connection_test(s, &done);
    close_pair();
}
END_TEST
enum { WRONG = 8 };

/* ---- two threads ---- */

enum { ROUNDS = 150, AT_ONCE = 3 };

typedef struct side {
    tutti_connection *c;
    tutti_shm *mine;
    unsigned salt, other;
    int wrong;
} side;

/* Sends and receives messages of three sizes, of which the second lies in the arena, and looks at every byte. */
static void *exchange(void *arg)
{
    static const size_t size[AT_ONCE] = {200, 500000, 9000};
    side *it = arg;
    unsigned char *in[AT_ONCE], *out[AT_ONCE];
    void *placed;
    const int rounds = testing_fewer() ? ROUNDS / 8 : ROUNDS;
    if (tutti_shm_take(it->mine, size[1], &placed)) abort();
    for (int i = 0; i < AT_ONCE; i++) {
        in[i] = i == 1 ? placed : malloc(size[i]);
        out[i] = malloc(size[i]);
    }
    for (int round = 0; round < rounds; round++) {
        tutti_connection_message *m[2 * AT_ONCE];
        int left = 2 * AT_ONCE, done[2 * AT_ONCE] = {0};
        for (int i = 0; i < AT_ONCE; i++) {
            const int tag = round % 2 ? i : 0;
            fill(out[i], size[i], it->salt + (unsigned)(round * AT_ONCE + i));
            if (tutti_connection_irecv(it->c, 0, tag, in[i], size[i], &m[2 * i])) abort();
            if (tutti_connection_isend(it->c, 0, tag, out[i], size[i], &m[2 * i + 1])) abort();
        }
        for (double until_s = tutti_clock_s() + 60; left && tutti_clock_s() < until_s;) {
            tutti_connection_pass(it->c);
            for (int i = 0; i < 2 * AT_ONCE; i++) {
                if (done[i]) continue;
                it->wrong += tutti_connection_test(m[i], &done[i]) != TUTTI_OK;
                left -= done[i];
                if (done[i] && i % 2 == 0)
                    it->wrong += !is_filled(
                        in[i / 2], size[i / 2], it->other + (unsigned)(round * AT_ONCE + i / 2));
            }
        }
        it->wrong += left;
        if (left) break;
    }
    for (int i = 0; i < AT_ONCE; i++) {
        if (i != 1) free(in[i]);
        free(out[i]);
    }
    tutti_shm_give(it->mine, placed);
    return NULL;
}

/* The data are there before the word that they are: with the word first, a byte is seen too early. */
START_TEST(of_two_threads)
{
    pthread_t other;
    open_pair();
    side sides[2] = {{a, shared[0], 5, 1000, 0}, {b, shared[1], 1000, 5, 0}};
    ck_assert_int_eq(pthread_create(&other, NULL, exchange, &sides[1]), 0);
    exchange(&sides[0]);
    pthread_join(other, NULL);
    ck_assert_int_eq(sides[0].wrong + sides[1].wrong, 0);
    ck_assert_uint_eq(tutti_shm_used(shared[0]) + tutti_shm_used(shared[1]), 0);
    close_pair();
}
END_TEST

/* ---- one that sleeps ---- */

/* What wakes it: a message; one that comes as it falls asleep; room in a ring that was full; the other end, which
 * closes; a thread of its own; nothing. With a message there, it does not sleep. */
enum { BY_MESSAGE, AS_IT_SLEEPS, BY_ROOM, BY_THE_END, BY_ITSELF, BY_NOBODY, AWAKE, WAKES };

typedef struct sleeper {
    tutti_connection *c; /* of who sleeps */
    int way;
} sleeper;

static void send_one(void)
{
    static const char out = 1;
    tutti_connection_message *s;
    if (tutti_connection_isend(a, 0, 0, &out, 1, &s)) abort();
    tutti_connection_pass(a);
    if (!has_ended(s, TUTTI_OK)) abort();
}

static int may_move(void *arg)
{
    const sleeper *it = arg;
    const int moves = tutti_connection_may_move(it->c);
    if (it->way == AS_IT_SLEEPS) send_one();
    return moves;
}

static void *disturb(void *arg)
{
    const sleeper *it = arg;
    tutti_clock_sleep(20e-3);
    if (it->way == BY_MESSAGE) send_one();
    if (it->way == BY_ROOM) tutti_connection_pass(b);
    if (it->way == BY_THE_END) tutti_connection_shut(a);
    if (it->way == BY_ITSELF) tutti_shm_wake(shared[1]);
    return NULL;
}

START_TEST(sleeps_until_woken)
{
    static const double most_s = 5, soon_s = 2;
    tutti_connection_message *small[RING + 1];
    static const char out = 1;
    pthread_t other;
    int count = 0;
    open_pair();
    sleeper it = {_i == BY_ROOM ? a : b, _i};
    if (_i == AWAKE) send_one();
    if (_i == BY_ROOM) {
        count = fill_ring(a, 2, small);
        ck_assert_ok(tutti_connection_isend(a, 0, 2, &out, 1, &small[count++]));
        tutti_connection_pass(a);
    }
    ck_assert_int_eq(pthread_create(&other, NULL, disturb, &it), 0);
    const double begun_s = tutti_clock_s();
    const int slept =
        tutti_shm_sleep(shared[_i != BY_ROOM], may_move, &it, _i == BY_NOBODY ? 50e-3 : most_s);
    const double took_s = tutti_clock_s() - begun_s;
    pthread_join(other, NULL);
    ck_assert_int_eq(slept, _i != AWAKE);
    ck_assert_msg(took_s < soon_s, "slept for %g s", took_s);
    if (_i == BY_NOBODY) ck_assert_double_ge(took_s, 45e-3);
    for (int i = 0; i < count; i++) {
        tutti_connection_pass(a);
        ck_assert(has_ended(small[i], TUTTI_OK));
    }
    close_pair();
}
END_TEST

/* ---- two processes ---- */

/* Both names go over a socket, and both sides map the other's memory. */
static tutti_connection *meet(int socket, tutti_shm **mine, tutti_shm **theirs)
{
    tutti_shm_name name;
    tutti_connection *c;
    if (tutti_shm_create(&memory, mine)) abort();
    tutti_shm_get_name(*mine, &name);
    if (write(socket, &name, sizeof name) != sizeof name) abort();
    if (read(socket, &name, sizeof name) != sizeof name) abort();
    if (tutti_shm_map(&name, theirs)) abort();
    if (tutti_shm_connect(*mine, 0, *theirs, 0, &through, &c)) abort();
    return c;
}

/* How the child ends: after it has exchanged messages, with or without closing; with a signal when its data are written
 * and its word is not. */
enum { CLOSES, EXITS, DIES, ENDS };

static void run_child(int socket, int end)
{
    tutti_shm *mine, *theirs;
    tutti_connection *c = meet(socket, &mine, &theirs);
    side it = {c, mine, 1000, 5, 0};
    char go;
    if (end != DIES) {
        exchange(&it);
        if (read(socket, &go, 1) != 1) abort();
        if (end == CLOSES) {
            tutti_connection_close(c);
            tutti_shm_close(mine);
            tutti_shm_close(theirs);
        }
        _exit(it.wrong != 0);
    }
    /* it writes to the memory that it was lent, and never says so */
    if (read(socket, &go, 1) != 1) abort();
    tutti_connection_message *s;
    static unsigned char out[LARGE];
    if (tutti_connection_isend(c, 0, 1, out, LARGE, &s)) abort();
    raise(SIGSTOP); /* the parent sees that it is silent, and not dead */
    raise(SIGKILL);
}

START_TEST(of_two_processes)
{
    int socket[2], status;
    tutti_shm *mine, *theirs;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, socket), 0);
    pid_t child = fork();
    if (!child) {
        close(socket[0]);
        alarm(60);
        run_child(socket[1], _i);
    }
    close(socket[1]);
    tutti_connection *c = meet(socket[0], &mine, &theirs);
    side it = {c, mine, 5, 1000, 0};
    tutti_connection_message *r;
    void *in;
    if (_i != DIES) exchange(&it);
    ck_assert_int_eq(it.wrong, 0);
    ck_assert_ok(tutti_shm_take(mine, LARGE, &in));
    ck_assert_ok(tutti_connection_irecv(c, 0, 1, in, LARGE, &r));
    tutti_connection_pass(c);
    ck_assert_int_eq(write(socket[0], "g", 1), 1);
    if (_i == DIES) {
        ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
        ck_assert(WIFSTOPPED(status));
        for (double until_s = tutti_clock_s() + 0.2; tutti_clock_s() < until_s;)
            tutti_connection_pass(c);
        ck_assert_ptr_null(tutti_connection_broken(c));
        kill(child, SIGCONT);
    }
    /* not waited for yet, it is a zombie */
    for (double until_s = tutti_clock_s() + 30; !tutti_connection_broken(c);) {
        tutti_connection_pass(c);
        ck_assert_msg(tutti_clock_s() < until_s, "the end of a process is not seen");
    }
    ck_assert_str_eq(
        tutti_connection_broken(c), _i == CLOSES ? "has closed the connection" : "has died");
    ck_assert(has_ended(r, TUTTI_ERR_COMM));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, _i == DIES ? SIGKILL : 0);
    /* what it could write to stays */
    tutti_shm_give(mine, in);
    ck_assert_uint_eq(tutti_shm_used(mine), LARGE);
    tutti_connection_close(c);
    tutti_shm_close(mine);
    tutti_shm_close(theirs);
    close(socket[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm");
    TCase *steps = testing_case(suite, "steps");
    tcase_add_loop_test(steps, is_written_in_place, 0, 2);
    tcase_add_loop_test(steps, is_cancelled, 0, MOMENTS);
    tcase_add_loop_test(steps, is_written_before_it_is_sent, 0, CLAIMS);
    tcase_add_loop_test(steps, breaks_while_it_is_written, 0, 2);
    tcase_add_loop_test(steps, is_given_back_early, 0, 2);
    tcase_add_loop_test(steps, between_the_data_and_the_word, 0, HAPPENS);
    tcase_add_test(steps, sizes_differ);
    tcase_add_test(steps, early_messages_stay_in_order);
    tcase_add_test(steps, closes_after_early_messages);
    tcase_add_test(steps, blocks_of_the_arena);
    tcase_add_test(steps, taken_memory_stays_mapped);
    tcase_add_loop_test(steps, memory_is_missing, 0, 2);
    tcase_add_test(steps, wrong_arguments);
    tcase_add_loop_test(steps, the_other_end_is_wrong, 0, WRONG);
    TCase *apart = testing_case(suite, "apart");
    tcase_add_test(apart, of_two_threads);
    tcase_add_loop_test(apart, sleeps_until_woken, 0, WAKES);
    tcase_add_loop_test(apart, of_two_processes, 0, ENDS);
    return testing_run(suite);
}
