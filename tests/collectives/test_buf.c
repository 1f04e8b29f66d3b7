/* collectives/buf: dst = dst op src for every type and operator, and the pool. */
#include "collectives/buf/buf.h"
#include "dag/base/bf16.h"
#include "tests/support/testing.h"
#include "tests/support/values.h"

#include <complex.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 53 }; /* whole strips and a rest */

/* Small numbers, including 0, and negative ones if the type has them; exact in every type. */
static int64_t number(tutti_dtype dtype, tutti_reduce_op op, int i, int times)
{
    _Alignas(VALUES_LARGEST) char one[VALUES_LARGEST];
    values_store(dtype, one, 0, -1);
    int below = values_load(dtype, one, 0) == -1 && dtype != TUTTI_U64 && op != TUTTI_MINLOC &&
                op != TUTTI_MAXLOC;
    return i * times % 11 - (below ? 3 : 0);
}

static void check(tutti_dtype dtype, tutti_reduce_op op, int src_first)
{
    _Alignas(VALUES_LARGEST) char dst[(N + 1) * VALUES_LARGEST], src[(N + 1) * VALUES_LARGEST],
        should[VALUES_LARGEST];
    for (int i = 0; i <= N; i++) {
        values_store(dtype, dst, i, number(dtype, op, i, 1));
        values_store(dtype, src, i, number(dtype, op, i, 7));
    }
    tutti_buf_reduce(dtype, op, dst, src, N, src_first);
    for (int i = 0; i <= N; i++) {
        int64_t a = number(dtype, op, i, 1), b = number(dtype, op, i, 7);
        values_store(dtype, should, 0, i == N ? a : values_combine(op, a, b));
        ck_assert_msg(values_load(dtype, dst, i) == values_load(dtype, should, 0),
            "%s of %s: %d op %d", tutti_reduce_op_name(op), tutti_dtype_name(dtype), (int)a,
            (int)b);
    }
}

/* Combines n vectors of several strips and a rest, apart or into the first, and one after the other. */
static void check_combined(
    const tutti_user_op *user, tutti_dtype dtype, tutti_reduce_op op, int n, int apart)
{
    enum { MOST = 4, LONG = 5000 + N };
    static _Alignas(VALUES_LARGEST) char vector[MOST][LONG * VALUES_LARGEST],
        got[LONG * VALUES_LARGEST], want[LONG * VALUES_LARGEST];
    const void *src[MOST];
    const size_t bytes = LONG * tutti_dtype_bytes(dtype);
    memset(got, 0, sizeof got);
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < LONG; i++)
            values_store(dtype, vector[k], i, number(dtype, op, i, 1 + 3 * k));
        src[k] = k || apart ? vector[k] : got;
    }
    if (!apart) memcpy(got, vector[0], bytes);
    memcpy(want, vector[0], bytes);
    for (int k = 1; k < n; k++) {
        if (user)
            tutti_buf_reduce_user(user, dtype, want, vector[k], LONG, 0);
        else
            tutti_buf_reduce(dtype, op, want, vector[k], LONG, 0);
    }
    tutti_buf_combine(user, dtype, op, got, src, n, LONG);
    ck_assert_msg(!memcmp(got, want, bytes), "%d vectors, %s of %s", n,
        user ? user->name : tutti_reduce_op_name(op), tutti_dtype_name(dtype));
}

START_TEST(several_vectors_in_one_pass)
{
    for (int n = 1; n <= 4; n++)
        for (int apart = 0; apart < 2; apart++) {
            for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; dtype++)
                for (int op = 0; op < TUTTI_REDUCE_OPS; op++)
                    if (tutti_reduce_op_takes((tutti_reduce_op)op, (tutti_dtype)dtype))
                        check_combined(NULL, (tutti_dtype)dtype, (tutti_reduce_op)op, n, apart);
            check_combined(&values_operators[0], TUTTI_I32, TUTTI_USER_OP, n, apart);
        }
}
END_TEST

/* Not only where all numbers are exact. */
START_TEST(sums_are_added_in_order)
{
    enum { LONG = 1003 };
    static float x[3][LONG], got[LONG];
    const void *src[] = {x[0], x[1], x[2]};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < LONG; i++) x[k][i] = (float)(i % 17 - 8) * (k == 1 ? 1e8f : 0.1f);
    tutti_buf_combine(NULL, TUTTI_F32, TUTTI_SUM, got, src, 3, LONG);
    for (int i = 0; i < LONG; i++) ck_assert(got[i] == (x[0][i] + x[1][i]) + x[2][i]);
}
END_TEST

