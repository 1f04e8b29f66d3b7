/* Receives into the arena of shared memory, which the sender writes to: every step in its order, in one thread;
 * cancelled and given back at any moment; what happens between the data and the word that they are there. */
#include "tests/collectives/shared_pair.h"

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
    static unsigned char
        spare[LARGE]; /* nobody reads it, unless the message goes through the ring */
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

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *steps = testing_case(suite, "steps");
    tcase_add_loop_test(steps, is_written_in_place, 0, 2);
    tcase_add_loop_test(steps, is_cancelled, 0, MOMENTS);
    tcase_add_loop_test(steps, is_written_before_it_is_sent, 0, CLAIMS);
    tcase_add_loop_test(steps, breaks_while_it_is_written, 0, 2);
    tcase_add_loop_test(steps, is_given_back_early, 0, 2);
    tcase_add_loop_test(steps, between_the_data_and_the_word, 0, HAPPENS);
    tcase_add_test(steps, sizes_differ);
    return testing_run(suite);
}
