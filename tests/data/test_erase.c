/* apps/data: random erasing. Rectangles are as the paper draws them, the rest of an image stays, and all is the same
 * again. */
#include "apps/data/erase.h"
#include "tests/support/testing.h"

#include <string.h>

enum { W = 40, H = 32, C = 3, IMAGES = 4000 };

START_TEST(rectangles_are_as_drawn)
{
    const double chance = 0.25;
    int erased = 0, wide = 0, left = 0;
    double area = 0, least = 1, most = 0;
    for (int64_t image = 0; image < IMAGES; image++) {
        const tutti_erase e = tutti_erase_choose(chance, 5, 3, image, W, H);
        if (!e.width) continue;
        const double share = (double)e.width * e.height / (W * H);
        ck_assert_int_ge(e.x, 0);
        ck_assert_int_ge(e.y, 0);
        ck_assert_int_le(e.x + e.width, W);
        ck_assert_int_le(e.y + e.height, H);
        /* Rounded sides change a small rectangle's area and ratio. */
        ck_assert_double_ge((e.height + 0.5) / (e.width - 0.5), 0.3);
        ck_assert_double_le((e.height - 0.5) / (e.width + 0.5), 3.3);
        erased++;
        wide += e.width > e.height;
        left += 2 * e.x + e.width < W;
        area += share;
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    ck_assert_int_gt(erased, (int)(IMAGES * chance * 0.93));
    ck_assert_int_lt(erased, (int)(IMAGES * chance * 1.07));
    ck_assert_double_lt(least, 0.022);
    ck_assert_double_ge(least, 0.015);
    ck_assert_double_gt(most, 0.32);
    ck_assert_double_le(most, 0.345);
    ck_assert_double_gt(area / erased, 0.16);
    ck_assert_double_lt(area / erased, 0.19);
    ck_assert_int_gt(2 * wide, (int)(0.8 * erased));
    ck_assert_int_lt(2 * wide, (int)(1.2 * erased));
    ck_assert_int_gt(2 * left, (int)(0.8 * erased));
    ck_assert_int_lt(2 * left, (int)(1.2 * erased));
}
END_TEST

START_TEST(chances_are_kept)
{
    int all = 0;
    for (int64_t image = 0; image < IMAGES; image++) {
        ck_assert_int_eq(tutti_erase_choose(0, 5, 3, image, W, H).width, 0);
        all += tutti_erase_choose(1, 5, 3, image, W, H).width > 0;
        ck_assert_int_eq(tutti_erase_choose(1, 5, 3, image, 1, 1).width, 0);
    }
    ck_assert_int_eq(all, IMAGES);
}
END_TEST

/* As drawn once: the weights of a run depend on them. */
START_TEST(values_stay)
{
    static const int wanted[][4] = {{23, 8, 7, 21}, {2, 0, 30, 12}, {18, 11, 16, 14}};
    for (int64_t image = 0; image < 3; image++) {
        const tutti_erase e = tutti_erase_choose(1, 5, 3, image, W, H);
        const int is[4] = {e.x, e.y, e.width, e.height};
        ck_assert_msg(!memcmp(is, wanted[image], sizeof is), "image %d: {%d, %d, %d, %d}",
            (int)image, is[0], is[1], is[2], is[3]);
    }
    uint8_t pixels[W * H * C] = {0};
    const tutti_erase e = tutti_erase_choose(1, 5, 3, 0, W, H);
    tutti_erase_apply(&e, W, C, pixels);
    const uint8_t *first = pixels + (e.y * W + e.x) * C,
                  *last = pixels + ((e.y + e.height - 1) * W + e.x + e.width - 1) * C;
    static const uint8_t begin[] = {87, 232, 155}, end[] = {155, 78, 132};
    ck_assert_msg(!memcmp(first, begin, sizeof begin), "%d, %d, %d", first[0], first[1], first[2]);
    ck_assert_msg(!memcmp(last, end, sizeof end), "%d, %d, %d", last[0], last[1], last[2]);
}
END_TEST

/* Bytes in the rectangle are uniform; what is around it stays. Another image, epoch or seed has others. */
START_TEST(pixels_are_erased)
{
    int count[4] = {0}, total = 0;
    for (int64_t image = 0; image < 50; image++) {
        uint8_t before[W * H * C], after[W * H * C];
        memset(before, 77, sizeof before);
        memcpy(after, before, sizeof after);
        const tutti_erase e = tutti_erase_choose(1, 5, 3, image, W, H);
        tutti_erase_apply(&e, W, C, after);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W * C; x++) {
                const int inside = y >= e.y && y < e.y + e.height && x >= e.x * C &&
                                   x < (e.x + e.width) * C,
                          byte = after[y * W * C + x];
                if (!inside) ck_assert_int_eq(byte, 77);
                count[byte / 64] += inside;
                total += inside;
            }
    }
    for (int q = 0; q < 4; q++) {
        ck_assert_int_gt(count[q], (int)(0.24 * total));
        ck_assert_int_lt(count[q], (int)(0.26 * total));
    }
    uint8_t one[W * H] = {0}, other[W * H] = {0};
    tutti_erase e = {0, 0, W, H, 5, 3, 7};
    tutti_erase_apply(&e, W, 1, one);
    for (int k = 0; k < 3; k++) {
        tutti_erase f = e;
        f.seed += k == 0;
        f.epoch += k == 1;
        f.image += k == 2;
        tutti_erase_apply(&f, W, 1, other);
        int same = 0;
        for (int i = 0; i < W * H; i++) same += one[i] == other[i];
        ck_assert_int_lt(same, W * H / 50);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("erase");
    TCase *tcase = testing_case(suite, "erase");
    tcase_add_test(tcase, rectangles_are_as_drawn);
    tcase_add_test(tcase, chances_are_kept);
    tcase_add_test(tcase, values_stay);
    tcase_add_test(tcase, pixels_are_erased);
    return testing_run(suite);
}