START_TEST(every_type_and_operator)
{
    int pairs = 0;
    for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; dtype++) {
        ck_assert_uint_le(tutti_dtype_bytes((tutti_dtype)dtype), VALUES_LARGEST);
        for (int op = 0; op < TUTTI_REDUCE_OPS; op++) {
            int takes = tutti_reduce_op_takes((tutti_reduce_op)op, (tutti_dtype)dtype);
            ck_assert_int_eq(takes, tutti_buf_reduces((tutti_dtype)dtype, (tutti_reduce_op)op));
            pairs += takes;
            for (int src_first = 0; takes && src_first < 2; src_first++)
                check((tutti_dtype)dtype, (tutti_reduce_op)op, src_first);
        }
    }
    ck_assert_int_eq(pairs, 8 * 10 + 3 * 4 + 2 * 2 + 4 * 2);
    ck_assert(!tutti_reduce_op_takes(TUTTI_REDUCE_OPS, TUTTI_F32));
    ck_assert(!tutti_reduce_op_takes(TUTTI_USER_OP, TUTTI_F32));
    ck_assert(!tutti_reduce_op_takes(TUTTI_SUM, TUTTI_DTYPE_COUNT));
}
END_TEST

/* Every pair of bytes, against plain C. */
START_TEST(bytes_exhaustively)
{
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            for (int op = 0; op < TUTTI_MINLOC; op++) {
                uint8_t u = (uint8_t)a, with = (uint8_t)b;
                int8_t i = (int8_t)a, with_signed = (int8_t)b;
                tutti_buf_reduce(TUTTI_U8, (tutti_reduce_op)op, &u, &with, 1, a & 1);
                tutti_buf_reduce(TUTTI_I8, (tutti_reduce_op)op, &i, &with_signed, 1, b & 1);
                ck_assert_int_eq(u, (uint8_t)values_combine((tutti_reduce_op)op, a, b));
                ck_assert_int_eq(
                    i, (int8_t)values_combine((tutti_reduce_op)op, (int8_t)a, with_signed));
            }
        }
    }
}
END_TEST

START_TEST(complex_numbers)
{
    for (int src_first = 0; src_first < 2; src_first++) {
        float _Complex a = 3 - 2 * I, b = -1 + 5 * I, sum = a, product = a;
        double _Complex c = a, d = b, product2 = a;
        tutti_buf_reduce(TUTTI_C64, TUTTI_SUM, &sum, &b, 1, src_first);
        tutti_buf_reduce(TUTTI_C64, TUTTI_PROD, &product, &b, 1, src_first);
        tutti_buf_reduce(TUTTI_C128, TUTTI_PROD, &product2, &d, 1, src_first);
        ck_assert(sum == a + b && product == a * b && product2 == c * d);
    }
}
END_TEST

/* Extremes of any type, beyond arithmetic on whole numbers. */
START_TEST(places_of_extremes)
{
    tutti_double_int a[2] = {{-1.5, 7}, {INFINITY, 1}}, b[2] = {{-1.5, 3}, {-INFINITY, 0}};
    tutti_buf_reduce(TUTTI_DOUBLE_INT, TUTTI_MINLOC, a, b, 2, 0);
    ck_assert(a[0].value == -1.5 && a[0].index == 3 && a[1].value == -INFINITY && !a[1].index);
    tutti_long_int c = {LONG_MIN, 2}, d = {LONG_MAX, 9};
    tutti_buf_reduce(TUTTI_LONG_INT, TUTTI_MAXLOC, &c, &d, 1, 1);
    ck_assert(c.value == LONG_MAX && c.index == 9);
    tutti_int_int e = {-4, -2}, f = {-4, -3};
    tutti_buf_reduce(TUTTI_INT_INT, TUTTI_MAXLOC, &e, &f, 1, 0);
    ck_assert(e.value == -4 && e.index == -3);
}
END_TEST

/* 10 a + b: does not commute. */
static void digits(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    ck_assert_int_eq(dtype, TUTTI_I64);
    ++*(int *)ctx;
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)result)[i] = 10 * ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
}

