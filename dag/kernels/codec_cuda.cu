#include "dag/kernels/cuda.cuh"
#include "dag/kernels/rng.cuh"

extern "C" {
#include "dag/kernels/codec.h"
}

#include <math.h>

namespace
{

/* e += g */
struct Gather {
    const float *g;
    float *e;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        e[i] += g[i];
    }
};

TUTTI_BOTH inline int64_t block_at(const tutti_compressed_rows &rows, int64_t replica)
{
    return replica * rows.stride + rows.first;
}

/* ---- onebit ---- */

enum { GROUP = TUTTI_ONEBIT_GROUP, WORD = 32, MEANS = 2, GROUP_WORDS = MEANS + GROUP / WORD };

/* Of a group: one thread adds, in the CPU's order. */
struct Means {
    const float *e;
    int32_t *code;
    int64_t count;
    TUTTI_BOTH void operator()(int64_t group) const
    {
        const int64_t first = group * GROUP, end = first + GROUP < count ? first + GROUP : count;
        double sum[MEANS] = {0, 0};
        int64_t above = 0;
        for (int64_t i = first; i < end; i++) {
            const bool below = e[i] < 0;
            sum[below ? 0 : 1] += (double)e[i];
            above += !below;
        }
        const int64_t below = end - first - above;
        const float mean[MEANS] = {below ? (float)(sum[0] / (double)below) : 0,
            above ? (float)(sum[1] / (double)above) : 0};
        memcpy(code + group * GROUP_WORDS, mean, sizeof mean);
    }
};

/* Of 32 elements: their bits, and what these do not say. */
struct Bits {
    float *e;
    int32_t *code;
    int64_t count;
    TUTTI_BOTH void operator()(int64_t n) const
    {
        int32_t *group = code + n / (GROUP / WORD) * GROUP_WORDS;
        const int64_t first = n * WORD, end = first + WORD < count ? first + WORD : count;
        float mean[MEANS];
        uint32_t word = 0;
        memcpy(mean, group, sizeof mean);
        for (int64_t i = first; i < end; i++) {
            const uint32_t above = !(e[i] < 0);
            word |= above << (i - first);
            e[i] -= mean[above];
        }
        memcpy(group + MEANS + n % (GROUP / WORD), &word, sizeof word);
    }
};

tutti_status onebit_encode(const void *args, void *const buf[], void *queue)
{
    const tutti_onebit_desc *d = (const tutti_onebit_desc *)args;
    float *e = (float *)buf[2];
    int32_t *code = (int32_t *)buf[1] + block_at(d->rows, d->rows.replica);
    const Gather gather = {(const float *)buf[0], e};
    const Means means = {e, code, d->count};
    const Bits bits = {e, code, d->count};
    tutti_status status = launch("onebit_encode", d->count, gather, queue);
    if (!status) status = launch("onebit_encode", (d->count + GROUP - 1) / GROUP, means, queue);
    if (status) return status;
    return launch("onebit_encode", (d->count + WORD - 1) / WORD, bits, queue);
}

struct Onebit {
    const int32_t *code;
    float *g;
    tutti_compressed_rows rows;
    TUTTI_BOTH float value(int replica, int64_t i) const
    {
        const int32_t *group = code + block_at(rows, replica) + i / GROUP * GROUP_WORDS;
        const uint32_t word = (uint32_t)group[MEANS + i % GROUP / WORD];
        float mean[MEANS];
        memcpy(mean, group, sizeof mean);
        return mean[word >> i % WORD & 1];
    }
    TUTTI_BOTH void operator()(int64_t i) const
    {
        float sum = value(0, i);
        for (int r = 1; r < rows.replicas; r++) sum += value(r, i);
        g[i] = sum;
    }
};

tutti_status onebit_decode(const void *args, void *const buf[], void *queue)
{
    const tutti_onebit_desc *d = (const tutti_onebit_desc *)args;
    const Onebit element = {(const int32_t *)buf[0], (float *)buf[1], d->rows};
    return launch("onebit_decode", d->count, element, queue);
}

