/* apps/data: which part of an image is seen, and its pixels. */
#include "apps/data/view.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

static tutti_view draw(int64_t epoch, int64_t image, int crop)
{
    tutti_view_choice choice = {.augment = 1, .crop = crop, .seed = 4, .epoch = epoch};
    return tutti_view_choose(&choice, image, 30, 20);
}

START_TEST(draws_are_uniform_and_repeat)
{
    enum { N = 81000 };
    int crops[9][9] = {0}, flips = 0, repeats = 0, others = 0;
    for (int64_t image = 0; image < N; image++) {
        tutti_view a = draw(2, image, 1), b = draw(2, image, 1);
        ck_assert_mem_eq(&a, &b, sizeof a);
        ck_assert(a.width == 30 && a.height == 20);
        crops[a.y + 4][a.x + 4]++;
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
        tutti_view a = {
            .x = v / 2 % 9 - PAD, .y = v / 18 - PAD, .width = W, .height = H, .flip = v % 2};
        tutti_view_copy(&a, W, H, C, &pixels[0][0][0], &out[0][0][0]);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int c = 0; c < C; c++) {
                    int from = a.flip ? W - 1 - x : x;
                    ck_assert_int_eq(out[y][x][c], padded[y + PAD + a.y][from + PAD + a.x][c]);
                }
    }
    const tutti_view whole = {.width = W, .height = H};
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
        tutti_view a = {.x = d, .y = d, .width = 2, .height = 1};
        tutti_view_copy(&a, 2, 1, 1, two, out);
        ck_assert_int_eq(out[0], two[abs(d) % 2]);
        ck_assert_int_eq(out[1], two[abs(d + 1) % 2]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *tcase = testing_case(suite, "view");
    tcase_add_test(tcase, draws_are_uniform_and_repeat);
    tcase_add_test(tcase, a_copy_is_pad_crop_flip);
    tcase_add_test(tcase, tiny_images_are_mirrored_again);
    return testing_run(suite);
}
