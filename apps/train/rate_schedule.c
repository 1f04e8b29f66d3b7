#include "apps/train/rate_schedule.h"

#include "dag/base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double BETTER = 1e-4; /* by which part a loss must be lower to be better */

static double shape_constant(const tutti_rate_schedule *s, double t, int64_t step)
{
    (void)s, (void)t, (void)step;
    return 1;
}

static double shape_step(const tutti_rate_schedule *s, double t, int64_t step)
{
    double u = (double)step / (double)s->total;
    (void)t;
    return u < 0.5 ? 1 : u < 0.75 ? 0.1 : 0.01;
}

static double shape_milestones(const tutti_rate_schedule *s, double t, int64_t step)
{
    double part = 1;
    (void)t;
    for (int i = 0; i < s->milestones && step >= s->milestone[i]; i++) part *= s->factor;
    return part;
}

static double shape_plateau(const tutti_rate_schedule *s, double t, int64_t step)
{
    (void)t, (void)step;
    return pow(s->factor, (double)s->plateau.drops);
}

static double shape_poly(const tutti_rate_schedule *s, double t, int64_t step)
{
    (void)step;
    return pow(1 - t, s->power);
}

static double shape_cosine(const tutti_rate_schedule *s, double t, int64_t step)
{
    (void)s, (void)step;
    return (1 + cos(M_PI * t)) / 2;
}

static double shape_onecycle(const tutti_rate_schedule *s, double t, int64_t step)
{
    const double last = 1e-4;
    (void)s, (void)step;
    return last + (1 - last) * (1 - t);
}

static double shape_sweep(const tutti_rate_schedule *s, double t, int64_t step)
{
    (void)t;
    return pow(s->from / s->rate, 1 - (double)step / (double)(s->total > 1 ? s->total - 1 : 1));
}

const tutti_rate_schedule_kind tutti_rate_sweep = {.name = "rising",
    .summary = "from the lowest to the highest in equal ratios",
    .shape = shape_sweep};

const tutti_rate_schedule_kind tutti_rate_schedules[] = {
    {"constant", "the same rate all the time", 0, 0, shape_constant},
    {"step", "a tenth from half of the run on, a hundredth from three quarters", 0, 0, shape_step},
    {"milestones", "times --milestone-factor after each epoch of --milestones", 0, 0,
        shape_milestones},
    {"plateau", "times --plateau-factor after --plateau-patience evaluations without a better loss",
        0, 0, shape_plateau},
    {"poly", "down to 0 as the --poly-power of the part of the run that is left", 0, 0, shape_poly},
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

int tutti_rate_schedule_read(const char *text, int64_t milestone[TUTTI_RATE_MILESTONES])
{
    int count = 0;
    for (;;) {
        char word[32];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word || count == TUTTI_RATE_MILESTONES) return 0;
        memcpy(word, text, length);
        word[length] = '\0';
        int64_t least = count ? milestone[count - 1] + 1 : 1;
        if (!tutti_number_int(word, &milestone[count]) || milestone[count] < least ||
            milestone[count] > 1000000)
            return 0;
        count++;
        if (!text[length]) return count;
        text += length + 1;
    }
}

int64_t tutti_rate_schedule_warmup(const tutti_rate_schedule_kind *kind, int64_t total)
{
    return (int64_t)floor(kind->warmup * (double)total);
}

double tutti_rate_schedule_at(const tutti_rate_schedule *schedule, int64_t step)
{
    const tutti_rate_schedule_kind *kind = schedule->kind;
    double total = (double)schedule->total, s = (double)step;
    double warmup = (double)schedule->warmup, rate = schedule->rate;
    if (s < warmup && schedule->from_given) {
        double from = fmin(schedule->from, rate);
        return from + (rate - from) * s / warmup;
    }
    if (s < warmup) return rate * (kind->low + (1 - kind->low) * (s + 1) / warmup);
    double t = total > warmup ? (s - warmup) / (total - warmup) : 1;
    return rate * kind->shape(schedule, t < 1 ? t : 1, step);
}

int tutti_rate_schedule_waits(const tutti_rate_schedule_kind *kind)
{
    return kind->shape == shape_plateau;
}

int tutti_rate_schedule_evaluated(tutti_rate_schedule *s, int64_t step, double test_loss)
{
    tutti_rate_plateau *p = &s->plateau;
    if (!tutti_rate_schedule_waits(s->kind) || step <= s->warmup) return 0;
    if (p->since < 0 || test_loss < p->best * (1 - BETTER)) {
        p->best = test_loss;
        p->since = 0;
        return 0;
    }
    if (++p->since < s->patience) return 0;
    p->since = 0;
    p->drops++;
    return 1;
}

char *tutti_rate_schedule_print(const tutti_rate_schedule *s, char text[TUTTI_RATE_TEXT])
{
    size_t used = (size_t)snprintf(text, TUTTI_RATE_TEXT, "%s", s->kind->name);
    if (s->kind->shape == shape_poly)
        used += (size_t)snprintf(text + used, TUTTI_RATE_TEXT - used, " %g", s->power);
    if (s->kind->shape == shape_milestones) {
        for (int i = 0; i < s->milestones; i++)
            used += (size_t)snprintf(
                text + used, TUTTI_RATE_TEXT - used, "%c%" PRId64, i ? ',' : ' ', s->milestone[i]);
        used += (size_t)snprintf(text + used, TUTTI_RATE_TEXT - used, " x %g", s->factor);
    }
    if (s->kind->shape == shape_plateau)
        used += (size_t)snprintf(
            text + used, TUTTI_RATE_TEXT - used, " %" PRId64 " x %g", s->patience, s->factor);
    used += (size_t)snprintf(text + used, TUTTI_RATE_TEXT - used, ", warm-up %" PRId64, s->warmup);
    if (s->warmup && s->from_given)
        snprintf(text + used, TUTTI_RATE_TEXT - used, " from %g", fmin(s->from, s->rate));
    return text;
}
