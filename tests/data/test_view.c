/* apps/data: which part of an image is seen, and its pixels. */
#include "apps/data/view.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tutti_view draw(int64_t epoch, int64_t image, int crop)
{
    const tutti_view_choice choice = {
        .augment = TUTTI_AUGMENT_CROP, .crop = crop, .seed = 4, .epoch = epoch};
    const tutti_view_shape shape = {30, 20, 0};
    return tutti_view_choose(&choice, &shape, image, 30, 20);
}

START_TEST(draws_are_uniform_and_repeat)
{
    enum { N = 81000 };
    int crops[9][9] = {0}, flips = 0, repeats = 0, others = 0;
    for (int64_t image = 0; image < N; image++) {
        tutti_view a = draw(2, image, 1), b = draw(2, image, 1);
        ck_assert_mem_eq(&a, &b, sizeof a);
        ck_assert(a.width == 30 && a.height == 20);
        crops[(int)a.y + 4][(int)a.x + 4]++;
        b = draw(2, image, 0);
        ck_assert(b.x == 0 && b.y == 0 && b.flip == a.flip);
        flips += a.flip;
        repeats += a.flip == draw(4, image, 1).flip;
        others += a.flip != draw(3, image, 1).flip;
    }
    ck_assert_int_eq(repeats, N); /* flips alternate */
    ck_assert_int_eq(others, N);
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 9; x++) ck_assert_int_lt(abs(crops[y][x] - N / 81), 160); /* 5 sigma */
    ck_assert_int_lt(abs(flips - N / 2), 750);
}
END_TEST

/* Compared with the definition: pad, crop, flip. */
START_TEST(a_copy_is_pad_crop_flip)
{
    enum { H = 5, W = 6, C = 3, PAD = TUTTI_VIEW_PAD };
    uint8_t pixels[H][W][C], padded[H + 2 * PAD][W + 2 * PAD][C];
    uint8_t out[H][W][C];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < C; c++) pixels[y][x][c] = (uint8_t)(1 + 40 * y + 5 * x + c);
    static const int row[] = {4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1, 0};
    static const int column[] = {4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 4, 3, 2, 1};
    for (int y = 0; y < H + 2 * PAD; y++)
        for (int x = 0; x < W + 2 * PAD; x++) memcpy(padded[y][x], pixels[row[y]][column[x]], C);
    for (int v = 0; v < 9 * 9 * 2; v++) {
        tutti_view a = {.x = v / 2 % 9 - PAD,
            .y = v / 18 - PAD,
            .out_width = W,
            .out_height = H,
            .flip = v % 2};
        tutti_view_copy(&a, W, H, C, &pixels[0][0][0], &out[0][0][0]);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int c = 0; c < C; c++) {
                    int from = a.flip ? W - 1 - x : x;
                    ck_assert_int_eq(
                        out[y][x][c], padded[y + PAD + (int)a.y][from + PAD + (int)a.x][c]);
                }
    }
    const tutti_view whole = {.out_width = W, .out_height = H};
    tutti_view_copy(&whole, W, H, C, &pixels[0][0][0], &out[0][0][0]);
    ck_assert_mem_eq(out, pixels, sizeof pixels);
}
END_TEST

/* An image smaller than the border: mirroring repeats. */
START_TEST(tiny_images_are_mirrored_again)
{
    static const uint8_t two[] = {10, 20};
    uint8_t out[2];
    for (int d = -TUTTI_VIEW_PAD; d <= TUTTI_VIEW_PAD; d++) {
        tutti_view a = {.x = d, .y = d, .out_width = 2, .out_height = 1};
        tutti_view_copy(&a, 2, 1, 1, two, out);
        ck_assert_int_eq(out[0], two[abs(d) % 2]);
        ck_assert_int_eq(out[1], two[abs(d + 1) % 2]);
    }
}
END_TEST

static tutti_view photograph(tutti_augment augment, int64_t image, int width, int height)
{
    const tutti_view_choice choice = {.augment = augment, .crop = 1, .seed = 9, .epoch = 3};
    const tutti_view_shape shape = {224, 224, 256};
    return tutti_view_choose(&choice, &shape, image, width, height);
}

/* torchvision's Resize(256) makes 341x256 of 500x375, and CenterCrop(224) begins at (58, 16): half of 117 is 58.5, and
 * Python rounds to the even neighbour. */
