/* apps/data: resizing against its definition in double precision. */
#include "apps/data/resize.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { C = 3 };

static double filter(int k, double centre, double width)
{
    return fmax(0, 1 - fabs(k + 0.5 - centre) / width);
}

/* One channel of one output pixel. */
static double exact(const tutti_resize *r, const uint8_t *pixels, int i, int j, int c)
{
    double sx = r->across / r->out_width, sy = r->down / r->out_height, sum = 0, weights = 0;
    double cx = r->x + (i + 0.5) * sx, cy = r->y + (j + 0.5) * sy;
    for (int y = r->top; y < r->bottom; y++)
        for (int x = r->left; x < r->right; x++) {
            double w = filter(x, cx, fmax(sx, 1)) * filter(y, cy, fmax(sy, 1));
            weights += w;
            sum += w * pixels[(y * r->width + x) * C + c];
        }
    return sum / weights;
}

static tutti_resize draw(uint64_t seed, uint64_t n, int width, int height)
{
    tutti_resize r = {.width = width, .right = width, .bottom = height};
    r.x = tutti_rng_uniform(seed, n, 0) * (width - 1);
    r.y = tutti_rng_uniform(seed, n, 1) * (height - 1);
    r.across = fmax(0.3, tutti_rng_uniform(seed, n, 2) * (width - r.x));
    r.down = fmax(0.3, tutti_rng_uniform(seed, n, 3) * (height - r.y));
    r.out_width = 1 + (int)tutti_rng_below(seed, n, 4, 40);
    r.out_height = 1 + (int)tutti_rng_below(seed, n, 5, 40);
    r.flip = (int)tutti_rng_below(seed, n, 6, 2);
    if (tutti_rng_below(seed, n, 7, 2) == 0) return r;
    r.left = (int)r.x;
    r.top = (int)r.y;
    r.right = (int)ceil(r.x + r.across);
    r.bottom = (int)ceil(r.y + r.down);
    return r;
}

START_TEST(a_result_is_that_of_the_definition)
{
    enum { MOST = 70 };
    static uint8_t pixels[MOST * MOST * C], out[40 * 40 * C];
    uint64_t seed = testing_seed(11);
    tutti_resize_memory memory = {0};
    double worst = 0;
    for (uint64_t n = 0; n < 150; n++) {
        int width = 1 + (int)tutti_rng_below(seed, n, 8, MOST),
            height = 1 + (int)tutti_rng_below(seed, n, 9, MOST);
        for (int i = 0; i < width * height * C; i++)
            pixels[i] = (uint8_t)tutti_rng_below(seed, 1000 + n, (uint64_t)i, 256);
        tutti_resize r = draw(seed, n, width, height);
        ck_assert_ok(tutti_resize_make(&memory, &r, pixels, out));
        for (int i = 0; i < r.out_width * r.out_height * C; i++) {
            int c = i % C, x = i / C % r.out_width, y = i / C / r.out_width;
            double expected = exact(&r, pixels, r.flip ? r.out_width - 1 - x : x, y, c);
            worst = fmax(worst, fabs(out[i] - expected));
        }
    }
    printf("at most %.4f from the exact value\n", worst);
    ck_assert_double_lt(worst, 0.501); /* half of it is rounding */
    tutti_resize_free(&memory);
}
END_TEST

/* At its own size a picture does not change. */
START_TEST(one_to_one_is_a_copy)
{
    uint8_t pixels[5 * 7 * C], out[3 * 4 * C];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
    tutti_resize r = {.width = 7, .right = 7, .bottom = 5};
    r.x = 2, r.y = 1, r.across = r.out_width = 4, r.down = r.out_height = 3;
    tutti_resize_memory memory = {0};
    ck_assert_ok(tutti_resize_make(&memory, &r, pixels, out));
    for (int y = 0; y < 3; y++) ck_assert_mem_eq(out + y * 12, pixels + (y + 1) * 21 + 6, 12);
    tutti_resize_free(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resize");
    TCase *tcase = testing_case(suite, "resize");
    tcase_add_test(tcase, a_result_is_that_of_the_definition);
    tcase_add_test(tcase, one_to_one_is_a_copy);
    return testing_run(suite);
}
