#include "apps/train/rate_schedule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static double shape_constant(double t, double u)
{
    (void)t, (void)u;
    return 1;
}

static double shape_step(double t, double u)
{
    (void)t;
    return u < 0.5 ? 1 : u < 0.75 ? 0.1 : 0.01;
}

static double shape_cosine(double t, double u)
{
    (void)u;
    return (1 + cos(M_PI * t)) / 2;
}

static double shape_onecycle(double t, double u)
{
    const double last = 1e-4;
    (void)u;
    return last + (1 - last) * (1 - t);
}

const tutti_rate_schedule_kind tutti_rate_schedules[] = {
    {"constant", "the same rate all the time", 0, 0, shape_constant},
    {"step", "a tenth from half of the run on, a hundredth from three quarters", 0, 0, shape_step},
    {"cosine", "half a cosine down to 0", 0, 0, shape_cosine},
    {"onecycle", "linear up from 1/25, then linear down to 1/10000", 1. / 25, 0.1, shape_onecycle},
    {0},
};

const tutti_rate_schedule_kind *tutti_rate_schedule_find(const char *name)
{
    for (const tutti_rate_schedule_kind *kind = tutti_rate_schedules; kind->name; kind++)
        if (strcmp(kind->name, name) == 0) return kind;
    return NULL;
}

int64_t tutti_rate_schedule_warmup(const tutti_rate_schedule_kind *kind, int64_t total)
{
    return (int64_t)floor(kind->warmup * (double)total);
}

double tutti_rate_schedule_at(const tutti_rate_schedule *schedule, int64_t step)
{
    const tutti_rate_schedule_kind *kind = schedule->kind;
    double total = (double)schedule->total, s = (double)step;
    double warmup = (double)schedule->warmup;
    if (s < warmup) return schedule->rate * (kind->low + (1 - kind->low) * (s + 1) / warmup);
    double t = total > warmup ? (s - warmup) / (total - warmup) : 1;
    return schedule->rate * kind->shape(t < 1 ? t : 1, s / total);
}
