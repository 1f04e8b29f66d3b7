/* collectives/buf: dst = dst op src for every type and operator, and the pool. */
#include "collectives/buf/buf.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 53 }; /* whole strips and a rest */

static double expected(tutti_reduce_op op, double a, double b)
{
    const double results[] = {
        [TUTTI_SUM] = a + b,
        [TUTTI_PROD] = a * b,
        [TUTTI_MIN] = a < b ? a : b,
        [TUTTI_MAX] = a > b ? a : b,
    };
    return results[op];
}

#define CHECK_TYPE(dtype, T, low)                                                                  \
    do {                                                                                           \
        for (int op = 0; op < TUTTI_REDUCE_OPS; op++) {                                            \
            for (int src_first = 0; src_first < 2; src_first++) {                                  \
                T dst[N + 1], src[N + 1], old[N + 1];                                              \
                for (int i = 0; i <= N; i++) {                                                     \
                    old[i] = dst[i] = (T)(i % 11 + (low));                                         \
                    src[i] = (T)(i % 7 + (low));                                                   \
                }                                                                                  \
                tutti_buf_reduce(dtype, (tutti_reduce_op)op, dst, src, N, src_first);              \
                for (int i = 0; i < N; i++)                                                        \
                    ck_assert_double_eq((double)dst[i],                                            \
                        expected((tutti_reduce_op)op, (double)old[i], (double)src[i]));            \
                ck_assert(dst[N] == old[N]);                                                       \
            }                                                                                      \
        }                                                                                          \
    } while (0)

START_TEST(every_type_and_operator)
{
    CHECK_TYPE(TUTTI_F32, float, -3);
    CHECK_TYPE(TUTTI_F64, double, -3);
    CHECK_TYPE(TUTTI_I32, int32_t, -3);
    CHECK_TYPE(TUTTI_I64, int64_t, -3);
    CHECK_TYPE(TUTTI_U8, uint8_t, 0);
}
END_TEST

START_TEST(integers_wrap)
{
    int32_t a = INT32_MAX, b = 1;
    tutti_buf_reduce(TUTTI_I32, TUTTI_SUM, &a, &b, 1, 0);
    ck_assert_int_eq(a, INT32_MIN);
    int64_t c = INT64_MAX, d = 2;
    tutti_buf_reduce(TUTTI_I64, TUTTI_PROD, &c, &d, 1, 0);
    ck_assert_int_eq(c, -2);
    uint8_t e = 200, f = 100;
    tutti_buf_reduce(TUTTI_U8, TUTTI_SUM, &e, &f, 1, 0);
    ck_assert_int_eq(e, 44);
}
END_TEST

/* Two ranks that hold a and b both compute a op b: one has a in dst, the other in src. */
START_TEST(both_ends_get_the_same_bits)
{
    const float values[] = {0.0f, -0.0f, 1.5f, -1e-40f, INFINITY, 3e38f};
    for (int op = 0; op < TUTTI_REDUCE_OPS; op++) {
        for (size_t i = 0; i < 36; i++) {
            float a = values[i / 6], b = values[i % 6], low = a, high = b;
            tutti_buf_reduce(TUTTI_F32, (tutti_reduce_op)op, &low, &b, 1, 0);
            tutti_buf_reduce(TUTTI_F32, (tutti_reduce_op)op, &high, &a, 1, 1);
            if (!isnan(low)) ck_assert_mem_eq(&low, &high, sizeof low);
        }
    }
}
END_TEST

START_TEST(the_pool_gives_blocks_again)
{
    static const size_t sizes[] = {0, 1, 256, 257, 5000, 100000, 3000001};
    tutti_pool *pool;
    ck_assert_ok(tutti_pool_new(&pool));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *first, *second, *again;
        ck_assert_ok(tutti_pool_take(pool, sizes[i], &first));
        ck_assert_ok(tutti_pool_take(pool, sizes[i], &second));
        ck_assert_ptr_ne(first, second);
        ck_assert_uint_eq((uintptr_t)first % 64, 0);
        memset(first, 1, sizes[i]);
        memset(second, 2, sizes[i]);
        tutti_pool_give(pool, first);
        ck_assert_ok(tutti_pool_take(pool, sizes[i], &again));
        ck_assert_ptr_eq(first, again);
        tutti_pool_give(pool, again);
        tutti_pool_give(pool, second);
        tutti_pool_give(pool, NULL);
    }
    void *block = NULL;
    ck_assert_int_eq(tutti_pool_take(pool, SIZE_MAX, &block), TUTTI_ERR_NOMEM);
    ck_assert_ptr_null(block);
    tutti_pool_free(pool);
    tutti_pool_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buf");
    TCase *tcase = testing_case(suite, "buf");
    tcase_add_test(tcase, every_type_and_operator);
    tcase_add_test(tcase, integers_wrap);
    tcase_add_test(tcase, both_ends_get_the_same_bits);
    tcase_add_test(tcase, the_pool_gives_blocks_again);
    return testing_run(suite);
}
