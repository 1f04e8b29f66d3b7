#include "apps/data/jitter.h"

#include "apps/data/draw.h"
#include "dag/base/clones.h"
#include "dag/base/rng.h"

enum { C = TUTTI_JITTER_CHANNELS, ONE = TUTTI_JITTER_ONE, SHIFT = 14, MOST = 255, RUN = 32 };

tutti_jitter tutti_jitter_choose(
    const tutti_jitter_range *range, uint64_t seed, int64_t epoch, int64_t image)
{
    enum { ORDERS = 6 };
    static const tutti_jitter_operation orders[ORDERS][TUTTI_JITTER_OPERATIONS] = {
        {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint32_t word[TUTTI_JITTER_OPERATIONS + 1];
    tutti_rng_philox(
        seed ^ tutti_rng_stream("view.jitter"), (uint64_t)epoch, (uint64_t)image, word);
    const tutti_jitter_operation *order =
        orders[tutti_draw_below(word[TUTTI_JITTER_OPERATIONS], ORDERS)];
    tutti_jitter jitter;
    for (int i = 0; i < TUTTI_JITTER_OPERATIONS; i++) {
        int most = range->most[order[i]];
        jitter.operation[i] = order[i];
        jitter.factor[i] = ONE - most + tutti_draw_below(word[order[i]], 2 * most + 1);
    }
    return jitter;
}

/* other + factor * (x - other), 0 .. 255. The shift rounds down, which below 0 is cut off. */
static inline uint8_t move_value(int x, int other, int factor)
{
    int moved = (other * ONE + factor * (x - other)) >> SHIFT;
    return (uint8_t)(moved < 0 ? 0 : moved > MOST ? MOST : moved);
}

static inline int grey(const uint8_t *p)
{
    return (19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) >> 16;
}

/* work(n), from number i on, for whole runs, then for the others. A fixed count lets the compiler
 * vectorise at any level of optimisation. */
#define RUNS(count, work)                                                                          \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i <= (count)-RUN; i += RUN) work(RUN);                                              \
        work((int)((count)-i));                                                                    \
    }

#define MOVE(n)                                                                                    \
    for (int j = 0; j < (n); j++) values[i + j] = move_value(values[i + j], other, factor)

TUTTI_CLONES(move_all, (int64_t count, int other, int factor, uint8_t *values),
    (count, other, factor, values)){RUNS(count, MOVE)}

#define ADD_GREY(n)                                                                                \
    do {                                                                                           \
        int some = 0;                                                                              \
        for (int j = 0; j < (n); j++) some += grey(pixels + (i + j) * C);                          \
        sum += some;                                                                               \
    } while (0)

TUTTI_CLONES(
    add_grey, (int64_t count, const uint8_t *pixels, int64_t *total), (count, pixels, total))
{
    int64_t sum = 0;
    RUNS(count, ADD_GREY)
    *total = sum;
}

/* Rounded. */
static int mean_grey(int64_t count, const uint8_t *pixels)
{
    int64_t sum;
    add_grey(count, pixels, &sum);
    return count ? (int)((2 * sum + count) / (2 * count)) : 0;
}

#define MOVE_FROM_GREY(n)                                                                          \
    do {                                                                                           \
        uint8_t *p = pixels + i * C, other[RUN * C];                                               \
        for (int j = 0; j < (n); j++)                                                              \
            other[j * C] = other[j * C + 1] = other[j * C + 2] = (uint8_t)grey(p + j * C);         \
        for (int j = 0; j < (n)*C; j++) p[j] = move_value(p[j], other[j], factor);                 \
    } while (0)

TUTTI_CLONES(move_from_grey, (int64_t count, int factor, uint8_t *pixels), (count, factor, pixels))
{
    RUNS(count, MOVE_FROM_GREY)
}

void tutti_jitter_apply(const tutti_jitter *jitter, int64_t count, uint8_t *pixels)
{
    for (int i = 0; i < TUTTI_JITTER_OPERATIONS; i++) {
        int factor = jitter->factor[i];
        if (factor == ONE) continue;
        if (jitter->operation[i] == TUTTI_JITTER_BRIGHTNESS)
            move_all(count * C, 0, factor, pixels);
        else if (jitter->operation[i] == TUTTI_JITTER_CONTRAST)
            move_all(count * C, mean_grey(count, pixels), factor, pixels);
        else
            move_from_grey(count, factor, pixels);
    }
}