START_TEST(an_evaluation_cuts_out_the_centre)
{
    tutti_view v = photograph(TUTTI_AUGMENT_NONE, 0, 500, 375);
    ck_assert_double_eq_tol(v.x, 58 * 500 / 341.0, 1e-9);
    ck_assert_double_eq_tol(v.y, 16 * 375 / 256.0, 1e-9);
    ck_assert_double_eq_tol(v.width, 224 * 500 / 341.0, 1e-9);
    ck_assert_double_eq_tol(v.height, 224 * 375 / 256.0, 1e-9);
    ck_assert(v.out_width == 224 && v.out_height == 224 && !v.clip && !v.flip);
    v = photograph(TUTTI_AUGMENT_NONE, 0, 3, 5); /* enlarged; 102.5 is 102 */
    ck_assert_double_eq_tol(v.y, 101 * 5 / 426.0, 1e-9);
    ck_assert(v.x >= 0 && v.x + v.width <= 3 && v.y + v.height <= 5);
}
END_TEST

START_TEST(squares_are_spread_over_the_picture)
{
    enum { N = 33 * 118 * 20 };
    static int left[118], top[33];
    for (int64_t image = 0; image < N; image++) {
        tutti_view v = photograph(TUTTI_AUGMENT_CROP, image, 500, 375);
        left[lrint(v.x * 341 / 500)]++;
        top[lrint(v.y * 256 / 375)]++;
        ck_assert(v.x + v.width <= 500 + 1e-9 && v.y + v.height <= 375 + 1e-9);
    }
    for (int i = 0; i < 118; i++) ck_assert_int_lt(abs(left[i] - N / 118), 5 * 26);
    for (int i = 0; i < 33; i++) ck_assert_int_lt(abs(top[i] - N / 33), 5 * 49);
}
END_TEST

/* Of a picture so large that no try fails: area and ratio are uniform, the ratio on a logarithmic scale; so is the
 * place. */
START_TEST(rectangles_have_the_published_distribution)
{
    enum { N = 40000, BINS = 20 };
    int area[BINS] = {0}, ratio[BINS] = {0}, place[BINS] = {0}, flips = 0;
    for (int64_t image = 0; image < N; image++) {
        tutti_view v = photograph(TUTTI_AUGMENT_STANDARD, image, 20000, 20000);
        double a = (v.width * v.height / 4e8 - 0.08) / 0.92;
        double r = (log(v.width / v.height) / log(4.0 / 3) + 1) / 2;
        ck_assert(v.clip && v.x >= 0 && v.y >= 0 && v.width <= 20000 && v.height <= 20000);
        ck_assert(v.x + v.width <= 20000 && v.y + v.height <= 20000);
        flips += v.flip;
        if (a > 0.6) continue; /* larger ones fit only if they are nearly square */
        area[(int)(a * BINS)]++;
        ratio[(int)fmin(fmax(r * BINS, 0), BINS - 1)]++;
        place[(int)fmin(v.x / (20000 - v.width) * BINS, BINS - 1)]++;
    }
    int kept = 0;
    for (int i = 0; i < 12; i++) kept += area[i];
    for (int i = 0; i < 12; i++) ck_assert_int_lt(abs(area[i] - kept / 12), 5 * 45);
    for (int i = 0; i < BINS; i++) {
        ck_assert_int_lt(abs(ratio[i] - kept / BINS), 5 * 35);
        ck_assert_int_lt(abs(place[i] - kept / BINS), 5 * 35);
    }
    ck_assert_int_lt(abs(flips - N / 2), 500);
}
END_TEST

/* In a narrow picture ten tries fail; then the largest rectangle in the centre is taken. */
START_TEST(a_narrow_picture_gets_its_centre)
{
    int centred = 0;
    for (int64_t image = 0; image < 2000; image++) {
        tutti_view v = photograph(TUTTI_AUGMENT_STANDARD, image, 3000, 100);
        ck_assert(v.height <= 100 && v.width <= 3000);
        ck_assert(v.width <= v.height * 1.35 && v.height <= v.width * 1.35);
        centred += v.x == 1433 && v.y == 0 && v.width == 133 && v.height == 100;
    }
    ck_assert_int_eq(centred, 2000);
    tutti_view one = photograph(TUTTI_AUGMENT_STANDARD, 7, 1, 1);
    ck_assert(one.width == 1 && one.height == 1 && one.x == 0 && one.y == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *tcase = testing_case(suite, "view");
    tcase_add_test(tcase, draws_are_uniform_and_repeat);
    tcase_add_test(tcase, a_copy_is_pad_crop_flip);
    tcase_add_test(tcase, tiny_images_are_mirrored_again);
    tcase_add_test(tcase, an_evaluation_cuts_out_the_centre);
    tcase_add_test(tcase, squares_are_spread_over_the_picture);
    tcase_add_test(tcase, rectangles_have_the_published_distribution);
    tcase_add_test(tcase, a_narrow_picture_gets_its_centre);
    return testing_run(suite);
}
