/* Sums of each channel, in the CPU's order: blocks of rows are summed in float32, the blocks of a group in double, and
 * the groups in double, one after another.
 *
 * A pass over a tensor is one launch. In the first one a block of threads has a group of some channels (Reduce): its
 * threads sum blocks of rows, then one thread for each channel adds these up; the block that comes last adds up the
 * groups. Of a small tensor several blocks share a group, whose sums the last of them adds up. In the second pass
 * a thread has the same channels in several rows (Walk). Internal to dag/kernels. */
#ifndef TUTTI_NORM_REDUCE_CUH
#define TUTTI_NORM_REDUCE_CUH

#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/norm.h"
}

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

/* Rows of block b. */
TUTTI_BOTH inline int64_t rows_in(const Space &s, int64_t b)
{
    const int64_t left = s.rows - b * s.block_rows;
    return left < s.block_rows ? left : s.block_rows;
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

} // namespace

#endif
