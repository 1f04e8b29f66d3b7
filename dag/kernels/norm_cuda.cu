/* Batch normalisation, in the CPU's order: blocks of rows are summed in float32, the blocks of a
 * group in double, and the groups in double, one after another.
 *
 * A pass over a tensor is one launch. In the first one a block of threads has a group of some channels (Reduce): its
 * threads sum blocks of rows, then one thread for each channel adds these up; the block that comes last adds up the
 * groups. Of a small tensor several blocks share a group, whose sums the last of them adds up. In the second pass
 * (Apply, Gradient) a thread has the same channels in several rows (Walk). */
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/norm.h"
}

#include <math.h>

namespace
{

enum { SET = 32 /* channels of a block of threads, at most */ };
enum { MOST_CHANNELS = SET * TUTTI_WORKSPACE_COUNTERS };
/* Where there are few groups of few channels, several blocks of threads share one: of this many at most. */
enum { FEW_BLOCKS = 128 };

/* Two sums of each group and channel, four coefficients of each channel, and, where groups may be shared, two sums of
 * each block of rows and channel; a counter for each set of channels, and for each group of one. */
struct Space {
    double *group0, *group1;
    float *scale, *shift, *line, *offset, *block0, *block1; /* the last two: or NULL */
    uint32_t *counter;
    int64_t C, rows, block_rows, blocks, groups;
};

inline Space space_of(const tutti_norm_desc *d, void *space, uint32_t *counter)
{
    const int64_t rows = d->N * d->H * d->W, block_rows = tutti_norm_block_rows(d->C);
    const int64_t blocks = (rows + block_rows - 1) / block_rows;
    const int64_t groups = (blocks + TUTTI_NORM_GROUP - 1) / TUTTI_NORM_GROUP;
    double *group0 = (double *)space, *group1 = group0 + groups * d->C;
    float *scale = (float *)(group1 + groups * d->C);
    const bool shared = groups * ((d->C + SET - 1) / SET) <= FEW_BLOCKS;
    float *block0 = shared ? scale + 4 * d->C : NULL;
    float *block1 = shared ? block0 + blocks * d->C : NULL;
    return {group0, group1, scale, scale + d->C, scale + 2 * d->C, scale + 3 * d->C, block0, block1,
        counter, d->C, rows, block_rows, blocks, groups};
}

inline Space space_of(const Opened<tutti_norm_desc> *k)
{
    return space_of(&k->desc, k->space->memory, k->space->counter);
}

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

/* Rows of block b. */
TUTTI_BOTH inline int64_t rows_in(const Space &s, int64_t b)
{
    const int64_t left = s.rows - b * s.block_rows;
    return left < s.block_rows ? left : s.block_rows;
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

/* Chan, Golub, LeVeque 1983: `rows` more rows after `seen` rows count with this share and weight. */
struct Share {
    double share, weight;
};

TUTTI_BOTH inline Share share_of(int64_t seen, int64_t rows)
{
    const double share = (double)rows / (double)(seen + rows);
    return {share, (double)seen * share};
}

/* ---- Two sums of each channel ---- */

/* Pass::sums(s, first, rows, c, ..) writes those of WIDE channels of a block of rows, pass.add(..) adds to what came
 * before, and pass.end(..) gets the sums of all. Where Pass::LINES, pass.begin(..) gives what `sums` needs to know of a
 * channel; where Pass::SHARES, `add` needs the shares. */
template <typename Pass> struct Reduce {
    static constexpr int WIDE = Pass::WIDE, RESIDENT = Pass::RESIDENT, TILE = 16;
    struct Tile { /* of groups */
        double sum0[TILE][SET], sum1[TILE][SET];
        Share share[TILE];
    };
    struct alignas(32) Shared {
        union {
            struct {
                float sum0[TUTTI_NORM_GROUP][SET], sum1[TUTTI_NORM_GROUP][SET];
                Share share[TUTTI_NORM_GROUP];
            } block;
            Tile tile[2];
        };
        alignas(32) float scale[SET], shift[SET], mean[SET];
        double total0[SET], total1[SET];
        int last;
    };
    Pass pass;
    Space s;
    /* that share a row; blocks of rows at a time; sets of channels; blocks of threads that share a group */
    int threads, abreast, sets, parts;

    Reduce(const Pass &of, const Space &space) : pass(of), s(space)
    {
        const int64_t packs = s.C / WIDE;
        threads = packs < SET / WIDE ? (int)packs : SET / WIDE;
        abreast = THREADS / threads < TUTTI_NORM_GROUP ? THREADS / threads : TUTTI_NORM_GROUP;
        sets = (int)((packs + threads - 1) / threads);
        const int64_t group = TUTTI_NORM_GROUP, most = s.blocks < group ? s.blocks : group;
        parts = (int)((most + abreast - 1) / abreast);
        if (s.groups * sets * parts > FEW_BLOCKS) parts = 1;
    }

    TUTTI_BOTH int blocks_of(int64_t group) const
    {
        const int64_t left = s.blocks - group * TUTTI_NORM_GROUP;
        return left < TUTTI_NORM_GROUP ? (int)left : TUTTI_NORM_GROUP;
    }

    TUTTI_BOTH int groups_from(int64_t g0) const
    {
        return s.groups - g0 < TILE ? (int)(s.groups - g0) : TILE;
    }

    /* The channel of this thread among `first` and those behind it, which are the set's; -1: none. */
    TUTTI_BOTH int64_t channel(int64_t first, int t) const
    {
        return t < threads * WIDE && first + t < s.C ? first + t : -1;
    }

    TUTTI_BOTH void sum_blocks(Shared &shared, int64_t group, int part, int64_t first, int t) const
    {
        const int64_t b0 = group * TUTTI_NORM_GROUP;
        const int blocks = blocks_of(group);
        if (Pass::SHARES && t < blocks)
            shared.block.share[t] = share_of(t * s.block_rows, rows_in(s, b0 + t));
        const int lane = t % threads, row = t / threads;
        const int64_t c = first + lane * WIDE;
        if (row >= abreast || c >= s.C) return;
        for (int b = part * abreast + row; b < blocks; b += abreast * parts) {
            Pack<float, WIDE> sum0, sum1;
            pass.sums(
                s, (b0 + b) * s.block_rows, (int)rows_in(s, b0 + b), c, shared, lane, &sum0, &sum1);
            if (parts == 1) {
                put_pack(shared.block.sum0[b], lane, sum0);
                put_pack(shared.block.sum1[b], lane, sum1);
            } else {
                put_pack(s.block0 + (b0 + b) * s.C, c / WIDE, sum0);
                put_pack(s.block1 + (b0 + b) * s.C, c / WIDE, sum1);
            }
        }
    }

    /* Of the last of the blocks of threads that share a group: what all of them have summed. */
    TUTTI_BOTH void gather(Shared &shared, int64_t group, int64_t first, int t) const
    {
        const int64_t b0 = group * TUTTI_NORM_GROUP;
        const int blocks = blocks_of(group), lane = t % SET;
        TUTTI_UNROLL
        for (int k = 0; k < TUTTI_NORM_GROUP * SET / THREADS; k++) {
            const int b = k * (THREADS / SET) + t / SET;
            if (b >= blocks || channel(first, lane) < 0) return;
            shared.block.sum0[b][lane] = latest(s.block0, (b0 + b) * s.C + first + lane);
            shared.block.sum1[b][lane] = latest(s.block1, (b0 + b) * s.C + first + lane);
        }
    }

    TUTTI_BOTH void sum_group(const Shared &shared, int64_t group, int64_t c, int t) const
    {
        const int blocks = blocks_of(group);
        double sum0 = 0, sum1 = 0;
        TUTTI_UNROLL_SOME
        for (int b = 0; b < blocks; b++)
            pass.add(&sum0, &sum1, shared.block.share[b], (double)shared.block.sum0[b][t],
                (double)shared.block.sum1[b][t]);
        s.group0[group * s.C + c] = sum0;
        s.group1[group * s.C + c] = sum1;
    }

    /* Reads a tile of groups, with the threads that do not add one up meanwhile. */
    TUTTI_BOTH void fetch(Tile &tile, int64_t g0, int64_t first, int t) const
    {
        constexpr int READERS = THREADS - SET;
        const int groups = groups_from(g0);
        const int64_t group_rows = TUTTI_NORM_GROUP * s.block_rows, seen = (g0 + t) * group_rows;
        if (Pass::SHARES && t < groups)
            tile.share[t] = share_of(seen, s.rows - seen < group_rows ? s.rows - seen : group_rows);
        TUTTI_UNROLL
        for (int k = 0; k < (TILE * SET + READERS - 1) / READERS; k++) {
            const int i = k * READERS + t, g = i / SET, lane = i % SET;
            if (g >= groups || channel(first, lane) < 0) continue;
            tile.sum0[g][lane] = latest(s.group0, (g0 + g) * s.C + first + lane);
            tile.sum1[g][lane] = latest(s.group1, (g0 + g) * s.C + first + lane);
        }
    }

    TUTTI_BOTH void add_up(Shared &shared, const Tile &tile, int64_t g0, int t) const
    {
        const int groups = groups_from(g0);
        double sum0 = g0 ? shared.total0[t] : 0, sum1 = g0 ? shared.total1[t] : 0;
        TUTTI_UNROLL_SOME
        for (int g = 0; g < groups; g++)
            pass.add(&sum0, &sum1, tile.share[g], tile.sum0[g][t], tile.sum1[g][t]);
        shared.total0[t] = sum0;
        shared.total1[t] = sum1;
    }

    /* Of the last block of a set: the next tile is read while one is added up. */
    TUTTI_BOTH void add_groups(const Block &block, Shared &shared, int64_t first) const
    {
        for (int64_t g0 = -TILE; g0 < s.groups; g0 += TILE)
            block.each([&](int t) {
                const int64_t tile = quotient(g0 + TILE, TILE);
                if (t >= SET)
                    fetch(shared.tile[tile % 2], g0 + TILE, first, t - SET);
                else if (g0 >= 0 && channel(first, t) >= 0)
                    add_up(shared, shared.tile[(tile + 1) % 2], g0, t);
            });
    }

    TUTTI_BOTH void operator()(const Block &block, int64_t index, Shared &shared) const
    {
        const int64_t piece = quotient(index, sets), set = index - piece * sets;
        const int64_t group = quotient(piece, parts), first = set * threads * WIDE;
        const int part = (int)(piece - group * parts);
        if (Pass::LINES)
            block.each([&](int t) {
                const int64_t c = channel(first, t);
                if (c >= 0) pass.begin(s, c, &shared.scale[t], &shared.shift[t], &shared.mean[t]);
            });
        block.each([&](int t) { sum_blocks(shared, group, part, first, t); });
        if (parts > 1) {
            block.each([&](int t) {
                uint32_t *counter = s.counter + (group + 1) * sets + set;
                if (!t) shared.last = comes_last(counter, (uint32_t)parts);
            });
            if (!shared.last) return;
            block.each([&](int t) { gather(shared, group, first, t); });
        }
        block.each([&](int t) {
            const int64_t c = channel(first, t);
            if (c >= 0) sum_group(shared, group, c, t);
        });
        block.each([&](int t) {
            if (!t) shared.last = comes_last(s.counter + set, (uint32_t)s.groups);
        });
        if (!shared.last) return;
        add_groups(block, shared, first);
        block.each([&](int t) {
            const int64_t c = channel(first, t);
            if (c >= 0)
                pass.end(
                    s, c, shared.total0[t], shared.total1[t], shared.scale[t], shared.shift[t]);
        });
    }
};

template <typename Pass>
tutti_status reduce(const char *op, const Pass &pass, const Space &s, void *queue)
{
    const Reduce<Pass> element(pass, s);
    return launch_blocks(op, s.groups * element.sets * element.parts, element, queue);
}

/* ---- Rows of the second pass ---- */

/* A thread has WIDE channels of up to DEEP rows, `abreast` rows apart. The last rows come first: they are what the pass
 * before this one has left in the cache. */
template <int WIDE, int DEEP> struct Walk {
    int64_t rows, packs, abreast;

    explicit Walk(const Space &s) : rows(s.rows), packs(s.C / WIDE)
    {
        abreast = packs < THREADS ? THREADS / packs : 1;
    }

    int64_t threads() const
    {
        const int64_t tile = abreast * DEEP;
        return (rows + tile - 1) / tile * abreast * packs;
    }

    /* Of thread i: which pack of each row; where its packs are, -1 behind the last one. */
    TUTTI_BOTH int64_t places(int64_t i, int64_t place[DEEP]) const
    {
        const int64_t tile = quotient(i, abreast * packs), in_tile = i - tile * abreast * packs;
        const int64_t row = quotient(in_tile, packs), pack = in_tile - row * packs;
        TUTTI_UNROLL
        for (int k = 0; k < DEEP; k++) {
            const int64_t r = (tile * DEEP + k) * abreast + row;
            place[k] = r < rows ? (rows - 1 - r) * packs + pack : -1;
        }
        return pack;
    }
};

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
    const int out = ((const Opened<tutti_norm_desc> *)args)->desc.relu ? 5 : 4;
    const Tensors<Value> t = {(const Value *)buf[0], (const Value *)buf[1], NULL, (Value *)buf[out],
        NULL, (const float *)buf[2], (const float *)buf[3], (float *)buf[out + 1]};
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
