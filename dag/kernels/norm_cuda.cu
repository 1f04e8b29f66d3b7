/* Batch normalisation, in the CPU's order (norm_reduce.cuh): a pass that sums, and one in which a thread has the same
 * channels in several rows (Apply, Gradient). */
#include "dag/kernels/norm_reduce.cuh"

#include <math.h>

namespace
{

template <tutti_status (*check)(const tutti_norm_desc *)>
tutti_status open_norm(const void *desc, void **args)
{
    const tutti_norm_desc *d = (const tutti_norm_desc *)desc;
    const tutti_status status = check(d);
    if (status) return status;
    if (d->C > MOST_CHANNELS)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "norm: %lld channels on a GPU, which takes %d",
            (long long)d->C, (int)MOST_CHANNELS);
    const Space s = space_of(d, NULL, NULL);
    const int64_t blocks = s.block0 ? s.blocks : 0;
    const int64_t each =
        2 * s.groups * (int64_t)sizeof(double) + (4 + 2 * blocks) * (int64_t)sizeof(float);
    return open_with("norm", d, (size_t)(each * s.C), args);
}

/* y = scale * x + shift, of a channel's statistics. */
struct Line {
    float scale, shift;
};

TUTTI_BOTH inline Line line_of(
    const float *scaleshift, const float *stats, float eps, int64_t C, int64_t c)
{
    const float inverse = (float)(1 / sqrt((double)stats[C + c] + (double)eps));
    const float scale = scaleshift[c] * inverse;
    return {scale, scaleshift[C + c] - stats[c] * scale};
}

/* ---- Forward ---- */

/* A sum of even rows, and one of odd rows, as far as they are pairs. */
template <int WIDE> struct Chains {
    float even[WIDE] = {}, odd[WIDE] = {};
    TUTTI_BOTH void add(int row, int j, float v)
    {
        if (row % 2)
            odd[j] += v;
        else
            even[j] += v;
    }
};

/* Mean and squared deviations. ROWS: how many rows of its channels a thread keeps, all that a block has; 0: it reads
 * them twice, some at a time. */
template <typename Value, int PACK, int ROWS> struct Moments {
    static constexpr int WIDE = PACK, RESIDENT = ROWS == 8 ? 3 : 2;
    static constexpr bool LINES = false, SHARES = true;
    const Value *x;
    const float *scaleshift;
    float *stats, eps;

    TUTTI_BOTH void begin(const Space &, int64_t, float *, float *, float *) const {}

    template <typename Shared>
    TUTTI_BOTH void sums(const Space &s, int64_t first, int rows, int64_t c, const Shared &, int,
        Pack<float, WIDE> *mean, Pack<float, WIDE> *squares) const
    {
        constexpr int CHUNK = ROWS ? ROWS : 64;
        const Value *from = x + first * s.C + c;
        Kept<Value, WIDE> kept[CHUNK];
        Chains<WIDE> sum, square;
        for (int r0 = 0; r0 < (ROWS ? 1 : rows); r0 += CHUNK) {
            take(kept, from, s.C, r0, rows);
            TUTTI_UNROLL
            for (int r = 0; r < CHUNK; r++) {
                for (int j = 0; j < WIDE; j++)
                    if (r0 + r < rows) sum.add(r, j, kept[r].value(j));
                kept[r].forget();
            }
        }
        for (int j = 0; j < WIDE; j++) mean->value[j] = (sum.even[j] + sum.odd[j]) / (float)rows;
        for (int r0 = 0; r0 < (ROWS ? 1 : rows); r0 += CHUNK) {
            if (!ROWS) take(kept, from, s.C, r0, rows);
            TUTTI_UNROLL
            for (int r = 0; r < CHUNK; r++)
                for (int j = 0; j < WIDE; j++) {
                    const float v = kept[r].value(j) - mean->value[j];
                    if (r0 + r < rows) square.add(r, j, v * v);
                }
        }
        for (int j = 0; j < WIDE; j++) squares->value[j] = square.even[j] + square.odd[j];
    }

    template <int CHUNK>
    TUTTI_BOTH void take(
        Kept<Value, WIDE> (&kept)[CHUNK], const Value *from, int64_t C, int r0, int rows) const
    {
        TUTTI_UNROLL
        for (int r = 0; r < CHUNK; r++)
            if (r0 + r < rows)
                kept[r].take(from + (r0 + r) * C);
            else
                kept[r] = {};
    }

    TUTTI_BOTH void add(double *mean, double *squares, const Share &share, double more_mean,
        double more_squares) const
    {
        const double delta = more_mean - *mean;
        *mean += delta * share.share;
        *squares += more_squares + delta * delta * share.weight;
    }

    TUTTI_BOTH void end(const Space &s, int64_t c, double mean, double squares, float, float) const
    {
        stats[c] = (float)mean;
        stats[s.C + c] = (float)(squares / (double)s.rows);
        const Line line = line_of(scaleshift, stats, eps, s.C, c);
        s.scale[c] = line.scale;
        s.shift[c] = line.shift;
    }
};

