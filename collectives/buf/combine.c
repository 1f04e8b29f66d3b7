/* Several vectors of a rank into one, in a single pass. */
#include "collectives/buf/buf.h"
#include "collectives/buf/nan.h"
#include "dag/base/clones.h"

#include <string.h>

/* Bytes of each vector that are combined before the next ones: those of the result stay in the first-level cache. */
enum { STRIP = 4 << 10 };

/* Each vector is read once, and the result written once. A line of elements is added in registers, and
 * NaNs get their form (nan.h) while the result is in the cache. */
#define SUM(name, T, one_nan)                                                                      \
    typedef T name##_line __attribute__((vector_size(64)));                                        \
    TUTTI_CLONES static void name##_lines(                                                         \
        T *dst, const void *const src[], int n, int64_t i, int64_t end)                            \
    {                                                                                              \
        enum { LINE = 64 / sizeof(T) };                                                            \
        for (; i + LINE <= end; i += LINE) {                                                       \
            name##_line sum, term;                                                                 \
            memcpy(&sum, (const T *)src[0] + i, sizeof sum);                                       \
            for (int k = 1; k < n; k++) {                                                          \
                memcpy(&term, (const T *)src[k] + i, sizeof term);                                 \
                sum += term;                                                                       \
            }                                                                                      \
            memcpy(dst + i, &sum, sizeof sum);                                                     \
        }                                                                                          \
        for (; i < end; i++) {                                                                     \
            T sum = ((const T *)src[0])[i];                                                        \
            for (int k = 1; k < n; k++) sum += ((const T *)src[k])[i];                             \
            dst[i] = sum;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void name(T *dst, const void *const src[], int n, int64_t count)                        \
    {                                                                                              \
        enum { SOME = STRIP / sizeof(T), ROW = 16 };                                               \
        for (int64_t i = 0, end; i < count; i = end) {                                             \
            end = count - i < SOME ? count : i + SOME;                                             \
            name##_lines(dst, src, n, i, end);                                                     \
            int64_t j = i;                                                                         \
            for (; j + ROW <= end; j += ROW)                                                       \
                for (int k = 0; k < ROW; k++) dst[j + k] = one_nan(dst[j + k]);                    \
            for (; j < end; j++) dst[j] = one_nan(dst[j]);                                         \
        }                                                                                          \
    }

SUM(sum_f32, float, tutti_f32_one_nan)
SUM(sum_f64, double, tutti_f64_one_nan)

void tutti_buf_combine(const tutti_user_op *user, tutti_dtype dtype, tutti_reduce_op op, void *dst,
    const void *const src[], int n, int64_t count)
{
    const size_t element = tutti_dtype_bytes(dtype);
    const int64_t strip = STRIP / (int64_t)element;
    if (n > 1 && !user && op == TUTTI_SUM && dtype == TUTTI_F32) {
        sum_f32(dst, src, n, count);
        return;
    }
    if (n > 1 && !user && op == TUTTI_SUM && dtype == TUTTI_F64) {
        sum_f64(dst, src, n, count);
        return;
    }
    for (int64_t i = 0; i < count; i += strip) {
        const int64_t some = count - i < strip ? count - i : strip;
        char *to = (char *)dst + (size_t)i * element;
        if (dst != src[0])
            tutti_buf_copy(to, (const char *)src[0] + (size_t)i * element, (size_t)some * element);
        for (int k = 1; k < n; k++) {
            const char *from = (const char *)src[k] + (size_t)i * element;
            if (user)
                tutti_buf_reduce_user(user, dtype, to, from, some, 0);
            else
                tutti_buf_reduce(dtype, op, to, from, some, 0);
        }
    }
}
