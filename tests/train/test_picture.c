/* apps/train/picture: scaling keeps what it should keep. Files are read in tests/programs/predict.sh. */
#include "apps/train/picture.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static uint8_t from[MOST * MOST * 3], to[MOST * MOST * 3];

static void fill(int h, int w, int (*value)(int y, int x, int c))
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++) from[(y * w + x) * 3 + c] = (uint8_t)value(y, x, c);
}

static int at(int W, int y, int x, int c)
{
    return to[(y * W + x) * 3 + c];
}

static int colour(int y, int x, int c)
{
    (void)y, (void)x;
    return 40 + 100 * c;
}

static int ramp(int y, int x, int c)
{
    return c == 0 ? 4 * x : c == 1 ? 4 * y : 3;
}

static int noise(int y, int x, int c)
{
    return (y * 7919 + x * 104729 + c * 1299709) % 251;
}

static int thirds(int y, int x, int c)
{
    (void)y, (void)c;
    return x < 10 ? 0 : x < 20 ? 100 : 255;
}

START_TEST(one_colour_stays)
{
    static const int sizes[][4] = {
        {10, 20, 5, 5}, {3, 3, 31, 17}, {64, 1, 8, 8}, {7, 64, 64, 7}, {1, 1, 9, 9}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill(sizes[i][0], sizes[i][1], colour);
        int H = sizes[i][2], W = sizes[i][3];
        ck_assert_ok(tutti_picture_scale(from, sizes[i][0], sizes[i][1], H, W, to));
        for (int p = 0; p < H * W; p++)
            for (int c = 0; c < 3; c++) ck_assert_int_eq(to[p * 3 + c], 40 + 100 * c);
    }
}
END_TEST

START_TEST(the_same_size_stays)
{
    fill(13, 17, noise);
    ck_assert_ok(tutti_picture_scale(from, 13, 17, 13, 17, to));
    ck_assert_int_eq(memcmp(from, to, 13 * 17 * 3), 0);
}
END_TEST

/* Half the size: the middle of two pixels is between them; both axes alike, away from the border. */
START_TEST(a_ramp_stays)
{
    fill(60, 60, ramp);
    ck_assert_ok(tutti_picture_scale(from, 60, 60, 30, 30, to));
    for (int y = 2; y < 28; y++)
        for (int x = 2; x < 28; x++) {
            ck_assert_int_eq(at(30, y, x, 0), 8 * x + 2);
            ck_assert_int_eq(at(30, y, x, 1), 8 * y + 2);
            ck_assert_int_eq(at(30, y, x, 2), 3);
        }
}
END_TEST

/* What is too wide loses both sides, as much of each. */
START_TEST(the_middle_is_shown)
{
    fill(10, 30, thirds);
    ck_assert_ok(tutti_picture_scale(from, 10, 30, 10, 10, to));
    for (int p = 0; p < 10 * 10 * 3; p++) ck_assert_int_eq(to[p], 100);
}
END_TEST

/* A pattern of single pixels becomes grey, and not another pattern. */
START_TEST(fine_patterns_vanish)
{
    for (int p = 0; p < 60 * 60; p++) memset(from + 3 * p, (p % 60 + p / 60) % 2 ? 255 : 0, 3);
    ck_assert_ok(tutti_picture_scale(from, 60, 60, 11, 11, to));
    for (int p = 0; p < 11 * 11 * 3; p++) ck_assert_int_le(abs(to[p] - 127), 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("picture");
    TCase *tcase = testing_case(suite, "picture");
    tcase_add_test(tcase, one_colour_stays);
    tcase_add_test(tcase, the_same_size_stays);
    tcase_add_test(tcase, a_ramp_stays);
    tcase_add_test(tcase, the_middle_is_shown);
    tcase_add_test(tcase, fine_patterns_vanish);
    return testing_run(suite);
}