/* The ReLU that follows the norm. */
template <typename Value> struct After {
    int relu;
    float limit; /* as values of this type have it; 0: none */
    explicit After(const tutti_norm_desc &d) : relu(d.relu)
    {
        Value value;
        put(&value, 0, d.limit);
        limit = get(&value, 0);
    }

    /* The gradient before it: zero where y, computed as in the forward pass, is not positive, or has reached the
     * limit. LIMITED: whether there may be one. */
    template <bool LIMITED>
    TUTTI_BOTH float through(float dy, float x, float scale, float shift) const
    {
        if (!relu) return dy;
        float y = x * scale + shift;
        if (LIMITED && limit > 0) {
            Value rounded;
            put(&rounded, 0, y);
            y = get(&rounded, 0);
            if (!(y < limit)) return 0.0f;
        }
        return y > 0.0f ? dy : 0.0f;
    }
};

/* ADDS: what the norm writes is rounded as if it had been written, added to `other`, and rectified. */
template <typename Value, int WIDE, bool ADDS> struct Apply {
    static constexpr int DEEP = 4;
    const Value *x, *other;
    Value *y;
    After<Value> after;
    Space s;
    Walk<WIDE, DEEP> walk;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        int64_t place[DEEP];
        const int64_t pack = walk.places(i, place);
        const Pack<float, WIDE> scale = pack_at<WIDE>(s.scale, pack);
        const Pack<float, WIDE> shift = pack_at<WIDE>(s.shift, pack);
        Pack<Value, WIDE> from[DEEP], more[DEEP];
        TUTTI_UNROLL
        for (int k = 0; k < DEEP; k++) {
            if (place[k] < 0) continue;
            from[k] = pack_at<WIDE>(x, place[k]);
            if (ADDS) more[k] = pack_at<WIDE>(other, place[k]);
        }
        TUTTI_UNROLL
        for (int k = 0; k < DEEP; k++) {
            if (place[k] < 0) return;
            float v[WIDE];
            for (int j = 0; j < WIDE; j++) {
                v[j] = get(from[k], j) * scale.value[j] + shift.value[j];
                if (after.relu) v[j] = rectified(v[j]);
                if (after.limit > 0 && v[j] > after.limit) v[j] = after.limit;
            }
            Pack<Value, WIDE> to = packed<Value>(v);
            if (ADDS) {
                for (int j = 0; j < WIDE; j++) v[j] = rectified(get(to, j) + get(more[k], j));
                to = packed<Value>(v);
            }
            put_pack(y, place[k], to);
        }
    }
};

template <int WIDE, bool ADDS, typename Value>
tutti_status apply_in(const char *op, const Value *x, const Value *other, Value *y,
    const After<Value> &after, const Space &s, void *queue)
{
    typedef Apply<Value, WIDE, ADDS> Pass;
    const Pass element = {x, other, y, after, s, Walk<WIDE, Pass::DEEP>(s)};
    return launch(op, element.walk.threads(), element, queue);
}

template <bool ADDS, typename Value>
tutti_status apply(const char *op, const Value *x, const Value *other, Value *y,
    const After<Value> &after, const Space &s, void *queue)
{
    constexpr int WIDE = WIDEST<Value>;
    return s.C % WIDE == 0 && has_packs<WIDE>(x, other, y)
               ? apply_in<WIDE, ADDS>(op, x, other, y, after, s, queue)
               : apply_in<1, ADDS>(op, x, other, y, after, s, queue);
}

/* PACK channels of ROWS rows, which are in registers: 256 bytes, or fewer. */
template <int PACK, int ROWS, typename Value>
tutti_status moments_in(const char *op, const tutti_norm_desc *d, const Value *x,
    const float *scaleshift, float *stats, const Space &s, void *queue)
{
    return reduce(op, Moments<Value, PACK, ROWS>{x, scaleshift, stats, d->eps}, s, queue);
}