/* ---- topk ---- */

/* The least magnitude that is kept is found digit by digit, as on the CPU, with smaller digits. Each of PARTS
 * parts of the elements counts for itself; GROUPS groups of parts add what these have counted. All are whole
 * numbers, so that no order matters. */
enum {
    PARTS = 1 << 13,
    GROUPS = 1 << 7,
    GROUP_PARTS = PARTS / GROUPS,
    DIGIT = 4,
    DIGITS = 1 << DIGIT
};
enum { TOP = 28 }; /* where the first digit of a magnitude is, which has 31 bits */

/* What is known of it: digits; a mask of them; how many of the elements that have them are kept. */
struct Least {
    uint32_t found, known;
    int64_t kept;
};

struct Space {
    Least least;
    int64_t times[DIGITS * PARTS], sums[DIGITS * GROUPS];
};

TUTTI_BOTH inline uint32_t magnitude(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff;
}

struct Begin {
    Space *space;
    int64_t kept;
    TUTTI_BOTH void operator()(int64_t) const
    {
        space->least = {0, 0, kept};
    }
};

struct Count {
    const float *e;
    Space *space;
    int64_t count;
    int shift;
    TUTTI_BOTH void operator()(int64_t part) const
    {
        const Least least = space->least;
        int64_t times[DIGITS] = {0};
        for (int64_t i = part; i < count; i += PARTS) {
            const uint32_t m = magnitude(e[i]);
            if ((m & least.known) == least.found) times[m >> shift & (DIGITS - 1)]++;
        }
        for (int digit = 0; digit < DIGITS; digit++)
            space->times[digit * PARTS + part] = times[digit];
    }
};

struct Sums {
    Space *space;
    TUTTI_BOTH void operator()(int64_t n) const
    {
        int64_t sum = 0;
        for (int64_t i = 0; i < GROUP_PARTS; i++) sum += space->times[n * GROUP_PARTS + i];
        space->sums[n] = sum;
    }
};

struct Choose {
    Space *space;
    int shift;
    TUTTI_BOTH int64_t times(int digit) const
    {
        int64_t sum = 0;
        for (int group = 0; group < GROUPS; group++) sum += space->sums[digit * GROUPS + group];
        return sum;
    }
    TUTTI_BOTH void operator()(int64_t) const
    {
        Least *least = &space->least;
        int digit = DIGITS - 1;
        for (int64_t n; (n = times(digit)) < least->kept; digit--) least->kept -= n;
        least->found |= (uint32_t)digit << shift;
        least->known |= (uint32_t)(DIGITS - 1) << shift;
    }
};

/* The elements of a part that follow each other. */
struct Part {
    const float *e;
    int64_t count;
    TUTTI_BOTH int64_t begin(int64_t part) const
    {
        const int64_t each = (count + PARTS - 1) / PARTS, first = part * each;
        return first < count ? first : count;
    }
};

/* times: of those above the least, and of those that equal it. */
struct Weigh {
    Part in;
    Space *space;
    TUTTI_BOTH void operator()(int64_t part) const
    {
        const uint32_t least = space->least.found;
        int64_t above = 0, equal = 0;
        for (int64_t i = in.begin(part); i < in.begin(part + 1); i++) {
            above += magnitude(in.e[i]) > least;
            equal += magnitude(in.e[i]) == least;
        }
        space->times[part] = above;
        space->times[PARTS + part] = equal;
    }
};

