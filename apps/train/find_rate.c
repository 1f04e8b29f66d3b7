#include "apps/train/find_rate.h"

#include "apps/curve/chart.h"
#include "apps/curve/curve.h"
#include "apps/train/agree.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST = 8 /* steps before the test may end */,
    SLOPE = 11 /* points, an odd number */,
    NEAR = 24
};
static const double keep = 0.9, spread = 0.7, too_much = 4, fall = 0.05;

tutti_status tutti_find_rate_new(int64_t steps, tutti_find_rate **find)
{
    tutti_find_rate *f = calloc(1, sizeof *f);
    if (f) f->sums = calloc((size_t)steps * 2, sizeof *f->sums);
    if (!f || !f->sums) {
        free(f);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the losses of --find-lr");
    }
    f->steps = steps;
    f->least = INFINITY;
    *find = f;
    return TUTTI_OK;
}

void tutti_find_rate_free(tutti_find_rate *find)
{
    if (find) free(find->sums);
    free(find);
}

/* The mean so far, with one more loss. */
static double smooth(double loss, double *sum, double *weight)
{
    *sum = keep * *sum + loss;
    *weight = keep * *weight + 1;
    return *sum / *weight;
}

/* Whether the mean after step `seen` (from 0) has diverged. */
static int is_too_much(double mean, int64_t seen, double least)
{
    return !isfinite(mean) || (seen >= FIRST && mean > too_much * least);
}

void tutti_find_rate_add(tutti_find_rate *f, double loss_sum, double images)
{
    const int64_t at = f->seen++;
    if (at >= f->steps) return;
    f->sums[2 * at] = loss_sum;
    f->sums[2 * at + 1] = images;
    if (!(images > 0)) return; /* a later stage of a pipeline */
    const double mean = smooth(loss_sum / images, &f->smooth, &f->weight);
    f->diverged |= is_too_much(mean, at, f->least);
    f->least = fmin(f->least, mean);
}

/* Of the line through SLOPE points around number k, over the logarithm of the rate. */
static double slope_at(const double rate[], const double smoothed[], int64_t k)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int64_t i = k - SLOPE / 2; i <= k + SLOPE / 2; i++) {
        const double u = log(rate[i] / rate[k]);
        x += u;
        y += smoothed[i];
        xx += u * u;
        xy += u * smoothed[i];
    }
    return (SLOPE * xy - x * y) / (SLOPE * xx - x * x);
}

/* The step at which the loss diverges, or count if it does not. */
static int64_t find_divergence(int64_t count, const double loss[])
{
    double sum = 0, weight = 0, least = INFINITY;
    for (int64_t k = 0; k < count; k++) {
        const double mean = smooth(loss[k], &sum, &weight);
        if (is_too_much(mean, k, least)) return k;
        least = fmin(least, mean);
    }
    return count;
}

/* Losses above it are cut off: how large they are says nothing more. */
static double top_of(int64_t count, const double loss[])
{
    double sum = 0;
    const int64_t first = count < FIRST ? count : FIRST;
    for (int64_t k = 0; k < first; k++) sum += loss[k];
    return first ? 1.5 * sum / (double)first : 0;
}

static void smooth_all(int64_t count, const double loss[], double smoothed[])
{
    const double top = top_of(count, loss);
    for (int64_t k = 0; k < count; k++) {
        double sum = fmin(loss[k], top), weights = 1, weight = 1;
        for (int64_t d = 1; d <= NEAR; d++) {
            weight *= spread;
            if (k - d >= 0) sum += weight * fmin(loss[k - d], top), weights += weight;
            if (k + d < count) sum += weight * fmin(loss[k + d], top), weights += weight;
        }
        smoothed[k] = sum / weights;
    }
}

void tutti_find_rate_evaluate(int64_t count, const double rate[], const double loss[],
    double smoothed[], tutti_report_rates *r)
{
    double steepest = 0;
    int64_t least = 0;
    const int64_t end = find_divergence(count, loss);
    *r = (tutti_report_rates){.suggested = NAN, .lowest = NAN, .diverged = NAN};
    r->steps = end < count && isfinite(loss[end]) ? end + 1 : end;
    if (end < count) r->diverged = rate[end];
    smooth_all(r->steps, loss, smoothed);
    for (int64_t k = 0; k < r->steps; k++)
        if (smoothed[k] < smoothed[least]) least = k;
    if (r->steps > 0) r->lowest = rate[least];
    if (r->steps > 0 && smoothed[least] > (1 - fall) * smoothed[0]) return; /* the loss has not fallen: noise */
    for (int64_t k = SLOPE / 2; k + SLOPE / 2 < r->steps && k <= least; k++) {
        const double slope = slope_at(rate, smoothed, k);
        if (slope >= steepest) continue;
        steepest = slope;
        r->suggested = rate[k];
    }
}

