/* Pooling. The argmax is the place in its window of each output's maximum, row by row. */
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/pool.h"
}

namespace
{

enum { MOST_PLACES = 256 }; /* of a window, which an argmax of a byte can name */

/* A descriptor, with the sizes of y. A GPU takes several times as long to divide in 64 bits. */
struct Pool {
    int32_t N, H, W, C, R, S, stride[2], pad[2], P, Q;
    int counts_padding;
};

inline Pool pool_of(const void *args)
{
    const tutti_pool_desc *d = (const tutti_pool_desc *)args;
    return {(int32_t)d->N, (int32_t)d->H, (int32_t)d->W, (int32_t)d->C, (int32_t)d->R,
        (int32_t)d->S, {(int32_t)d->stride[0], (int32_t)d->stride[1]},
        {(int32_t)d->pad[0], (int32_t)d->pad[1]}, (int32_t)tutti_pool_height(d),
        (int32_t)tutti_pool_width(d), d->counts_padding};
}

inline int64_t x_count(const Pool &d)
{
    return (int64_t)d.N * d.H * d.W * d.C;
}

inline int64_t y_count(const Pool &d)
{
    return (int64_t)d.N * d.P * d.Q * d.C;
}

tutti_status open_avg(const void *desc, void **args)
{
    const tutti_pool_desc *d = (const tutti_pool_desc *)desc;
    const int64_t most = INT32_MAX, axis = most / 4; /* also for an axis with its padding */
    const tutti_status status = tutti_check_pool(d);
    if (status) return status;
    const int64_t y = d->N * tutti_pool_height(d) * tutti_pool_width(d) * d->C;
    if (d->N * d->H * d->W * d->C > most || y > most || d->R > axis || d->S > axis ||
        d->stride[0] > axis || d->stride[1] > axis)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "pool: a tensor of %lld images has more than 2^31 - 1 elements, which is too much for "
            "a GPU: use a smaller batch, or micro-batches",
            (long long)d->N);
    return tutti_cpu_copy("pool", desc, sizeof(tutti_pool_desc), args);
}

tutti_status open_max(const void *desc, void **args)
{
    const tutti_pool_desc *d = (const tutti_pool_desc *)desc;
    if (d->R * d->S > MOST_PLACES)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "pool: the maximum of a window of %lld pixels on a GPU, which takes %d",
            (long long)(d->R * d->S), MOST_PLACES);
    return open_avg(desc, args);
}

/* The pixels of window p of an axis that exist: [first, end). */
struct Range {
    int32_t first, end;
};

TUTTI_BOTH inline Range pixels_of(
    int32_t p, int32_t in, int32_t window, int32_t stride, int32_t pad)
{
    const int32_t first = p * stride - pad, end = first + window;
    return {first < 0 ? 0 : first, end > in ? in : end};
}

/* The windows that pixel h of an axis is in. */
TUTTI_BOTH inline Range windows_of(
    int32_t h, int32_t out, int32_t window, int32_t stride, int32_t pad)
{
    const int32_t after = h + pad - window; /* the last place at which a window ends before h */
    const int32_t first = after < 0 ? 0 : after / stride + 1, end = (h + pad) / stride + 1;
    return {first, end > out ? out : end};
}

TUTTI_BOTH inline int32_t between(int32_t least, int32_t i, int32_t most)
{
    return i < least ? least : i > most ? most : i;
}

/* Kernels for windows of WINDOW x WINDOW pixels, STRIDE apart each way, and in packs; 0: for all. */
template <int WINDOW, int STRIDE> struct Windows {
    Pool pool;
    TUTTI_BOTH Pool known() const
    {
        Pool d = pool;
        if (WINDOW) d.R = d.S = WINDOW, d.stride[0] = d.stride[1] = STRIDE;
        return d;
    }
    static bool are(const Pool &d)
    {
        return d.R == WINDOW && d.S == WINDOW && d.stride[0] == STRIDE && d.stride[1] == STRIDE;
    }
};

/* ---- Maximum ---- */

