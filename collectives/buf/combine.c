/* Several vectors of a rank into one, in a single pass. */
#include "collectives/buf/buf.h"
#include "collectives/buf/nan.h"
#include "dag/base/clones.h"

/* Bytes of each vector that are combined at a time: the result stays in the first-level cache. */
enum { STRIP = 4 << 10 };

/* dst = a + b in one pass, with the one NaN of nan.h. The fixed inner count lets the compiler vectorise. */
#define ADD(name, T, one_nan)                                                                      \
    TUTTI_CLONES(name, (T *restrict dst, const T *restrict a, const T *restrict b, int64_t count), \
        (dst, a, b, count))                                                                        \
    {                                                                                              \
        enum { LINE = 16 };                                                                        \
        int64_t i = 0;                                                                             \
        for (; i + LINE <= count; i += LINE)                                                       \
            for (int j = 0; j < LINE; j++) dst[i + j] = one_nan(a[i + j] + b[i + j]);              \
        for (; i < count; i++) dst[i] = one_nan(a[i] + b[i]);                                      \
    }

ADD(add_f32, float, tutti_f32_one_nan)
ADD(add_f64, double, tutti_f64_one_nan)

/* Begins a result in a separate buffer. Returns how many vectors it contains. */
static int begin_result(
    int sums, tutti_dtype dtype, void *dst, const void *first, const void *second, int64_t count)
{
    if (sums && dtype == TUTTI_F32)
        add_f32(dst, first, second, count);
    else if (sums && dtype == TUTTI_F64)
        add_f64(dst, first, second, count);
    else {
        tutti_buf_copy(dst, first, (size_t)count * tutti_dtype_bytes(dtype));
        return 1;
    }
    return 2;
}

void tutti_buf_combine(const tutti_user_op *user, tutti_dtype dtype, tutti_reduce_op op, void *dst,
    const void *const src[], int n, int64_t count)
{
    const size_t element = tutti_dtype_bytes(dtype);
    const int64_t strip = user && user->whole ? count : STRIP / (int64_t)element;
    const int sums = !user && op == TUTTI_SUM && n > 1;
    for (int64_t i = 0; i < count; i += strip) {
        const int64_t some = count - i < strip ? count - i : strip;
        const size_t at = (size_t)i * element;
        char *to = (char *)dst + at;
        int k = 1;
        if (dst != src[0])
            k = begin_result(
                sums, dtype, to, (const char *)src[0] + at, (const char *)src[n > 1] + at, some);
        for (; k < n; k++) {
            const char *from = (const char *)src[k] + at;
            if (user)
                tutti_buf_reduce_user(user, dtype, to, from, some, 0);
            else
                tutti_buf_reduce(dtype, op, to, from, some, 0);
        }
    }
}
