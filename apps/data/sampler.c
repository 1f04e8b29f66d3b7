#include "apps/data/sampler.h"

#include "dag/base/rng.h"

#include <math.h>

/* 8 rounds are visibly uneven for data sets of a few images (tests/data/test_sampler.c); 12 are
 * not. 16 leave a margin. */
enum { ROUNDS = 16 };

/* Uniform below `bound`, from the round, the epoch and the unchanged half. */
static uint64_t mix(uint64_t key, int round, uint64_t epoch, uint64_t half, uint64_t bound)
{
    uint32_t w[4];
    tutti_rng_philox(key, epoch, half * ROUNDS + (uint64_t)round, w);
    return (uint64_t)(((unsigned __int128)((uint64_t)w[1] << 32 | w[0]) * bound) >> 64);
}

int64_t tutti_sampler_permute(uint64_t seed, int64_t epoch, int64_t count, int64_t place)
{
    uint64_t key = seed ^ tutti_rng_stream("sampler.permute");
    uint64_t n = (uint64_t)count, a = (uint64_t)sqrt((double)n);
    if (a == 0) a = 1;
    uint64_t b = n / a + (n % a != 0), x = (uint64_t)place;
    do {
        uint64_t left = x % a, right = x / a;
        for (int round = 0; round < ROUNDS; round += 2) {
            left = (left + mix(key, round, (uint64_t)epoch, right, a)) % a;
            right = (right + mix(key, round + 1, (uint64_t)epoch, left, b)) % b;
        }
        x = right * a + left;
        /* a permutation of a*b places: the cycle returns below n, where it began */
    } while (x >= n);
    return (int64_t)x;
}

/* The order of the runs, the order within each, and where they begin are independent of each other. */
static int64_t permute_runs(const tutti_sampler *s, int64_t epoch, int64_t place)
{
    uint64_t stream = (uint64_t)epoch, count = (uint64_t)s->count;
    int64_t whole = s->count / s->window, run = place / s->window, size = s->window;
    int64_t within = place - run * s->window;
    if (run < whole)
        run = tutti_sampler_permute(s->seed ^ tutti_rng_stream("sampler.runs"), epoch, whole, run);
    else
        size = s->count - whole * s->window;
    uint64_t key = s->seed ^ tutti_rng_stream("sampler.window");
    within = tutti_sampler_permute(tutti_rng_u64(key, stream, (uint64_t)run), epoch, size, within);
    int64_t image = run * s->window + within, past = s->count - image;
    key = s->seed ^ tutti_rng_stream("sampler.begin");
    int64_t begin = (int64_t)tutti_rng_below(key, stream, 0, count);
    return begin < past ? image + begin : begin - past;
}

/* The image at a place of an epoch. */
static int64_t order_image(const tutti_sampler *s, int64_t epoch, int64_t place)
{
    if (s->window > 0 && s->window < s->count) return permute_runs(s, epoch, place);
    return tutti_sampler_permute(s->seed, epoch, s->count, place);
}

/* ranks * batch, at most INT64_MAX. */
static int64_t global_batch(const tutti_sampler *sampler)
{
    int64_t product;
    return __builtin_mul_overflow(sampler->batch, (int64_t)sampler->ranks, &product) ? INT64_MAX
                                                                                     : product;
}

int64_t tutti_sampler_steps(const tutti_sampler *sampler)
{
    int64_t global = global_batch(sampler), whole = sampler->count / global;
    if (sampler->train && sampler->most > 0 && whole > sampler->most) whole = sampler->most;
    int64_t multiple = sampler->multiple > 1 ? sampler->multiple : 1;
    return sampler->train ? whole - whole % multiple : whole + (sampler->count % global != 0);
}

int64_t tutti_sampler_image(const tutti_sampler *sampler, int64_t step, int64_t row, int64_t *epoch)
{
    int64_t steps = tutti_sampler_steps(sampler), e = sampler->train ? step / steps : 0;
    int64_t first = (step - e * steps) * global_batch(sampler), offset;
    if (epoch) *epoch = e;
    /* Only an evaluation with a batch larger than any data set overflows; that row is past the end. */
    if (__builtin_mul_overflow((int64_t)sampler->rank, sampler->batch, &offset)) return -1;
    if (offset >= sampler->count - first) return -1;
    int64_t place = first + offset + row;
    if (place >= sampler->count) return -1;
    return sampler->train ? order_image(sampler, e, place) : place;
}
