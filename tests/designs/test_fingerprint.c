/* verify: what ranks compare about a collective, and as text. */
#include "dag/base/log.h"
#include "designs/verify/verify.h"
#include "tests/support/testing.h"

#include <string.h>

enum { COUNT = 8 };

static const tutti_coll_args sum = {
    .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_F32, .op = TUTTI_SUM, .count = COUNT};

static tutti_fingerprint print_of(
    const char *name, int64_t sequence, int lane, int64_t number, tutti_coll_args args)
{
    const tutti_entry entry = {
        .name = name, .sequence = sequence, .index = sequence, .lane = lane, .args = args};
    tutti_fingerprint f;
    tutti_fingerprint_make(&entry, number, &(tutti_members){.size = 2}, &f);
    return f;
}

START_TEST(a_fingerprint_knows_what_must_agree)
{
    tutti_coll_args changed[] = {sum, sum, sum, sum};
    changed[0].kind = TUTTI_REDUCE_SCATTER;
    changed[1].dtype = TUTTI_I32;
    changed[2].op = TUTTI_MAX;
    changed[3].count = COUNT + 1;
    uint64_t hash = print_of("w", 1, 0, 0, sum).hash;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        ck_assert_uint_ne(print_of("w", 1, 0, 0, changed[i]).hash, hash);
    ck_assert_uint_ne(print_of("w", 2, 0, 0, sum).hash, hash);
    ck_assert_uint_ne(print_of("v", 1, 0, 0, sum).hash, hash);
    ck_assert_uint_ne(print_of("", 1, 0, 0, sum).hash, hash);
    char name[101] = "", other[101] = "";
    memset(name, 'n', 100);
    memset(other, 'n', 100);
    other[99] = 'm'; /* beyond the part that is kept */
    ck_assert_uint_ne(print_of(name, 1, 0, 0, sum).hash, print_of(other, 1, 0, 0, sum).hash);
    /* Lengths of parts, and user operators by name. */
    const int64_t even[] = {4, 4}, odd[] = {3, 5}, same[] = {3, 5};
    tutti_coll_args gather = sum, by_odd = sum, by_same = sum, by_even = sum;
    gather.kind = by_odd.kind = by_same.kind = by_even.kind = TUTTI_GATHER;
    by_odd.counts = odd;
    by_same.counts = same;
    by_even.counts = even;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, by_odd).hash, print_of("w", 1, 0, 0, by_same).hash);
    ck_assert_uint_ne(print_of("w", 1, 0, 0, by_odd).hash, print_of("w", 1, 0, 0, by_even).hash);
    ck_assert_uint_ne(print_of("w", 1, 0, 0, gather).hash, print_of("w", 1, 0, 0, by_even).hash);
    int sequence = 0;
    const tutti_user_op one = {.name = "one"}, two = {.name = "two"},
                        too = {.name = "two", .commutes = 0, .ctx = &sequence};
    tutti_coll_args by_one = sum, by_two = sum, by_too = sum;
    by_one.op = by_two.op = by_too.op = TUTTI_USER_OP;
    by_one.user = &one;
    by_two.user = &two;
    by_too.user = &too;
    ck_assert_uint_ne(print_of("w", 1, 0, 0, by_one).hash, print_of("w", 1, 0, 0, by_two).hash);
    ck_assert_uint_eq(print_of("w", 1, 0, 0, by_too).hash, print_of("w", 1, 0, 0, by_two).hash);
    /* Arguments that a kind ignores do not count. */
    tutti_coll_args barrier = {.kind = TUTTI_BARRIER}, full = sum, broadcast = sum, from = sum;
    full.kind = TUTTI_BARRIER;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, barrier).hash, print_of("w", 1, 0, 0, full).hash);
    broadcast.kind = from.kind = TUTTI_BROADCAST;
    broadcast.op = TUTTI_PROD;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, broadcast).hash, print_of("w", 1, 0, 0, from).hash);
    from.root = 1;
    ck_assert_uint_ne(print_of("w", 1, 0, 0, broadcast).hash, print_of("w", 1, 0, 0, from).hash);
    /* The two ranks of a message name their own data. */
    tutti_coll_args message = sum, shorter = sum;
    message.kind = shorter.kind = TUTTI_MESSAGE;
    shorter.count = COUNT - 1;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, message).hash, print_of("v", 1, 0, 0, message).hash);
    ck_assert_uint_ne(print_of("w", 1, 0, 0, message).hash, print_of("w", 1, 0, 0, shorter).hash);
    ck_assert_uint_ne(print_of("w", 1, 0, 0, message).hash, print_of("w", 1, 0, 0, broadcast).hash);
    ck_assert_int_eq(tutti_verify_mode_find("full"), TUTTI_VERIFY_FULL);
    ck_assert_int_eq(tutti_verify_mode_find("maybe"), TUTTI_VERIFY_MODES);
    ck_assert_ptr_null(tutti_verify_mode_name(TUTTI_VERIFY_MODES));
}
END_TEST

START_TEST(a_fingerprint_is_written)
{
    char text[TUTTI_FINGERPRINT_TEXT];
    tutti_coll_args a = sum;
    tutti_fingerprint f = print_of("fc.weight", 17, 1, 4, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text),
        "#17 'fc.weight', allreduce of 8 F32 (sum)");
    f = print_of("allreduce", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3, allreduce of 8 F32 (sum)");
    a.kind = TUTTI_REDUCE;
    a.root = 2;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', reduce of 8 F32 (sum) to rank 2");
    a.kind = TUTTI_BROADCAST;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', broadcast of 8 F32 from rank 2");
    const int64_t parts[] = {3, 5};
    a.kind = TUTTI_GATHER;
    a.counts = parts;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text),
        "#3 'w', gather of 8 F32 in parts of given lengths to rank 2");
    const tutti_user_op join = {.name = "join"};
    a = sum;
    a.op = TUTTI_USER_OP;
    a.user = &join;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text),
        "#3 'w', allreduce of 8 F32 (join, user-defined operator 1)");
    a.kind = TUTTI_BARRIER;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', barrier");
    a = sum;
    a.kind = TUTTI_MESSAGE;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', message of 8 F32");
    f = print_of("message", 3, 0, 0, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text), "#3, message of 8 F32");
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("fingerprint");
    TCase *tcase = testing_case(suite, "fingerprint");
    tcase_add_test(tcase, a_fingerprint_knows_what_must_agree);
    tcase_add_test(tcase, a_fingerprint_is_written);
    return testing_run(suite);
}
