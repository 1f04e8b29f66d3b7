/* The loops of tile.h, for the type TUTTI_SVM_REAL: float, or double where TUTTI_SVM_DOUBLE is defined. */
#include "apps/svm/tile.h"

#include <string.h>

#ifdef TUTTI_SVM_DOUBLE
typedef double real;
typedef int64_t word;
#define NAME(name) TUTTI_CLONE(name##_double)
#else
typedef float real;
typedef int32_t word;
#define NAME(name) TUTTI_CLONE(name##_float)
#endif

#if defined(__AVX512F__)
enum { REGISTER = 64 };
#elif defined(__AVX2__)
enum { REGISTER = 32 };
#else
enum { REGISTER = 16 };
#endif
enum {
    LANES = REGISTER / sizeof(real),
    WIDTH = TUTTI_SVM_PANEL_BYTES / sizeof(real),
    VECTORS = WIDTH / LANES,
    GROUP = 8,   /* rows whose values are stored together */
    AT_ONCE = 4, /* members whose values are added together */
};
typedef real lanes __attribute__((vector_size(REGISTER), may_alias));
typedef word bits __attribute__((vector_size(REGISTER), may_alias));
typedef double wide __attribute__((vector_size(REGISTER), may_alias));
enum { WIDE = REGISTER / sizeof(double) };

#define INLINE static inline __attribute__((always_inline))
#define EACH(j, count) _Pragma("GCC unroll 16") for (int j = 0; j < (count); j++)

/* e^x for x <= 0 (or not large): x = n log 2 + r, a polynomial of r, and n in the exponent. Below the
 * smallest normal number: 0. */