struct Take {
    Part in;
    float *e;
    int32_t *code;
    const Space *space;
    int64_t kept;
    TUTTI_BOTH int64_t before(int which, int64_t part) const
    {
        const int64_t group = part / GROUP_PARTS;
        int64_t sum = 0;
        for (int64_t i = 0; i < group; i++) sum += space->sums[which * GROUPS + i];
        for (int64_t i = group * GROUP_PARTS; i < part; i++) sum += space->times[which * PARTS + i];
        return sum;
    }
    TUTTI_BOTH void operator()(int64_t part) const
    {
        const uint32_t least = space->least.found;
        const int64_t most = space->least.kept; /* of those that equal it */
        int64_t above = before(0, part), equal = before(1, part);
        for (int64_t i = in.begin(part); i < in.begin(part + 1); i++) {
            const uint32_t m = magnitude(e[i]);
            if (m < least || (m == least && equal >= most)) continue;
            const int64_t at = above + (equal < most ? equal : most);
            (m == least ? equal : above)++;
            code[at] = (int32_t)i;
            memcpy(&code[kept + at], &e[i], sizeof *e);
            e[i] = 0;
        }
    }
};

tutti_status open_topk_encode(const void *desc, void **args)
{
    const tutti_topk_desc *d = (const tutti_topk_desc *)desc;
    const tutti_status status = tutti_check_topk(d);
    return status ? status : open_with("topk_encode", d, sizeof(Space), args);
}

tutti_status find_least(const tutti_topk_desc *d, const float *e, Space *space, void *queue)
{
    const Begin begin = {space, d->kept};
    tutti_status status = launch("topk_encode", 1, begin, queue);
    for (int shift = TOP; shift >= 0 && !status; shift -= DIGIT) {
        const Count counts = {e, space, d->count, shift};
        const Sums sums = {space};
        const Choose choose = {space, shift};
        status = launch("topk_encode", PARTS, counts, queue);
        if (!status) status = launch("topk_encode", DIGITS * GROUPS, sums, queue);
        if (!status) status = launch("topk_encode", 1, choose, queue);
    }
    return status;
}

tutti_status topk_encode(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_topk_desc> *k = (const Opened<tutti_topk_desc> *)args;
    const tutti_topk_desc *d = &k->desc;
    Space *space = (Space *)k->space->memory;
    float *e = (float *)buf[2];
    int32_t *code = (int32_t *)buf[1] + block_at(d->rows, d->rows.replica);
    const Gather gather = {(const float *)buf[0], e};
    const Part in = {e, d->count};
    const Weigh weigh = {in, space};
    const Sums sums = {space};
    const Take take = {in, e, code, space, d->kept};
    tutti_status status = launch("topk_encode", d->count, gather, queue);
    if (!status) status = find_least(d, e, space, queue);
    if (!status) status = launch("topk_encode", PARTS, weigh, queue);
    if (!status) status = launch("topk_encode", 2 * GROUPS, sums, queue);
    return status ? status : launch("topk_encode", PARTS, take, queue);
}

struct Zero {
    float *g;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        g[i] = 0;
    }
};

/* What one replica has sent: no element comes twice in that. */
struct Sent {
    const int32_t *index, *value;
    float *g;
    int64_t count;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        float sent;
        memcpy(&sent, &value[i], sizeof sent);
        if (index[i] >= 0 && index[i] < count) g[index[i]] += sent;
    }
};

/* A kernel cannot return that what was sent was changed on the way: the gradient is no number. */
struct Refuse {
    const int32_t *code;
    float *g;
    tutti_topk_desc d;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int32_t index = code[block_at(d.rows, i / d.kept) + i % d.kept];
        if (index < 0 || index >= d.count) g[0] = NAN;
    }
};

tutti_status topk_decode(const void *args, void *const buf[], void *queue)
{
    const tutti_topk_desc *d = (const tutti_topk_desc *)args;
    const int32_t *code = (const int32_t *)buf[0];
    float *g = (float *)buf[1];
    const Zero zero = {g};
    const Refuse refuse = {code, g, *d};
    tutti_status status = launch("topk_decode", d->count, zero, queue);
    for (int r = 0; r < d->rows.replicas && !status; r++) {
        const int32_t *index = code + block_at(d->rows, r);
        const Sent sent = {index, index + d->kept, g, d->count};
        status = launch("topk_decode", d->kept, sent, queue);
    }
    return status ? status : launch("topk_decode", d->rows.replicas * d->kept, refuse, queue);
}