template <typename Value, typename... Rest>
tutti_status moments(
    const char *op, const tutti_norm_desc *d, const Value *x, const Space &s, Rest... rest)
{
    constexpr int WIDE = WIDEST<Value>;
    if (s.C % WIDE || !has_packs<WIDE>(x)) return moments_in<1, 0>(op, d, x, rest...);
    if (s.block_rows <= 8) return moments_in<WIDE, 8>(op, d, x, rest...);
    if (s.block_rows <= 16) return moments_in<WIDE, 16>(op, d, x, rest...);
    if (s.block_rows <= 32) return moments_in<WIDE / 2, 32>(op, d, x, rest...);
    if (s.block_rows <= 64) return moments_in<WIDE / 4, 64>(op, d, x, rest...);
    return moments_in<WIDE / 4, 0>(op, d, x, rest...);
}

template <typename Value> tutti_status norm(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const Space s = space_of(k);
    const Value *x = (const Value *)buf[0];
    const tutti_status status =
        moments("norm", &k->desc, x, s, (const float *)buf[1], (float *)buf[3], s, queue);
    return status ? status
                  : apply<false>("norm", x, (const Value *)NULL, (Value *)buf[2],
                        After<Value>(k->desc), s, queue);
}

template <typename Value> tutti_status norm_add(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const Space s = space_of(k);
    const Value *x = (const Value *)buf[0];
    const tutti_status status =
        moments("norm_add", &k->desc, x, s, (const float *)buf[1], (float *)buf[4], s, queue);
    return status ? status
                  : apply<true>("norm_add", x, (const Value *)buf[2], (Value *)buf[3],
                        After<Value>(k->desc), s, queue);
}

struct SetLine {
    const float *scaleshift, *stats;
    float eps;
    Space s;
    TUTTI_BOTH void operator()(int64_t c) const
    {
        const Line line = line_of(scaleshift, stats, eps, s.C, c);
        s.scale[c] = line.scale;
        s.shift[c] = line.shift;
    }
};

template <typename Value> tutti_status norm_infer(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const Space s = space_of(k);
    const SetLine line = {(const float *)buf[1], (const float *)buf[2], k->desc.eps, s};
    const tutti_status status = launch("norm_infer", s.C, line, queue);
    return status ? status
                  : apply<false>("norm_infer", (const Value *)buf[0], (const Value *)NULL,
                        (Value *)buf[3], After<Value>(k->desc), s, queue);
}

/* ---- Gradient ---- */