/* ---- the end of the test ---- */

/* The points of a line, or their means where it has no room for all. Returns 0 without memory. */
static int fill_line(
    tutti_chart_line *line, const tutti_report_rates *r, const double value[], double top)
{
    tutti_curve curve = {0}, thin = {0};
    int good = 1;
    for (int64_t k = 0; k < r->steps && good; k++)
        good = tutti_curve_add(&curve, log(r->rate[k]), fmin(value[k], top));
    good = good && tutti_curve_thin(&curve, TUTTI_CHART_POINTS, &thin);
    line->points = good ? (int)thin.count : 0;
    for (int k = 0; k < line->points; k++) {
        line->x[k] = exp(thin.x[k]);
        line->y[k] = line->low[k] = line->high[k] = thin.y[k];
    }
    tutti_curve_free(&curve);
    tutti_curve_free(&thin);
    return good;
}

static tutti_status draw_chart(const tutti_train_options *o, const tutti_report_rates *r)
{
    const tutti_file_options file = {
        .what = "--find-lr", .path = o->find_rate.picture, .keep = (int)o->checkpoint.keep};
    char *text = NULL;
    size_t size = 0;
    tutti_chart_line *line = calloc(3, sizeof *line);
    FILE *out = open_memstream(&text, &size);
    const double top = top_of(r->steps, r->loss);
    int good = line && out;
    good = good && fill_line(&line[0], r, r->loss, top) && fill_line(&line[1], r, r->smoothed, top);
    if (good) {
        tutti_chart chart = {.title = "Loss by learning rate",
            .x_label = "learning rate",
            .y_label = "training loss",
            .lines = isfinite(r->suggested) ? 3 : 2,
            .line = line};
        strcpy(line[0].name, "each step");
        line[0].dashed = 1;
        strcpy(line[1].name, "smoothed");
        snprintf(line[2].name, sizeof line[2].name, "suggested: %.2g", r->suggested);
        line[2].points = 2;
        line[2].x[0] = line[2].x[1] = r->suggested;
        line[2].y[1] = line[2].low[1] = line[2].high[1] = top;
        tutti_chart_begin(out, 1, 1);
        tutti_chart_draw(out, 0, 1, &chart);
        tutti_chart_end(out);
    }
    if (out) good &= fclose(out) == 0;
    tutti_status status =
        good ? tutti_file_put(&file, text, size)
             : tutti_fail(TUTTI_ERR_NOMEM, "no memory for --find-lr %s", o->find_rate.picture);
    free(line);
    free(text);
    return status;
}

/* On rank 0. */
static tutti_status report_rates(
    const tutti_trainer *s, const double *sums, int64_t seen, tutti_report *report)
{
    double *rate = calloc((size_t)seen * 3 + 1, sizeof *rate), *loss = rate + seen,
           *smoothed = loss + seen;
    if (!rate) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the losses of --find-lr");
    for (int64_t k = 0; k < seen; k++) {
        rate[k] = tutti_rate_schedule_at(&s->rate_schedule, k) / s->rate_part; /* as --lr */
        loss[k] = sums[2 * k] / sums[2 * k + 1];
    }
    tutti_report_rates found;
    tutti_find_rate_evaluate(seen, rate, loss, smoothed, &found);
    found.rate = rate;
    found.loss = loss;
    found.smoothed = smoothed;
    found.file = s->options->find_rate.picture;
    tutti_status status = draw_chart(s->options, &found);
    if (!status) tutti_report_on_rates(report, &found);
    free(rate);
    return status;
}

tutti_status tutti_find_rate_finish(tutti_trainer *s, tutti_report *report)
{
    tutti_find_rate *f = s->find_rate;
    tutti_status status = tutti_exchange_call(s->session.exchange, "the losses of --find-lr",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_SUM,
            .count = 2 * f->steps,
            .recv = f->sums});
    if (status) return status;
    const int64_t seen = f->seen < f->steps ? f->seen : f->steps;
    return tutti_trainer_agree(
        s, tutti_trainer_reports(s) ? report_rates(s, f->sums, seen, report) : TUTTI_OK);
}