/* ---- powersgd ---- */

/* Products are added in as many sums as the CPU's vectors have elements, and these one after another. */
enum { LANES = 16 };

TUTTI_BOTH inline double total(const float *lane)
{
    double sum = 0;
    for (int k = 0; k < LANES; k++) sum += (double)lane[k];
    return sum;
}

/* asleep[j]: whether vector j of q is all 0. */
struct Asleep {
    const float *q;
    int32_t *asleep;
    int64_t columns;
    TUTTI_BOTH void operator()(int64_t j) const
    {
        int64_t i = 0;
        while (i < columns && !(q[j * columns + i] != 0)) i++; /* NaN is not 0 */
        asleep[j] = i == columns;
    }
};

struct Wake {
    float *q;
    const int32_t *asleep;
    tutti_powersgd_desc d;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        if (asleep[i / d.columns])
            q[i] = (float)(2 * drawn_uniform(d.seed, d.stream, (uint64_t)i) - 1);
    }
};

/* p[j] = e q[j] */
struct Left {
    const float *e, *q;
    float *p;
    int64_t rows, columns;
    TUTTI_BOTH void operator()(int64_t n) const
    {
        const float *x = e + n % rows * columns, *y = q + n / rows * columns;
        float lane[LANES] = {0};
        for (int64_t i = 0; i < columns; i += LANES)
            for (int k = 0; k < LANES && i + k < columns; k++) lane[k] += x[i + k] * y[i + k];
        p[n] = (float)total(lane);
    }
};

tutti_status open_left(const void *desc, void **args)
{
    const tutti_powersgd_desc *d = (const tutti_powersgd_desc *)desc;
    const tutti_status status = tutti_check_powersgd(d);
    if (status) return status;
    return open_with("powersgd_left", d, (size_t)d->rank * sizeof(int32_t), args);
}

tutti_status powersgd_left(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_powersgd_desc> *k = (const Opened<tutti_powersgd_desc> *)args;
    const tutti_powersgd_desc *d = &k->desc;
    int32_t *asleep = (int32_t *)k->space->memory;
    float *q = (float *)buf[2], *e = (float *)buf[3];
    const Asleep look = {q, asleep, d->columns};
    const Wake wake = {q, asleep, *d};
    const Gather gather = {(const float *)buf[0], e};
    const Left left = {e, q, (float *)buf[1], d->rows, d->columns};
    tutti_status status = launch("powersgd_left", d->rank, look, queue);
    if (!status) status = launch("powersgd_left", d->rank * d->columns, wake, queue);
    if (!status) status = launch("powersgd_left", d->rows * d->columns, gather, queue);
    return status ? status : launch("powersgd_left", d->rank * d->rows, left, queue);
}

struct Dot {
    const float *x, *y;
    float *lane;
    int64_t count;
    TUTTI_BOTH void operator()(int64_t k) const
    {
        float sum = 0;
        for (int64_t i = k; i < count; i += LANES) sum += x[i] * y[i];
        lane[k] = sum;
    }
};

/* v loses what it has in common with u: `lane` has their product. */
struct Lose {
    const float *u, *lane;
    float *v;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        v[i] += u[i] * (float)-total(lane);
    }
};

/* What is left of a vector, whose square was `before`, gets length 1, or is rounding, and becomes 0. */
struct Normalise {
    const float *before, *after;
    float *v;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const double length = sqrt(total(after));
        if (!isfinite(length))
            v[i] = NAN;
        else if (length <= TUTTI_POWERSGD_ROUNDING * sqrt(total(before)))
            v[i] = 0;
        else
            v[i] = (float)((double)v[i] / length);
    }
};