START_TEST(a_programs_own_operator)
{
    int calls = 0;
    const tutti_user_op op = {.name = "digits", .function = digits, .ctx = &calls};
    int64_t dst[2] = {1, 2}, src[2] = {3, 4};
    tutti_buf_reduce_user(&op, TUTTI_I64, dst, src, 2, 0);
    ck_assert(dst[0] == 13 && dst[1] == 24 && src[0] == 3);
    tutti_buf_reduce_user(&op, TUTTI_I64, dst, src, 1, 1);
    ck_assert(dst[0] == 43 && dst[1] == 24 && calls == 2);
}
END_TEST

/* 256 + 1 is a tie between 256 and 258. */
START_TEST(accumulators_round_at_the_end)
{
    uint16_t big[N], one[N], sum[N], product[N];
    float wide[N];
    for (int i = 0; i < N; i++) {
        values_store(TUTTI_BF16, big, i, 256);
        values_store(TUTTI_BF16, one, i, 1 + (i & 1));
    }
    memcpy(sum, big, sizeof sum);
    for (int times = 0; times < 3; times++) tutti_buf_reduce(TUTTI_BF16, TUTTI_SUM, sum, one, N, 0);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(values_load(TUTTI_BF16, sum, i), i & 1 ? 262 : 256);
    tutti_buf_widen(TUTTI_BF16, wide, big, N);
    for (int times = 0; times < 3; times++)
        tutti_buf_accumulate(TUTTI_BF16, TUTTI_SUM, wide, one, N);
    tutti_buf_narrow(TUTTI_BF16, sum, wide, N);
    tutti_buf_accumulate(TUTTI_BF16, TUTTI_PROD, wide, one, N);
    tutti_buf_narrow(TUTTI_BF16, product, wide, N);
    for (int i = 0; i < N; i++) {
        ck_assert(wide[i] == (i & 1 ? 2 * 262.0f : 259.0f));
        ck_assert_int_eq(values_load(TUTTI_BF16, sum, i), i & 1 ? 262 : 260);
        ck_assert_int_eq(values_load(TUTTI_BF16, product, i), i & 1 ? 524 : 260);
    }
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

/* ---- NaNs and zeros: the rule in tutti/op.h ---- */

enum { SPECIALS = 12, PLACES = 2 * N }; /* places: in whole strips and in the rest */

static const uint32_t specials[SPECIALS] = {0x7fc00000, 0xffc00000, 0x7fc12000, 0xffe50000,
    0x7fa00000, 0x7f800000, 0xff800000, 0x00000000, 0x80000000, 0x00010000, 0xbf800000, 0x7f7f0000};

static float special(int i)
{
    float value;
    memcpy(&value, &specials[i % SPECIALS], sizeof value);
    return value;
}

static void store(tutti_dtype dtype, void *x, int i, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (dtype == TUTTI_F32) memcpy((float *)x + i, &value, sizeof value);
    if (dtype == TUTTI_F64) ((double *)x)[i] = (double)value;
    if (dtype == TUTTI_BF16) ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
}

/* Exact: these numbers have few bits. */
static float expected(tutti_reduce_op op, float a, float b)
{
    uint32_t one_nan = 0x7fc00000;
    float result = op == TUTTI_SUM ? a + b : a * b;
    if (op == TUTTI_MIN) result = a < b || (a == b && signbit(a)) ? a : b;
    if (op == TUTTI_MAX) result = a > b || (a == b && !signbit(a)) ? a : b;
    if (isnan(a) || isnan(b) || isnan(result)) memcpy(&result, &one_nan, sizeof result);
    return result;
}

static void check_specials(tutti_dtype dtype, tutti_reduce_op op, int shift)
{
    double a[PLACES] = {0}, b[PLACES] = {0}, want[PLACES] = {0}, other[PLACES], both[PLACES];
    const size_t bytes = PLACES * tutti_dtype_bytes(dtype);
    const void *src[] = {a, b};
    for (int i = 0; i < PLACES; i++) {
        float x = special(i + shift), y = special((i + shift) / SPECIALS + 5 * shift);
        store(dtype, a, i, x);
        store(dtype, b, i, y);
        float result = expected(op, x, y);
        if (dtype == TUTTI_F64 && op <= TUTTI_PROD && isfinite(x) && isfinite(y))
            want[i] = op == TUTTI_SUM ? (double)x + (double)y : (double)x * (double)y;
        else if (dtype == TUTTI_BF16 && op <= TUTTI_PROD)
            ((uint16_t *)want)[i] = tutti_bf16_narrow(result);
        else
            store(dtype, want, i, result);
    }
    memcpy(other, b, sizeof other);
    tutti_buf_combine(NULL, dtype, op, both, src, 2, PLACES);
    tutti_buf_reduce(dtype, op, other, a, PLACES, 1);
    tutti_buf_reduce(dtype, op, a, b, PLACES, 0);
    ck_assert_msg(
        !memcmp(a, want, bytes) && !memcmp(other, want, bytes) && !memcmp(both, want, bytes),
        "%s of %s, shift %d", tutti_reduce_op_name(op), tutti_dtype_name(dtype), shift);
}

START_TEST(nans_and_zeros_have_one_form)
{
    static const tutti_dtype types[] = {TUTTI_F32, TUTTI_F64, TUTTI_BF16};
    for (int t = 0; t < 3; t++)
        for (int op = 0; op <= TUTTI_MAX; op++)
            for (int shift = 0; shift < SPECIALS * SPECIALS; shift++)
                check_specials(types[t], (tutti_reduce_op)op, shift);
}
END_TEST

START_TEST(pairs_prefer_a_nan)
{
    static const tutti_reduce_op ops[] = {TUTTI_MINLOC, TUTTI_MAXLOC};
    for (int o = 0; o < 2; o++) {
        for (int i = 0; i < 4 * SPECIALS * SPECIALS; i++) {
            float x = special(i / 4), y = special(i / 4 / SPECIALS);
            tutti_float_int a = {x, i & 1}, b = {y, i >> 1 & 1}, low = a, high = b;
            tutti_buf_reduce(TUTTI_FLOAT_INT, ops[o], &low, &b, 1, 0);
            tutti_buf_reduce(TUTTI_FLOAT_INT, ops[o], &high, &a, 1, 0);
            ck_assert_mem_eq(&low, &high, sizeof low);
            if (!isnan(x) && !isnan(y)) continue;
            int lowest = a.index < b.index ? a.index : b.index;
            float nan = expected(TUTTI_SUM, x, y);
            ck_assert_mem_eq(&low.value, &nan, sizeof nan);
            ck_assert_int_eq(low.index, isnan(x) && isnan(y) ? lowest
                                        : isnan(x)           ? a.index
                                                             : b.index);
        }
    }
}
END_TEST

START_TEST(complex_parts_have_one_nan)
{
    for (int op = 0; op <= TUTTI_PROD; op++) {
        for (int i = 0; i < SPECIALS * SPECIALS; i++) {
            float a[2] = {special(i), special(i / SPECIALS)}, low[2] = {a[0], a[1]};
            float b[2] = {special(i / 5), special(i + 7)}, high[2] = {b[0], b[1]};
            tutti_buf_reduce(TUTTI_C64, (tutti_reduce_op)op, low, b, 1, 0);
            tutti_buf_reduce(TUTTI_C64, (tutti_reduce_op)op, high, a, 1, 0);
            ck_assert_mem_eq(low, high, sizeof low);
            for (int part = 0; part < 2; part++)
                if (isnan(low[part])) ck_assert_mem_eq(&low[part], &specials[0], sizeof(float));
        }
    }
}
END_TEST

/* A NaN comes out of wider accumulators as out of a sum. */
START_TEST(accumulators_have_one_nan)
{
    uint16_t x[N], sum[N];
    float wide[N];
    for (int i = 0; i < N; i++) x[i] = (uint16_t)(specials[i % 5] >> 16);
    tutti_buf_widen(TUTTI_BF16, wide, x, N);
    tutti_buf_accumulate(TUTTI_BF16, TUTTI_SUM, wide, x, N);
    tutti_buf_narrow(TUTTI_BF16, sum, wide, N);
    for (int i = 0; i < N; i++) ck_assert_int_eq(sum[i], 0x7fc0);
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
    tcase_add_test(tcase, several_vectors_in_one_pass);
    tcase_add_test(tcase, sums_are_added_in_order);
    tcase_add_test(tcase, bytes_exhaustively);
    tcase_add_test(tcase, complex_numbers);
    tcase_add_test(tcase, places_of_extremes);
    tcase_add_test(tcase, a_programs_own_operator);
    tcase_add_test(tcase, accumulators_round_at_the_end);
    tcase_add_test(tcase, integers_wrap);
    tcase_add_test(tcase, nans_and_zeros_have_one_form);
    tcase_add_test(tcase, pairs_prefer_a_nan);
    tcase_add_test(tcase, complex_parts_have_one_nan);
    tcase_add_test(tcase, accumulators_have_one_nan);
    tcase_add_test(tcase, the_pool_gives_blocks_again);
    return testing_run(suite);
}