/* Sums of g and of g * (x - mean). KEEPS: g is dy where y is positive, and is written. */
template <typename Value, int PACK, bool KEEPS, bool LIMITED> struct Slopes {
    static constexpr int WIDE = PACK, RESIDENT = 2;
    /* Rows at a time: as many as registers have room for. */
    static constexpr int CHUNK = PACK == 1 ? 16 : (KEEPS ? 16 : 32) / Kept<Value, PACK>::WORDS;
    static constexpr bool LINES = true, SHARES = false;
    const Value *x, *dy, *y;
    Value *kept;
    const float *scaleshift, *stats;
    float *dscaleshift, eps;
    After<Value> after;

    TUTTI_BOTH void begin(const Space &s, int64_t c, float *scale, float *shift, float *mean) const
    {
        const Line line = line_of(scaleshift, stats, eps, s.C, c);
        *scale = line.scale;
        *shift = line.shift;
        *mean = stats[c];
    }

    template <typename Shared>
    TUTTI_BOTH void sums(const Space &s, int64_t first, int rows, int64_t c, const Shared &shared,
        int lane, Pack<float, WIDE> *sum, Pack<float, WIDE> *product) const
    {
        const Pack<float, WIDE> scale = pack_at<WIDE>(shared.scale, lane);
        const Pack<float, WIDE> shift = pack_at<WIDE>(shared.shift, lane);
        const Pack<float, WIDE> mean = pack_at<WIDE>(shared.mean, lane);
        *sum = *product = {};
        const int64_t packs = s.C / WIDE;
        for (int r0 = 0; r0 < rows; r0 += CHUNK) {
            const int64_t from = (first + r0) * packs + c / WIDE;
            Pack<Value, WIDE> values[CHUNK], slopes[CHUNK], outputs[CHUNK];
            TUTTI_UNROLL
            for (int r = 0; r < CHUNK; r++) {
                if (r0 + r >= rows) continue;
                values[r] = pack_at<WIDE>(x, from + r * packs);
                slopes[r] = pack_at<WIDE>(dy, from + r * packs);
                if (KEEPS) outputs[r] = pack_at<WIDE>(y, from + r * packs);
            }
            TUTTI_UNROLL
            for (int r = 0; r < CHUNK; r++) {
                if (r0 + r >= rows) continue;
                if (KEEPS) {
                    float g[WIDE];
                    for (int j = 0; j < WIDE; j++)
                        g[j] = get(outputs[r], j) > 0 ? get(slopes[r], j) : 0;
                    slopes[r] = packed<Value>(g);
                    put_pack(kept, from + r * packs, slopes[r]);
                }
                for (int j = 0; j < WIDE; j++) {
                    const float v = get(values[r], j);
                    const float dv = get(slopes[r], j);
                    const float g = KEEPS ? dv
                                          : after.template through<LIMITED>(
                                                dv, v, scale.value[j], shift.value[j]);
                    sum->value[j] += g;
                    product->value[j] += g * (v - mean.value[j]);
                }
            }
        }
    }

    TUTTI_BOTH void add(
        double *sum, double *product, const Share &, double more_sum, double more_product) const
    {
        *sum += more_sum;
        *product += more_product;
    }

    TUTTI_BOTH void end(
        const Space &s, int64_t c, double sum, double product, float scale, float shift) const
    {
        const double inverse = 1 / sqrt((double)stats[s.C + c] + (double)eps);
        const double dscale = product * inverse, per_row = (double)scale / (double)s.rows;
        dscaleshift[c] = (float)dscale;
        dscaleshift[s.C + c] = (float)sum;
        s.scale[c] = scale;
        s.shift[c] = shift;
        s.line[c] = (float)(per_row * inverse * dscale);
        s.offset[c] = (float)(per_row * sum);
    }
};

template <typename Value, int WIDE> struct Gradient {
    static constexpr int DEEP = 4;
    const Value *x, *dy;
    const float *mean;
    Value *dx;
    After<Value> after;
    Space s;
    Walk<WIDE, DEEP> walk;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        int64_t place[DEEP];
        const int64_t pack = walk.places(i, place);
        const Pack<float, WIDE> scale = pack_at<WIDE>(s.scale, pack);
        const Pack<float, WIDE> shift = pack_at<WIDE>(s.shift, pack);
        const Pack<float, WIDE> means = pack_at<WIDE>(mean, pack);
        const Pack<float, WIDE> line = pack_at<WIDE>(s.line, pack);
        const Pack<float, WIDE> offset = pack_at<WIDE>(s.offset, pack);
        Pack<Value, WIDE> values[DEEP], slopes[DEEP];
        TUTTI_UNROLL
        for (int k = 0; k < DEEP; k++)
            if (place[k] >= 0) {
                values[k] = pack_at<WIDE>(x, place[k]);
                slopes[k] = pack_at<WIDE>(dy, place[k]);
            }
        TUTTI_UNROLL
        for (int k = 0; k < DEEP; k++) {
            if (place[k] < 0) return;
            float to[WIDE];
            for (int j = 0; j < WIDE; j++) {
                const float v = get(values[k], j);
                const float g = after.template through<true>(
                    get(slopes[k], j), v, scale.value[j], shift.value[j]);
                to[j] = g * scale.value[j] - (v - means.value[j]) * line.value[j] - offset.value[j];
            }
            put_pack(dx, place[k], packed<Value>(to));
        }
    }
};

/* Where the tensors are among the buffers of an op; y: NULL for those of norm_bwd. */
template <typename Value> struct Tensors {
    const Value *x, *dy, *y;
    Value *dx, *kept;
    const float *scaleshift, *stats;
    float *dscaleshift;
};