template <typename Value, int WIDE, int WINDOW, int STRIDE> struct Max {
    const Value *x;
    Value *y;
    uint8_t *argmax;
    Windows<WINDOW, STRIDE> windows;
    Places in, out;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Pool d = windows.known();
        const Place at = out(i);
        const int32_t top = at.h * d.stride[0] - d.pad[0], left = at.w * d.stride[1] - d.pad[1];
        const int32_t h = top < 0 ? 0 : top, w = left < 0 ? 0 : left;
        const int32_t first = in.pack(at.n, h, w, at.c);
        const Pack<Value, WIDE> start = pack_at<WIDE>(x, first);
        float best[WIDE];
        int32_t place[WIDE];
        Pack<uint8_t, WIDE> places;
        for (int j = 0; j < WIDE; j++) {
            best[j] = get(start, j);
            place[j] = (h - top) * d.S + w - left;
        }
        TUTTI_UNROLL
        for (int32_t r = 0; r < d.R; r++) {
            TUTTI_UNROLL
            for (int32_t s = 0; s < d.S; s++) {
                /* where no pixel is, the first one again, which is not more */
                const int32_t row = top + r, column = left + s;
                const bool exists = row >= 0 && row < d.H && column >= 0 && column < d.W;
                const int32_t from = exists ? in.pack(at.n, row, column, at.c) : first;
                const Pack<Value, WIDE> v = pack_at<WIDE>(x, from);
                for (int j = 0; j < WIDE; j++) {
                    if (!(get(v, j) > best[j])) continue;
                    best[j] = get(v, j);
                    place[j] = r * d.S + s;
                }
            }
        }
        for (int j = 0; j < WIDE; j++) places.value[j] = (uint8_t)place[j];
        put_pack(y, i, packed<Value>(best));
        put_pack(argmax, i, places);
    }
};

template <typename Value, int WIDE, int WINDOW, int STRIDE>
tutti_status start_max(const Pool &d, void *const buf[], void *queue)
{
    const Divisor packs(d.C / WIDE);
    const Max<Value, WIDE, WINDOW, STRIDE> element = {(const Value *)buf[0], (Value *)buf[1],
        (uint8_t *)buf[2], {d}, {Divisor(d.H), Divisor(d.W), packs},
        {Divisor(d.P), Divisor(d.Q), packs}};
    return launch("pool_max", y_count(d) / WIDE, element, queue);
}

template <typename Value> tutti_status pool_max(const void *args, void *const buf[], void *queue)
{
    constexpr int WIDE = WIDEST<Value>;
    const Pool d = pool_of(args);
    if (d.C % WIDE || !has_packs<WIDE>((const Value *)buf[0], (Value *)buf[1], (uint8_t *)buf[2]))
        return start_max<Value, 1, 0, 0>(d, buf, queue);
    if (Windows<2, 2>::are(d)) return start_max<Value, WIDE, 2, 2>(d, buf, queue);
    if (Windows<3, 2>::are(d)) return start_max<Value, WIDE, 3, 2>(d, buf, queue);
    return start_max<Value, WIDE, 0, 0>(d, buf, queue);
}

/* Each pixel adds the gradients of the windows of which it is the maximum, in their order. */
template <typename Value, int WIDE> struct MaxBwd {
    const Value *dy;
    const uint8_t *argmax;
    Value *dx;
    Pool d;
    Places in, out;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = in(i);
        const Range p = windows_of(at.h, d.P, d.R, d.stride[0], d.pad[0]);
        const Range q = windows_of(at.w, d.Q, d.S, d.stride[1], d.pad[1]);
        float sum[WIDE] = {};
        for (int32_t r = p.first; r < p.end; r++)
            for (int32_t s = q.first; s < q.end; s++) {
                const int32_t from = out.pack(at.n, r, s, at.c);
                const int32_t row = at.h - r * d.stride[0] + d.pad[0];
                const int32_t column = at.w - s * d.stride[1] + d.pad[1];
                const Pack<Value, WIDE> slopes = pack_at<WIDE>(dy, from);
                const Pack<uint8_t, WIDE> places = pack_at<WIDE>(argmax, from);
                for (int j = 0; j < WIDE; j++)
                    if (places.value[j] == row * d.S + column) sum[j] += get(slopes, j);
            }
        put_pack(dx, i, packed<Value>(sum));
    }
};

/* The same for the pixels of a tile of STRIDE x STRIDE: those of tile t are in window t and in some before it, which are
 * read once. Tile 0 begins in the padding, with window 0. */
