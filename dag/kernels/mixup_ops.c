#include "dag/kernels/mixup.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/cpu.h"

#include <inttypes.h>
#include <math.h>

/* ---- the draw ---- */

/* Random numbers of a pair: EACH for each of its two Gammas, the last of which boxes use for their centre's row and
 * column. A try, of which one in twenty fails at most, takes two of them. */
enum { GAMMAS = 2, TRIES = 31, EACH = 2 * (TRIES + 1) };

/* The logarithm of a number drawn from Gamma(alpha, 1): that of one from Gamma(alpha + 1, 1), plus
 * log(u) / alpha. */
static double log_gamma_draw(double alpha, uint64_t key, uint64_t stream, uint64_t first)
{
    double d = alpha + 2.0 / 3, c = 1 / sqrt(9 * d), v = 1;
    for (uint64_t n = 0; n < 2 * TRIES; n += 2) {
        double x = tutti_rng_normal(key, stream, first + n), t = 1 + c * x, drawn = t * t * t;
        double u = tutti_rng_uniform(key, stream, first + n + 1);
        if (t <= 0 || log(u) >= x * x / 2 + d * (1 - drawn + log(drawn))) continue;
        v = drawn;
        break;
    }
    double boost = 1 - tutti_rng_uniform(key, stream, first + 2 * TRIES);
    return log(d * v) + log(boost) / alpha;
}

double tutti_mixup_weight(double alpha, uint64_t seed, uint64_t stream, int64_t step, int64_t pair)
{
    uint64_t key = seed + (uint64_t)step, first = (uint64_t)pair * GAMMAS * EACH;
    double a = log_gamma_draw(alpha, key, stream, first),
           b = log_gamma_draw(alpha, key, stream, first + EACH);
    return 1 / (1 + exp(b - a));
}

/* The pixels from `centre` - half on, as many again behind it, of `size`. */
static void cut_off(int64_t centre, int64_t half, int64_t size, int32_t edge[2])
{
    edge[0] = (int32_t)(centre > half ? centre - half : 0);
    edge[1] = (int32_t)(centre + half < size ? centre + half : size);
}

double tutti_cutmix_box(
    const tutti_cutmix_draw_desc *d, int64_t step, int64_t pair, int32_t box[TUTTI_BOX])
{
    const double w = tutti_mixup_weight(d->draw.alpha, d->draw.seed, d->draw.stream, step, pair),
                 half = sqrt(1 - w) / 2;
    const uint64_t key = d->draw.seed + (uint64_t)step,
                   last = (uint64_t)pair * GAMMAS * EACH + EACH - 1;
    const double row = tutti_rng_uniform(key, d->draw.stream, last),
                 column = tutti_rng_uniform(key, d->draw.stream, last + EACH);
    cut_off((int64_t)(row * (double)d->H), (int64_t)(half * (double)d->H), d->H, &box[0]);
    cut_off((int64_t)(column * (double)d->W), (int64_t)(half * (double)d->W), d->W, &box[2]);
    const double area = (double)(box[1] - box[0]) * (double)(box[3] - box[2]);
    return 1 - area / ((double)d->H * (double)d->W);
}

static tutti_status check_pairs(const char *op, const char *what, int64_t rows)
{
    if (rows % 2 == 0) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s: %s is %" PRId64 "; rows are mixed in pairs", op, what, rows);
}

static tutti_status check_draw(const char *op, const tutti_mixup_draw_desc *d)
{
    tutti_status status = tutti_cpu_check(op, "N", d->N, 2);
    if (!status) status = check_pairs(op, "N", d->N);
    if (!status && d->offset < 0)
        status = tutti_fail(TUTTI_ERR_INVAL, "%s: the offset is negative", op);
    if (!status) status = check_pairs(op, "the offset", d->offset);
    if (!status && !(d->alpha > 0 && isfinite(d->alpha)))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "%s: alpha is %g; must be finite and above 0", op, d->alpha);
    return status;
}

tutti_status tutti_open_mixup_draw(const void *desc, void **args)
{
    const tutti_mixup_draw_desc *d = desc;
    tutti_status status = check_draw("mixup_draw", d);
    return status ? status : tutti_cpu_copy("mixup_draw", d, sizeof *d, args);
}

tutti_status tutti_open_cutmix_draw(const void *desc, void **args)
{
    const tutti_cutmix_draw_desc *d = desc;
    tutti_status status = check_draw("cutmix_draw", &d->draw);
    if (!status) status = tutti_cpu_check("cutmix_draw", "H", d->H, 1);
    if (!status) status = tutti_cpu_check("cutmix_draw", "W", d->W, 1);
    return status ? status : tutti_cpu_copy("cutmix_draw", d, sizeof *d, args);
}

/* ---- the mean ---- */

tutti_status tutti_open_mixup(const void *desc, void **args)
{
    const tutti_mixup_desc *d = desc;
    const int64_t x[] = {d->N, d->each};
    tutti_status status = tutti_cpu_check("mixup", "N", d->N, 2);
    if (!status) status = check_pairs("mixup", "N", d->N);
    if (!status) status = tutti_cpu_check("mixup", "each", d->each, 1);
    if (!status) status = tutti_cpu_check_count("mixup", x, 2);
    return status ? status : tutti_cpu_copy("mixup", d, sizeof *d, args);
}

tutti_status tutti_open_cutmix(const void *desc, void **args)
{
    const tutti_cutmix_desc *d = desc;
    const int64_t x[] = {d->N, d->H, d->W, d->C};
    static const char *const name[] = {"N", "H", "W", "C"};
    tutti_status status = check_pairs("cutmix", "N", d->N);
    for (int i = 0; i < 4 && !status; i++)
        status = tutti_cpu_check("cutmix", name[i], x[i], i ? 1 : 2);
    if (!status) status = tutti_cpu_check_count("cutmix", x, 4);
    return status ? status : tutti_cpu_copy("cutmix", d, sizeof *d, args);
}

TUTTI_OP(
    mixup_draw, "labels,step:I64->part:F32", TUTTI_PART_FORWARD, sizeof(tutti_mixup_draw_desc));
TUTTI_OP(mixup, "x,part:F32->y", TUTTI_PART_FORWARD, sizeof(tutti_mixup_desc));
TUTTI_OP(cutmix_draw, "labels,step:I64->part:F32,box:I32", TUTTI_PART_FORWARD,
    sizeof(tutti_cutmix_draw_desc));
TUTTI_OP(cutmix, "x,box:I32->y", TUTTI_PART_FORWARD, sizeof(tutti_cutmix_desc));