template <int PACK, bool KEEPS, typename Value>
tutti_status slopes(
    const char *op, const tutti_norm_desc *d, const Tensors<Value> &t, const Space &s, void *queue)
{
    const Slopes<Value, PACK, KEEPS, false> pass = {
        t.x, t.dy, t.y, t.kept, t.scaleshift, t.stats, t.dscaleshift, d->eps, After<Value>(*d)};
    if (KEEPS || !(d->limit > 0)) return reduce(op, pass, s, queue);
    const Slopes<Value, PACK, KEEPS, !KEEPS> limited = {
        t.x, t.dy, t.y, t.kept, t.scaleshift, t.stats, t.dscaleshift, d->eps, After<Value>(*d)};
    return reduce(op, limited, s, queue);
}

template <int WIDE, typename Value>
tutti_status gradient(const char *op, const tutti_norm_desc *d, const Tensors<Value> &t,
    const Value *dy, const Space &s, void *queue)
{
    const Gradient<Value, WIDE> element = {
        t.x, dy, t.stats, t.dx, After<Value>(*d), s, Walk<WIDE, Gradient<Value, WIDE>::DEEP>(s)};
    return launch(op, element.walk.threads(), element, queue);
}

/* Where a block has many rows, it has few channels: smaller packs keep more threads busy. */
template <bool KEEPS, typename Value>
tutti_status bwd(const char *op, const void *args, const Tensors<Value> &t, void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const tutti_norm_desc *d = &k->desc;
    const Space s = space_of(k);
    constexpr int WIDE = WIDEST<Value>;
    const bool packs = s.C % WIDE == 0 && has_packs<WIDE>(t.x, t.dy, t.y, t.dx, t.kept, t.stats);
    tutti_status status;
    if (!packs)
        status = slopes<1, KEEPS>(op, d, t, s, queue);
    else if (s.block_rows > 64)
        status = slopes<WIDE / 4, KEEPS>(op, d, t, s, queue);
    else
        status = slopes<WIDE, KEEPS>(op, d, t, s, queue);
    if (status) return status;
    const Value *dy = KEEPS ? t.kept : t.dy;
    return packs ? gradient<WIDE>(op, d, t, dy, s, queue) : gradient<1>(op, d, t, dy, s, queue);
}

template <typename Value> tutti_status norm_bwd(const void *args, void *const buf[], void *queue)
{
    const Tensors<Value> t = {(const Value *)buf[0], (const Value *)buf[1], NULL, (Value *)buf[4],
        NULL, (const float *)buf[2], (const float *)buf[3], (float *)buf[5]};
    return bwd<false>("norm_bwd", args, t, queue);
}

template <typename Value>
tutti_status norm_add_bwd(const void *args, void *const buf[], void *queue)
{
    const Tensors<Value> t = {(const Value *)buf[0], (const Value *)buf[2], (const Value *)buf[1],
        (Value *)buf[5], (Value *)buf[6], (const float *)buf[3], (const float *)buf[4],
        (float *)buf[7]};
    return bwd<true>("norm_add_bwd", args, t, queue);
}

/* ---- Running statistics ---- */

struct Running {
    const float *stats;
    float *running;
    int64_t C;
    float keep, mean, variance;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<float, WIDE> more = pack_at<WIDE>(stats, i);
        Pack<float, WIDE> to = pack_at<WIDE>(running, i);
        for (int j = 0; j < WIDE; j++)
            to.value[j] = keep * to.value[j] + (i * WIDE + j < C ? mean : variance) * more.value[j];
        put_pack(running, i, to);
    }
};

Work<Running> norm_running(const void *args, void *const buf[])
{
    const tutti_norm_running_desc *d = (const tutti_norm_running_desc *)args;
    const float *stats = (const float *)buf[0], mean = d->momentum * d->weight;
    float *running = (float *)buf[1];
    return {"norm_running", {stats, running, d->C, 1 - d->momentum, mean, mean * d->unbias},
        2 * d->C, has_packs<WORK_WIDE>(stats, running)};
}

} // namespace

#define NORMS(op, check)                                                                           \
    ROW_WITH(op, TUTTI_F32, open_norm<check>, tutti_norm_desc, op<float>),                         \
        ROW_WITH(op, TUTTI_BF16, open_norm<check>, tutti_norm_desc, op<uint16_t>)

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(norm)[] = {
    NORMS(norm, tutti_check_norm),
    NORMS(norm_infer, tutti_check_norm),
    NORMS(norm_bwd, tutti_check_norm),
    NORMS(norm_add, tutti_check_norm_add),
    NORMS(norm_add_bwd, tutti_check_norm_add),
    WORK(norm_running, TUTTI_F32, tutti_open_norm_running, norm_running),
    {},
};