template <typename Value, int WIDE, int WINDOW, int STRIDE> struct MaxBwdTile {
    static constexpr int OVERLAP = (WINDOW + STRIDE - 1) / STRIDE;
    const Value *dy;
    const uint8_t *argmax;
    Value *dx;
    Pool d;
    Places in, out, tiles;

    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = tiles(i);
        Pack<Value, WIDE> slopes[OVERLAP][OVERLAP];
        Pack<uint8_t, WIDE> places[OVERLAP][OVERLAP];
        TUTTI_UNROLL
        for (int r = 0; r < OVERLAP; r++) {
            TUTTI_UNROLL
            for (int s = 0; s < OVERLAP; s++) {
                const int32_t p = between(0, at.h - r, d.P - 1), q = between(0, at.w - s, d.Q - 1);
                const int32_t from = out.pack(at.n, p, q, at.c);
                slopes[r][s] = pack_at<WIDE>(dy, from);
                places[r][s] = pack_at<WIDE>(argmax, from);
                if (p != at.h - r || q != at.w - s) slopes[r][s] = {}; /* beside y */
            }
        }
        TUTTI_UNROLL
        for (int h = 0; h < STRIDE; h++) {
            TUTTI_UNROLL
            for (int w = 0; w < STRIDE; w++) {
                const int32_t y = at.h * STRIDE - d.pad[0] + h, x = at.w * STRIDE - d.pad[1] + w;
                float sum[WIDE] = {};
                add_up(sum, slopes, places, h, w);
                const Pack<Value, WIDE> to = packed<Value>(sum);
                if (y >= 0 && y < d.H && x >= 0 && x < d.W)
                    put_pack(dx, in.pack(at.n, y, x, at.c), to);
            }
        }
    }

    /* Of pixel h, w of the tile. */
    TUTTI_BOTH void add_up(float (&sum)[WIDE], const Pack<Value, WIDE> (&slopes)[OVERLAP][OVERLAP],
        const Pack<uint8_t, WIDE> (&places)[OVERLAP][OVERLAP], int h, int w) const
    {
        TUTTI_UNROLL
        for (int r = OVERLAP - 1; r >= 0; r--) {
            TUTTI_UNROLL
            for (int s = OVERLAP - 1; s >= 0; s--) {
                const int row = r * STRIDE + h, column = s * STRIDE + w;
                if (row >= WINDOW || column >= WINDOW) continue;
                for (int j = 0; j < WIDE; j++)
                    if (places[r][s].value[j] == row * WINDOW + column)
                        sum[j] += get(slopes[r][s], j);
            }
        }
    }
};

template <typename Value, int WIDE>
tutti_status start_max_bwd(const Pool &d, void *const buf[], void *queue)
{
    const Divisor packs(d.C / WIDE);
    const MaxBwd<Value, WIDE> element = {(const Value *)buf[0], (const uint8_t *)buf[1],
        (Value *)buf[2], d, {Divisor(d.H), Divisor(d.W), packs},
        {Divisor(d.P), Divisor(d.Q), packs}};
    return launch("pool_max_bwd", x_count(d) / WIDE, element, queue);
}

/* A pad is smaller than a window, but may be larger than a tile: some may have no pixel. */
template <typename Value, int WIDE, int WINDOW, int STRIDE>
tutti_status start_max_bwd_tiles(const Pool &d, void *const buf[], void *queue)
{
    const int32_t down = (d.H - 1 + d.pad[0]) / STRIDE + 1, packs = d.C / WIDE;
    const int32_t across = (d.W - 1 + d.pad[1]) / STRIDE + 1;
    const MaxBwdTile<Value, WIDE, WINDOW, STRIDE> element = {(const Value *)buf[0],
        (const uint8_t *)buf[1], (Value *)buf[2], d, {Divisor(d.H), Divisor(d.W), Divisor(packs)},
        {Divisor(d.P), Divisor(d.Q), Divisor(packs)},
        {Divisor(down), Divisor(across), Divisor(packs)}};
    return launch("pool_max_bwd", (int64_t)d.N * down * across * packs, element, queue);
}

template <typename Value>
tutti_status pool_max_bwd(const void *args, void *const buf[], void *queue)
{
    constexpr int WIDE = WIDEST<Value>;
    const Pool d = pool_of(args);
    if (d.C % WIDE || !has_packs<WIDE>((const Value *)buf[0], (uint8_t *)buf[1], (Value *)buf[2]))
        return start_max_bwd<Value, 1>(d, buf, queue);
    if (Windows<2, 2>::are(d)) return start_max_bwd_tiles<Value, WIDE, 2, 2>(d, buf, queue);
    if (Windows<3, 2>::are(d)) return start_max_bwd_tiles<Value, WIDE, 3, 2>(d, buf, queue);
    return start_max_bwd<Value, WIDE>(d, buf, queue);
}

/* ---- Average ---- */

/* So many elements to a pack: an image may be averaged to few of them. */
enum { AVG_WIDE = 4 };

/* What the sum of a window is divided by. */
TUTTI_BOTH inline float pixels_in(const Pool &d, Range h, Range w)
{
    if (d.counts_padding) return (float)(d.R * d.S);
    return (float)((h.end - h.first) * (w.end - w.first));
}