/* space: the lanes of three products. */
tutti_status make_orthonormal(
    const tutti_powersgd_desc *d, float *p, int j, float *space, void *queue)
{
    float *v = p + j * d->rows, *before = space, *after = space + LANES, *common = after + LANES;
    const Dot first = {v, v, before, d->rows}, last = {v, v, after, d->rows};
    const Normalise normalise = {before, after, v};
    tutti_status status = launch("powersgd_right", LANES, first, queue);
    for (int k = 0; k < j && !status; k++) {
        const float *u = p + k * d->rows;
        const Dot dot = {u, v, common, d->rows};
        const Lose lose = {u, common, v};
        status = launch("powersgd_right", LANES, dot, queue);
        if (!status) status = launch("powersgd_right", d->rows, lose, queue);
    }
    if (!status) status = launch("powersgd_right", LANES, last, queue);
    return status ? status : launch("powersgd_right", d->rows, normalise, queue);
}

/* q[j] = p[j] e */
struct Right {
    const float *p, *e;
    float *q;
    int64_t rows, columns;
    TUTTI_BOTH void operator()(int64_t n) const
    {
        const int64_t j = n / columns, c = n % columns;
        float sum = 0;
        for (int64_t i = 0; i < rows; i++) sum += e[i * columns + c] * p[j * rows + i];
        q[n] = sum;
    }
};

/* x += sign * sum over j of p[j]' q[j] */
struct Product {
    const float *p, *q;
    float *x, sign;
    int64_t rows, columns;
    int rank;
    TUTTI_BOTH void operator()(int64_t n) const
    {
        const int64_t i = n / columns, c = n % columns;
        float sum = x[n];
        for (int j = 0; j < rank; j++) sum += q[j * columns + c] * (p[j * rows + i] * sign);
        x[n] = sum;
    }
};

tutti_status open_right(const void *desc, void **args)
{
    const tutti_powersgd_desc *d = (const tutti_powersgd_desc *)desc;
    const tutti_status status = tutti_check_powersgd(d);
    return status ? status : open_with("powersgd_right", d, 3 * LANES * sizeof(float), args);
}

tutti_status powersgd_right(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_powersgd_desc> *k = (const Opened<tutti_powersgd_desc> *)args;
    const tutti_powersgd_desc *d = &k->desc;
    float *p = (float *)buf[0], *e = (float *)buf[1], *q = (float *)buf[2];
    const Right right = {p, e, q, d->rows, d->columns};
    const Product product = {p, q, e, -1, d->rows, d->columns, d->rank};
    tutti_status status = TUTTI_OK;
    for (int j = 0; j < d->rank && !status; j++)
        status = make_orthonormal(d, p, j, (float *)k->space->memory, queue);
    if (!status) status = launch("powersgd_right", d->rank * d->columns, right, queue);
    return status ? status : launch("powersgd_right", d->rows * d->columns, product, queue);
}

tutti_status powersgd_sum(const void *args, void *const buf[], void *queue)
{
    const tutti_powersgd_desc *d = (const tutti_powersgd_desc *)args;
    float *g = (float *)buf[2];
    const Zero zero = {g};
    const Product product = {
        (const float *)buf[0], (const float *)buf[1], g, 1, d->rows, d->columns, d->rank};
    const tutti_status status = launch("powersgd_sum", d->rows * d->columns, zero, queue);
    return status ? status : launch("powersgd_sum", d->rows * d->columns, product, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(codec)[] = {
    ROW(onebit_encode, TUTTI_F32, tutti_open_onebit, onebit_encode),
    ROW(onebit_decode, TUTTI_I32, tutti_open_onebit, onebit_decode),
    ROW_WITH(topk_encode, TUTTI_F32, open_topk_encode, tutti_topk_desc, topk_encode),
    ROW(topk_decode, TUTTI_I32, tutti_open_topk, topk_decode),
    ROW_WITH(powersgd_left, TUTTI_F32, open_left, tutti_powersgd_desc, powersgd_left),
    ROW_WITH(powersgd_right, TUTTI_F32, open_right, tutti_powersgd_desc, powersgd_right),
    ROW(powersgd_sum, TUTTI_F32, tutti_open_powersgd, powersgd_sum),
    {},
};
