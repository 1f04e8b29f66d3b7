/* apps/data: RandAugment. What its operations make of an image is what torchvision makes of Pillow's
 * (tests/golden/rand_augment); which ones an image gets is the same again. */
#include "apps/data/rand_augment.h"
#include "apps/data/settings.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>

enum { C = 3, PIXELS = 400 };

static void read_hex(const char *text, size_t count, uint8_t *bytes)
{
    ck_assert_uint_eq(strlen(text), 2 * count);
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        ck_assert_int_eq(sscanf(text + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
}

START_TEST(pixels_are_those_of_torchvision)
{
    char text[2 * PIXELS * C + 1];
    uint8_t before[PIXELS * C], pixels[PIXELS * C], expected[PIXELS * C], scratch[PIXELS * C];
    int width, height, kind, magnitude, lines = 0;
    FILE *in = fopen(testing_source("tests/golden/rand_augment/pillow.txt"), "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_int_eq(fscanf(in, "%d %d %*s %2400s", &width, &height, text), 3);
    const size_t bytes = (size_t)width * (size_t)height * C;
    ck_assert_uint_le(bytes, sizeof before);
    read_hex(text, bytes, before);
    for (; fscanf(in, "%d %d %2400s", &kind, &magnitude, text) == 3; lines++) {
        const tutti_rand_augment one = {1, {(tutti_rand_kind)kind}, {magnitude}};
        read_hex(text, bytes, expected);
        memcpy(pixels, before, bytes);
        tutti_rand_augment_apply(&one, width, height, scratch, pixels);
        for (size_t b = 0; b < bytes; b++)
            ck_assert_msg(pixels[b] == expected[b],
                "operation %d, magnitude %d: channel %d of pixel (%d,%d) is %d, not %d", kind,
                magnitude, (int)(b % C), (int)(b / C) % width, (int)(b / C) / width, pixels[b],
                expected[b]);
    }
    fclose(in);
    ck_assert_int_eq(lines, 34);
}
END_TEST

/* All operations are equally likely, and half of the signed ones are negative. */
START_TEST(draws_are_uniform_and_repeat)
{
    enum { IMAGES = 14000 };
    const tutti_rand_range range = {3, 9};
    int count[TUTTI_RAND_KINDS] = {0}, negative = 0, is_signed = 0;
    for (int64_t image = 0; image < IMAGES; image++) {
        const tutti_rand_augment a = tutti_rand_augment_choose(&range, 5, 3, image),
                                 b = tutti_rand_augment_choose(&range, 5, 3, image);
        ck_assert_int_eq(a.operations, 3);
        ck_assert_mem_eq(&a, &b, sizeof a);
        for (int i = 0; i < a.operations; i++) {
            const int may = a.kind[i] >= TUTTI_RAND_SHEAR_X && a.kind[i] <= TUTTI_RAND_SHARPNESS;
            count[a.kind[i]]++;
            is_signed += may;
            negative += a.magnitude[i] == -9;
            ck_assert(a.magnitude[i] == 9 || (may && a.magnitude[i] == -9));
        }
    }
    for (int k = 0; k < TUTTI_RAND_KINDS; k++) {
        ck_assert_int_gt(count[k], 2800);
        ck_assert_int_lt(count[k], 3200);
    }
    ck_assert_int_gt(100 * negative, 48 * is_signed);
    ck_assert_int_lt(100 * negative, 52 * is_signed);
}
END_TEST

START_TEST(values_stay)
{
    static const int wanted[3][4] = {{6, 9, 1, -9}, {2, -9, 6, 9}, {13, 9, 0, 9}};
    const tutti_rand_range range = {2, 9};
    for (int64_t image = 0; image < 3; image++) {
        const tutti_rand_augment a = tutti_rand_augment_choose(&range, 5, 3, image);
        const int is[4] = {(int)a.kind[0], a.magnitude[0], (int)a.kind[1], a.magnitude[1]};
        ck_assert_msg(!memcmp(is, wanted[image], sizeof is), "image %d: {%d, %d, %d, %d}",
            (int)image, is[0], is[1], is[2], is[3]);
    }
}
END_TEST

START_TEST(texts_are_read)
{
    static const char *const bad[] = {
        "", "2", "2,", "0,9", "9,9", "2,31", "2,-1", "2,9,1", "x,9", "2 9"};
    tutti_rand_range range = {1, 1};
    ck_assert_int_eq(tutti_rand_augment_read("2,9", &range), 1);
    ck_assert_int_eq(range.operations, 2);
    ck_assert_int_eq(range.magnitude, 9);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!tutti_rand_augment_read(bad[i], &range), "%s", bad[i]);
    ck_assert_int_eq(range.operations, 2);
    ck_assert_int_eq(tutti_rand_augment_read("none", &range), 1);
    ck_assert_int_eq(range.operations, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rand_augment");
    TCase *tcase = testing_case(suite, "rand_augment");
    tcase_add_test(tcase, pixels_are_those_of_torchvision);
    tcase_add_test(tcase, draws_are_uniform_and_repeat);
    tcase_add_test(tcase, values_stay);
    tcase_add_test(tcase, texts_are_read);
    return testing_run(suite);
}