/* A window that is the image is a row. */
inline Pool avg_of(const void *args)
{
    Pool d = pool_of(args);
    if (d.P > 1 || d.Q > 1 || d.R != d.H || d.S != d.W || d.pad[0] || d.pad[1]) return d;
    d.S = d.W = d.R * d.S;
    d.R = d.H = 1;
    return d;
}

template <typename Value, int WIDE> struct Avg {
    const Value *x;
    Value *y;
    Pool d;
    Places in, out;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = out(i);
        const Range h = pixels_of(at.h, d.H, d.R, d.stride[0], d.pad[0]);
        const Range w = pixels_of(at.w, d.W, d.S, d.stride[1], d.pad[1]);
        const float pixels = pixels_in(d, h, w);
        float sum[WIDE] = {};
        for (int32_t r = h.first; r < h.end; r++) {
            TUTTI_UNROLL_SOME
            for (int32_t s = w.first; s < w.end; s++) {
                const Pack<Value, WIDE> v = pack_at<WIDE>(x, in.pack(at.n, r, s, at.c));
                for (int j = 0; j < WIDE; j++) sum[j] += get(v, j);
            }
        }
        for (int j = 0; j < WIDE; j++) sum[j] /= pixels;
        put_pack(y, i, packed<Value>(sum));
    }
};

template <typename Value, int WIDE>
tutti_status start_avg(const Pool &d, void *const buf[], void *queue)
{
    const Divisor packs(d.C / WIDE);
    const Avg<Value, WIDE> element = {(const Value *)buf[0], (Value *)buf[1], d,
        {Divisor(d.H), Divisor(d.W), packs}, {Divisor(d.P), Divisor(d.Q), packs}};
    return launch("pool_avg", y_count(d) / WIDE, element, queue);
}

template <typename Value> tutti_status pool_avg(const void *args, void *const buf[], void *queue)
{
    const Pool d = avg_of(args);
    const bool packs =
        d.C % AVG_WIDE == 0 && has_packs<AVG_WIDE>((const Value *)buf[0], (Value *)buf[1]);
    return packs ? start_avg<Value, AVG_WIDE>(d, buf, queue) : start_avg<Value, 1>(d, buf, queue);
}

template <typename Value, int WIDE> struct AvgBwd {
    const Value *dy;
    Value *dx;
    Pool d;
    Places in, out;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const Place at = in(i);
        const Range p = windows_of(at.h, d.P, d.R, d.stride[0], d.pad[0]);
        const Range q = windows_of(at.w, d.Q, d.S, d.stride[1], d.pad[1]);
        float sum[WIDE] = {};
        for (int32_t r = p.first; r < p.end; r++)
            for (int32_t s = q.first; s < q.end; s++) {
                const Range h = pixels_of(r, d.H, d.R, d.stride[0], d.pad[0]);
                const Range w = pixels_of(s, d.W, d.S, d.stride[1], d.pad[1]);
                const Pack<Value, WIDE> v = pack_at<WIDE>(dy, out.pack(at.n, r, s, at.c));
                const float pixels = pixels_in(d, h, w);
                for (int j = 0; j < WIDE; j++) sum[j] += get(v, j) / pixels;
            }
        put_pack(dx, i, packed<Value>(sum));
    }
};

template <typename Value, int WIDE>
tutti_status start_avg_bwd(const Pool &d, void *const buf[], void *queue)
{
    const Divisor packs(d.C / WIDE);
    const AvgBwd<Value, WIDE> element = {(const Value *)buf[0], (Value *)buf[1], d,
        {Divisor(d.H), Divisor(d.W), packs}, {Divisor(d.P), Divisor(d.Q), packs}};
    return launch("pool_avg_bwd", x_count(d) / WIDE, element, queue);
}

template <typename Value>
tutti_status pool_avg_bwd(const void *args, void *const buf[], void *queue)
{
    constexpr int WIDE = WIDEST<Value>;
    const Pool d = avg_of(args);
    const bool packs = d.C % WIDE == 0 && has_packs<WIDE>((const Value *)buf[0], (Value *)buf[1]);
    return packs ? start_avg_bwd<Value, WIDE>(d, buf, queue)
                 : start_avg_bwd<Value, 1>(d, buf, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(pool)[] = {
    ROWS(pool_max, open_max, pool_max),
    ROWS(pool_max_bwd, open_max, pool_max_bwd),
    ROWS(pool_avg, open_avg, pool_avg),
    ROWS(pool_avg_bwd, open_avg, pool_avg_bwd),
    {},
};
