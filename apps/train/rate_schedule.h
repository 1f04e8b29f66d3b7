/* The learning rate as a function of the step. [P]
 *
 * `total` is the number of steps of the whole run, whichever part of it this process runs; step
 * counts from 0. Warm-up: for step < warmup the rate rises linearly to its peak, from `low` of it:
 *     rate * (low + (1 - low) * (step + 1) / warmup)          low = 0, for onecycle 1/25
 * or, where the rate of the first step is given, from that one (Goyal et al. 2017, section 2.2):
 *     from + (rate - from) * step / warmup                    from = min(the given one, rate)
 * After it, with t = (step - warmup) / (total - warmup) in [0, 1):
 *     constant   rate
 *     step       rate * 0.1^k, k = 1 from half of `total` on, 2 from three quarters
 *                (He et al. 2015, section 4.2)
 *     milestones rate * factor^k, k = the number of milestones (steps) that have been reached
 *     poly       rate * (1 - t)^power                          (Caffe's "poly")
 *     cosine     rate * (1 + cos(pi t)) / 2                    (Loshchilov & Hutter 2016)
 *     plateau    rate * factor^k, k = how often `patience` evaluations in a row had no better test loss: one below
 *                the best by more than a ten-thousandth of it. Those of warm-up do not count
 *     onecycle   rate * (f + (1 - f) (1 - t)), f = 1e-4        (Smith & Topin 2017)
 * Default warm-up: none; for onecycle 10 % of the run. */
#ifndef TUTTI_TRAIN_RATE_SCHEDULE_H
#define TUTTI_TRAIN_RATE_SCHEDULE_H

#include <stdint.h>

enum { TUTTI_RATE_MILESTONES = 8, TUTTI_RATE_TEXT = 192 };

typedef struct tutti_rate_schedule_kind tutti_rate_schedule_kind;

/* Of the schedule plateau, whose rate depends on what the run has found: equal on all ranks; in checkpoints. */
typedef struct tutti_rate_plateau {
    double best;   /* test loss */
    int64_t since; /* evaluations since then; -1: there was none */
    int64_t drops; /* how often the rate was lowered */
} tutti_rate_plateau;

typedef struct tutti_rate_schedule {
    const tutti_rate_schedule_kind *kind;
    double rate;    /* the peak */
    int64_t total;  /* steps, >= 1 */
    int64_t warmup; /* steps */
    int from_given; /* 1: warm-up begins at the rate `from` */
    double from;
    double power;                             /* of poly */
    int milestones;                           /* of milestones: how many */
    int64_t milestone[TUTTI_RATE_MILESTONES]; /* ascending, steps */
    double factor;                            /* of milestones, and of plateau */
    int64_t patience;                         /* of plateau: evaluations */
    tutti_rate_plateau plateau;               /* `since` begins as -1 */
} tutti_rate_schedule;

struct tutti_rate_schedule_kind {
    const char *name, *summary;
    double low;    /* fraction of the rate at which warm-up starts */
    double warmup; /* default warm-up as a fraction of the run */
    /* The fraction of the rate after warm-up, with t as above. */
    double (*shape)(const tutti_rate_schedule *schedule, double t, int64_t step);
};

/* The table; ends with a NULL name. */
extern const tutti_rate_schedule_kind tutti_rate_schedules[];
/* Not in it: from `from` to the peak in equal ratios, for apps/train/find_rate.h. */
extern const tutti_rate_schedule_kind tutti_rate_sweep;
const tutti_rate_schedule_kind *tutti_rate_schedule_find(const char *name);

/* Reads milestones, "30,60,80": ascending integers from 1 on, at most TUTTI_RATE_MILESTONES.
 * Returns how many there are; 0: the text is something else. */
int tutti_rate_schedule_read(const char *text, int64_t milestone[TUTTI_RATE_MILESTONES]);

/* The default warm-up in steps. */
int64_t tutti_rate_schedule_warmup(const tutti_rate_schedule_kind *kind, int64_t total);
double tutti_rate_schedule_at(const tutti_rate_schedule *schedule, int64_t step);
/* Whether it depends on evaluations. */
int tutti_rate_schedule_waits(const tutti_rate_schedule_kind *kind);
/* After an evaluation at the end of `step` steps; for any schedule. Returns whether it has lowered the rate. */
int tutti_rate_schedule_evaluated(tutti_rate_schedule *schedule, int64_t step, double test_loss);
/* All but the peak as words: "milestones 300,600 x 0.1, warm-up 50 from 0.1". Returns text. */
char *tutti_rate_schedule_print(const tutti_rate_schedule *schedule, char text[TUTTI_RATE_TEXT]);

#endif
