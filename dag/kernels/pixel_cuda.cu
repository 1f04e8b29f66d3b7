#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/pixel.h"
}

namespace
{

/* A block of threads computes all that there may be, and looks it up. WIDE bytes are read at once. */
template <typename Value, int WIDE> struct Normalise {
    static constexpr int RESIDENT = 6, BYTES = 256;
    static constexpr int PART = WIDE < WIDEST<Value> ? WIDE : WIDEST<Value>; /* written at once */
    struct Shared {
        Value y[TUTTI_PIXEL_CHANNELS * BYTES];
    };
    const uint8_t *x;
    Value *y;
    int64_t packs;
    int32_t C;
    int depth; /* packs of a thread */
    float mean[TUTTI_PIXEL_CHANNELS], deviation[TUTTI_PIXEL_CHANNELS];

    Normalise(const tutti_normalise_desc *d, void *const buf[])
        : x((const uint8_t *)buf[0]), y((Value *)buf[1]), packs(d->pixels * d->C / WIDE),
          C((int32_t)d->C), depth(packs > THREADS << 11 ? 4 : 1)
    {
        memcpy(mean, d->mean, sizeof mean);
        memcpy(deviation, d->deviation, sizeof deviation);
    }

    TUTTI_BOTH void look_up(const Shared &shared, int64_t i) const
    {
        const Pack<uint8_t, WIDE> from = pack_at<WIDE>(x, i);
        int32_t c = (int32_t)remainder_of(i * WIDE, C);
        TUTTI_UNROLL
        for (int part = 0; part < WIDE / PART; part++) {
            Pack<Value, PART> to;
            TUTTI_UNROLL
            for (int j = 0; j < PART; j++) {
                to.value[j] = shared.y[c * BYTES + from.value[part * PART + j]];
                c = c + 1 < C ? c + 1 : 0;
            }
            put_pack(y, i * (WIDE / PART) + part, to);
        }
    }

    TUTTI_BOTH void operator()(const Block &block, int64_t index, Shared &shared) const
    {
        block.each([&](int t) {
            for (int i = t; i < C * BYTES; i += THREADS) {
                const int c = i / BYTES;
                put(shared.y, i, ((float)(i % BYTES) / 255.0f - mean[c]) / deviation[c]);
            }
        });
        block.each([&](int t) {
            for (int k = 0; k < depth; k++) {
                const int64_t i = (index * depth + k) * THREADS + t;
                if (i < packs) look_up(shared, i);
            }
        });
    }

    tutti_status start(void *queue) const
    {
        const int64_t each = (int64_t)depth * THREADS;
        return launch_blocks("normalise", (packs + each - 1) / each, *this, queue);
    }
};

template <typename Value> tutti_status normalise(const void *args, void *const buf[], void *queue)
{
    const tutti_normalise_desc *d = (const tutti_normalise_desc *)args;
    constexpr int WIDE = WIDEST<uint8_t>;
    const bool packs = d->pixels * d->C % WIDE == 0 && has_packs<WIDE>((uint8_t *)buf[0]) &&
                       has_packs<WIDEST<Value>>((Value *)buf[1]);
    return packs ? Normalise<Value, WIDE>(d, buf).start(queue)
                 : Normalise<Value, 1>(d, buf).start(queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(pixel)[] = {
    ROW(normalise, TUTTI_U8, tutti_open_normalise, normalise<float>),
    ROW(normalise_narrow, TUTTI_U8, tutti_open_normalise, normalise<uint16_t>),
    {},
};
