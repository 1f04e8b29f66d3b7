/* The learning rate as a function of the step. [P]
 *
 * `total` is the number of steps of the whole run, whichever part of it this process runs; step
 * counts from 0. Warm-up: for step < warmup the rate rises linearly to its peak, from `low` of it:
 *     rate * (low + (1 - low) * (step + 1) / warmup)          low = 0, for onecycle 1/25
 * After it, with t = (step - warmup) / (total - warmup) in [0, 1):
 *     constant   rate
 *     step       rate * 0.1^k, k = 1 from half of `total` on, 2 from three quarters
 *                (He et al. 2015, section 4.2)
 *     cosine     rate * (1 + cos(pi t)) / 2                    (Loshchilov & Hutter 2016)
 *     onecycle   rate * (f + (1 - f) (1 - t)), f = 1e-4        (Smith & Topin 2017)
 * Default warm-up: none; for onecycle 10 % of the run. */
#ifndef TUTTI_TRAIN_RATE_SCHEDULE_H
#define TUTTI_TRAIN_RATE_SCHEDULE_H

#include <stdint.h>

typedef struct tutti_rate_schedule_kind {
    const char *name, *summary;
    double low;    /* fraction of the rate at which warm-up starts */
    double warmup; /* default warm-up as a fraction of the run */
    /* The fraction of the rate after warm-up; t as above, u = step / total. */
    double (*shape)(double t, double u);
} tutti_rate_schedule_kind;

/* The table; ends with a NULL name. */
extern const tutti_rate_schedule_kind tutti_rate_schedules[];
const tutti_rate_schedule_kind *tutti_rate_schedule_find(const char *name);

typedef struct tutti_rate_schedule {
    const tutti_rate_schedule_kind *kind;
    double rate;    /* the peak */
    int64_t total;  /* steps, >= 1 */
    int64_t warmup; /* steps */
} tutti_rate_schedule;

/* The default warm-up in steps. */
int64_t tutti_rate_schedule_warmup(const tutti_rate_schedule_kind *kind, int64_t total);
double tutti_rate_schedule_at(const tutti_rate_schedule *schedule, int64_t step);

#endif