INLINE void exponential(lanes *v)
{
#ifdef TUTTI_SVM_DOUBLE
    static const double term[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
        1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
    const real magic = 6755399441055744.0, least = -708, high = 0.693145751953125,
               low = 1.42860682030941723212e-6, per = 1.44269504088896340736;
    enum { SHIFT = 52, TERMS = sizeof term / sizeof *term };
#else
    static const float term[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
        4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f, 1, 1};
    const real magic = 12582912.0f, least = -87, high = 0.693359375f, low = -2.12194440e-4f,
               per = 1.44269504088896341f;
    enum { SHIFT = 23, TERMS = sizeof term / sizeof *term };
#endif
    const lanes x = *v;
    const lanes shifted = x * per + magic, n = shifted - magic;
    const lanes r = x - n * high - n * low;
    lanes p = r * 0 + term[0];
    _Pragma("GCC unroll 16") for (int t = 1; t < TERMS; t++) p = p * r + term[t];
    const bits exponent = (bits)shifted << SHIFT;
    const bits scaled = (bits)p + exponent;
    *v = (lanes)(scaled & (bits)(x > least));
}

INLINE void hyperbolic_tangent(lanes *v)
{
    const bits negative = (bits)(*v < 0);
    const lanes minus = -*v;
    lanes e = (lanes)(((bits)*v & negative) | ((bits)minus & ~negative)); /* -|v| */
    e = e + e;
    exponential(&e);
    const lanes t = (1 - e) / (1 + e), minus_t = -t;
    *v = (lanes)(((bits)minus_t & negative) | ((bits)t & ~negative));
}

INLINE void power(lanes *v, int degree)
{
    lanes base = *v, result = base * 0 + 1;
    for (; degree > 0; degree /= 2) {
        if (degree % 2) result = result * base;
        base = base * base;
    }
    *v = result;
}

/* From products to kernel values. */
INLINE void apply_kernel(
    const tutti_svm_kernel *k, int vectors, lanes v[VECTORS], real square, const real *panel_square)
{
    const real gamma = (real)k->gamma, coef0 = (real)k->coef0;
    EACH (j, vectors) {
        if (k->kind == TUTTI_SVM_RBF) {
            lanes other;
            memcpy(&other, panel_square + j * LANES, sizeof other);
            const lanes distance = (square + other) - 2 * v[j];
            const lanes positive = (lanes)((bits)distance & (bits)(distance > 0));
            v[j] = -gamma * positive;
            exponential(&v[j]);
        } else if (k->kind != TUTTI_SVM_LINEAR) {
            v[j] = v[j] * gamma + coef0;
            if (k->kind == TUTTI_SVM_POLYNOMIAL) power(&v[j], k->degree);
            if (k->kind == TUTTI_SVM_SIGMOID) hyperbolic_tangent(&v[j]);
        }
    }
}

INLINE void multiply_row(
    const tutti_svm_tile *t, int64_t row, int placed, int vectors, lanes sum[VECTORS])
{
    const real *value = t->value, *panel = t->panel;
    EACH (j, vectors) sum[j] = (lanes){0};
    for (int64_t k = t->first[row]; k < t->first[row + 1]; k++) {
        const uint32_t index = t->index[k];
        const real *line = panel + (size_t)(placed ? t->place[index] : index) * WIDTH;
        const real x = value[k];
        EACH (j, vectors) sum[j] += x * *(const lanes *)(line + j * LANES);
    }
}

/* to[j][i] = k[i][j] for a group of rows. */
INLINE void store_group(const tutti_svm_tile *t, const real (*k)[WIDTH], int64_t at, int rows)
{
    for (int j = 0; j < t->members; j++) {
        real *to = (real *)t->to_member[j] + at;
        if (rows == GROUP)
            EACH (i, GROUP) to[i] = k[i][j];
        else
            for (int i = 0; i < rows; i++) to[i] = k[i][j];
    }
}

/* Of the panel's vectors, the first ones. */
INLINE void fill_tile(const tutti_svm_tile *t, int placed, int vectors)
{
    _Alignas(64) real k[GROUP][WIDTH];
    for (int64_t row = t->from; row < t->to; row += GROUP) {
        const int rows = t->to - row < GROUP ? (int)(t->to - row) : GROUP;
        for (int i = 0; i < rows; i++) {
            lanes sum[VECTORS];
            multiply_row(t, row + i, placed, vectors, sum);
            apply_kernel(&t->kernel, vectors, sum, (real)t->square[row + i], t->panel_square);
            memcpy(k[i], sum, (size_t)vectors * sizeof *sum);
        }
        store_group(t, (const real(*)[WIDTH])k, row - t->from, rows);
    }
}

static void fill_values(const tutti_svm_tile *t)
{
    const int few = t->members <= LANES;
    if (t->place && few)
        fill_tile(t, 1, 1);
    else if (t->place)
        fill_tile(t, 1, VECTORS);
    else if (few)
        fill_tile(t, 0, 1);
    else
        fill_tile(t, 0, VECTORS);
}

/* A vector of doubles of values. */
INLINE void widen_values(wide *to, const real *from)
{
#ifdef TUTTI_SVM_DOUBLE
    memcpy(to, from, sizeof *to);
#else
    typedef float half __attribute__((vector_size(REGISTER / 2)));
    half h;
    memcpy(&h, from, sizeof h);
    *to = __builtin_convertvector(h, wide);
#endif
}

/* Adds `members` members from j on. Their values come from memory, so those of as many next ones are fetched
 * meanwhile. */
INLINE void combine_members(const tutti_svm_combination *c, int j, int members)
{
    const real *value[AT_ONCE], *next[AT_ONCE];
    EACH (m, members) {
        value[m] = c->value[j + m];
        next[m] = c->value[j + members + m < c->members ? j + members + m : j + m];
    }
    int64_t i = 0;
    for (; i + WIDE <= c->rows; i += WIDE) {
        wide sum, x;
        memcpy(&sum, c->sum + i, sizeof sum);
        EACH (m, members) {
            __builtin_prefetch(next[m] + i);
            widen_values(&x, value[m] + i);
            sum += c->weight[j + m] * x;
        }
        memcpy(c->sum + i, &sum, sizeof sum);
    }
    for (; i < c->rows; i++)
        for (int m = 0; m < members; m++) c->sum[i] += c->weight[j + m] * (double)value[m][i];
}

static void combine_values(const tutti_svm_combination *c)
{
    int j = 0;
    for (; j + AT_ONCE <= c->members; j += AT_ONCE) combine_members(c, j, AT_ONCE);
    for (; j < c->members; j++) combine_members(c, j, 1);
}

static void combine_exactly(const tutti_svm_combination *c)
{
    const double first = c->quantum[0], second = c->quantum[1];
    for (int j = 0; j < c->members; j++) {
        const real *value = c->value[j];
        const double weight = c->weight[j];
        for (int64_t i = 0; i < c->rows; i++) {
            const double x = weight * (double)value[i], high = (x + first) - first, low = x - high;
            c->sum[i] += high;
            c->rest[i] += (low + second) - second;
        }
    }
}

typedef int64_t wide_bits __attribute__((vector_size(REGISTER), may_alias));

INLINE void select_wide(wide *to, wide_bits where, const wide *from)
{
    *to = (wide)((where & (wide_bits)*from) | (~where & (wide_bits)*to));
}

/* Nothing found, and the places of the first lanes. */
INLINE void begin_search(wide *most, wide *here)
{
    for (int i = 0; i < WIDE; i++) {
        (*most)[i] = -__builtin_inf();
        (*here)[i] = i;
    }
}

/* The first place of the largest of `most`, whose lanes are at the places `at`; -1: none is above `least`. */
INLINE int64_t place_of_most(const wide *most, const wide *at, double least)
{
    int64_t place = -1;
    for (int i = 0; i < WIDE; i++)
        if ((*most)[i] > least ||
            (place >= 0 && (*most)[i] == least && (int64_t)(*at)[i] < place)) {
            least = (*most)[i];
            place = (int64_t)(*at)[i];
        }
    return place;
}

static int64_t move_pair(tutti_svm_search *s)
{
    wide most, at = {0}, here;
    begin_search(&most, &here);
    for (int64_t k = 0; k < s->count; k += WIDE) {
        wide f, up, low, bar;
        memcpy(&f, s->f + k, sizeof f);
        memcpy(&up, s->move_up + k, sizeof up);
        memcpy(&low, s->move_low + k, sizeof low);
        memcpy(&bar, s->up + k, sizeof bar);
        f += s->step * (up - low);
        memcpy(s->f + k, &f, sizeof f);
        const wide value = -(f + bar);
        const wide_bits more = value > most;
        select_wide(&most, more, &value);
        select_wide(&at, more, &here);
        here += (double)WIDE;
    }
    return place_of_most(&most, &at, -__builtin_inf());
}

static int64_t find_pair(const tutti_svm_search *s, const double row[], int64_t up, double *low_f)
{
    const double up_f = s->f[up], own = row[up];
    wide most = {0}, at = {0}, largest, here, nothing = {0}, least_curvature = nothing + 1e-12;
    begin_search(&largest, &here);
    for (int64_t k = 0; k < s->count; k += WIDE) {
        wide f, bar, other, both;
        memcpy(&f, s->f + k, sizeof f);
        memcpy(&bar, s->low + k, sizeof bar);
        memcpy(&other, s->own + k, sizeof other);
        memcpy(&both, row + k, sizeof both);
        f += bar;
        select_wide(&largest, f > largest, &f);
        const wide b = f - up_f;
        wide a = own + other - 2 * both;
        select_wide(&a, ~(a > 0), &least_curvature);
        wide gain = b * b / a;
        select_wide(&gain, ~(b > 0), &nothing);
        const wide_bits more = gain > most;
        select_wide(&most, more, &gain);
        select_wide(&at, more, &here);
        here += (double)WIDE;
    }
    *low_f = largest[0];
    for (int i = 1; i < WIDE; i++)
        if (largest[i] > *low_f) *low_f = largest[i];
    return place_of_most(&most, &at, 0);
}

extern const tutti_svm_loops NAME(tutti_svm_loops);
const tutti_svm_loops NAME(tutti_svm_loops) = {.element = sizeof(real),
    .width = WIDTH,
    .values = fill_values,
    .combine = combine_values,
    .combine_exactly = combine_exactly,
    .move = move_pair,
    .pair = find_pair};
