/* apps/protobuf: the bytes of the examples of https://protobuf.dev/programming-guides/encoding/, numbers of
 * every length, messages within messages. */
#include "apps/protobuf/protobuf.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

static void expect(tutti_protobuf *m, size_t size, const unsigned char *bytes)
{
    ck_assert_int_eq(m->failed, 0);
    ck_assert_uint_eq(m->size, size);
    ck_assert_mem_eq(m->data, bytes, size);
    tutti_protobuf_free(m);
    ck_assert_ptr_null(m->data);
}

START_TEST(bytes_of_the_guide)
{
    tutti_protobuf m = {0}, inner = {0};
    tutti_protobuf_number(&m, 1, 150);
    expect(&m, 3, (const unsigned char[]){0x08, 0x96, 0x01});
    tutti_protobuf_text(&m, 2, "testing");
    expect(&m, 9, (const unsigned char[]){0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'});
    tutti_protobuf_number(&inner, 1, 150);
    tutti_protobuf_message(&m, 3, &inner);
    ck_assert_ptr_null(inner.data);
    expect(&m, 5, (const unsigned char[]){0x1a, 0x03, 0x08, 0x96, 0x01});
}
END_TEST

START_TEST(numbers)
{
    tutti_protobuf m = {0};
    tutti_protobuf_number(&m, 20, 0); /* a tag of two bytes */
    expect(&m, 3, (const unsigned char[]){0xa0, 0x01, 0x00});
    tutti_protobuf_number(&m, 1, 127);
    tutti_protobuf_number(&m, 1, 128);
    expect(&m, 5, (const unsigned char[]){0x08, 0x7f, 0x08, 0x80, 0x01});
    tutti_protobuf_number(&m, 1, INT64_MAX);
    expect(&m, 10,
        (const unsigned char[]){0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
    tutti_protobuf_float(&m, 2, 1.0f);
    expect(&m, 5, (const unsigned char[]){0x15, 0x00, 0x00, 0x80, 0x3f});
    tutti_protobuf_double(&m, 2, -2.0);
    expect(&m, 9, (const unsigned char[]){0x11, 0, 0, 0, 0, 0, 0, 0x00, 0xc0});
    tutti_protobuf_text(&m, 1, "");
    expect(&m, 2, (const unsigned char[]){0x0a, 0x00});
}
END_TEST

START_TEST(parts_of_a_message)
{
    enum { MANY = 1000 };
    unsigned char many[MANY];
    tutti_protobuf m = {0}, whole = {0}, more = {0};
    for (int i = 0; i < MANY; i++) many[i] = (unsigned char)i;
    tutti_protobuf_bytes(&whole, 9, many, MANY);
    tutti_protobuf_begin(&m, 9, MANY);
    ck_assert_uint_eq(whole.size, m.size + MANY);
    ck_assert_mem_eq(whole.data, m.data, m.size);
    ck_assert_mem_eq(whole.data + m.size, many, MANY);
    tutti_protobuf_free(&m);
    tutti_protobuf_number(&m, 1, 1);
    tutti_protobuf_number(&more, 1, 2);
    tutti_protobuf_append(&m, &more);
    expect(&m, 4, (const unsigned char[]){0x08, 0x01, 0x08, 0x02});
    more.failed = 1;
    tutti_protobuf_message(&m, 1, &more);
    ck_assert_int_eq(m.failed, 1);
    tutti_protobuf_free(&m);
    tutti_protobuf_free(&whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("protobuf");
    TCase *tcase = testing_case(suite, "protobuf");
    tcase_add_test(tcase, bytes_of_the_guide);
    tcase_add_test(tcase, numbers);
    tcase_add_test(tcase, parts_of_a_message);
    return testing_run(suite);
}
