#include "apps/bench/curves.h"

#include "apps/bench/result.h"
#include "apps/curve/chart.h"
#include "apps/curve/curve.h"
#include "dag/base/log.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOSS, TEST_LOSS, ACCURACY, BEST, SERIES };
enum { ACROSS = 2, LINES = 2 * TUTTI_CURVES_RUNS };

typedef struct run {
    char name[40], model[40];
    double epoch_steps;        /* steps per epoch */
    tutti_curve curve[SERIES]; /* by epoch */
} run;

struct tutti_curves {
    int runs;
    run run[TUTTI_CURVES_RUNS];
};

/* What an event tells of which series. */
static const struct {
    const char *event, *key;
    int series;
} values[] = {
    {"step", "loss", LOSS},
    {"eval", "test_loss", TEST_LOSS},
    {"eval", "test_accuracy", ACCURACY},
    {"eval", "test_top5_accuracy", BEST},
};
enum { VALUES = sizeof values / sizeof *values };

/* ---- reading ---- */

static tutti_status no_memory(void)
{
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for curves");
}

static tutti_status add(tutti_curve *c, double x, double y)
{
    tutti_curve_take_back(c, x); /* a run that was resumed */
    return tutti_curve_add(c, x, y) ? TUTTI_OK : no_memory();
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static tutti_status read_event(void *ctx, const json_t *object)
{
    run *r = ctx;
    const char *event = text_of(object, "event");
    double step = number_of(object, "step");
    tutti_status status = TUTTI_OK;
    if (!strcmp(event, "start")) {
        r->epoch_steps = number_of(object, "steps_per_epoch");
        snprintf(r->model, sizeof r->model, "%s", text_of(object, "model"));
    }
    if (!(r->epoch_steps >= 1) || !isfinite(step)) return TUTTI_OK;
    for (int i = 0; i < VALUES && !status; i++) {
        double value = number_of(object, values[i].key);
        if (!strcmp(event, values[i].event) && isfinite(value))
            status = add(&r->curve[values[i].series], step / r->epoch_steps, value);
    }
    return status;
}

static void name_run(run *r, const char *file)
{
    const char *slash = strrchr(file, '/');
    snprintf(r->name, sizeof r->name, "%s", slash ? slash + 1 : file);
    char *dot = strrchr(r->name, '.');
    if (dot && dot > r->name) *dot = '\0';
}

static tutti_status read_run(run *r, const char *file)
{
    name_run(r, file);
    tutti_status status = tutti_result_read(file, read_event, r);
    if (!status && !r->curve[LOSS].count && !r->curve[ACCURACY].count)
        status =
            tutti_fail(TUTTI_ERR_FORMAT, "%s: holds no step and no evaluation of a training", file);
    return status;
}

int tutti_curves_recognise(const char *file)
{
    FILE *in = fopen(file, "re");
    char *line = NULL;
    size_t size = 0;
    int found = 0;
    if (in && getline(&line, &size, in) > 0) {
        json_t *object = json_loads(line, 0, NULL);
        found = !strcmp(text_of(object, "event"), "start") &&
                json_object_get(object, "steps_per_epoch");
        json_decref(object);
    }
    free(line);
    if (in) fclose(in);
    return found;
}

tutti_status tutti_curves_read(int files, const char *const file[], tutti_curves **curves)
{
    tutti_curves *c = calloc(1, sizeof *c);
    if (!c) return no_memory();
    tutti_status status = TUTTI_OK;
    for (c->runs = 0; c->runs < files && !status; c->runs++)
        status = read_run(&c->run[c->runs], file[c->runs]);
    if (status)
        tutti_curves_free(c);
    else
        *curves = c;
    return status;
}

void tutti_curves_free(tutti_curves *curves)
{
    for (int r = 0; curves && r < curves->runs; r++)
        for (int i = 0; i < SERIES; i++) tutti_curve_free(&curves->run[r].curve[i]);
    free(curves);
}

/* ---- drawing ---- */

/* Means where a chart has no room for all. */
static tutti_status put_points(const tutti_curve *c, double factor, tutti_chart_line *line)
{
    tutti_curve shown = {0};
    int thinned = tutti_curve_thin(c, TUTTI_CHART_POINTS, &shown);
    for (int i = 0; i < shown.count; i++) {
        line->x[line->points] = shown.x[i];
        line->y[line->points++] = factor * shown.y[i];
    }
    tutti_curve_free(&shown);
    return thinned ? TUTTI_OK : no_memory();
}

static tutti_status add_line(const tutti_curves *c, const run *r, int which, const char *name,
    tutti_chart_line *line, int *lines)
{
    const int percent = which == ACCURACY || which == BEST;
    if (!r->curve[which].count) return TUTTI_OK;
    tutti_chart_line *l = &line[(*lines)++];
    *l = (tutti_chart_line){.dashed = which == LOSS || which == BEST};
    snprintf(l->name, sizeof l->name, "%s%s%s", c->runs > 1 ? r->name : "", c->runs > 1 ? ", " : "",
        name);
    return put_points(&r->curve[which], percent ? 100 : 1, l);
}

tutti_status tutti_curves_draw(const tutti_curves *curves, FILE *out)
{
    static tutti_chart_line line[LINES]; /* too large for the stack */
    char title[80];
    tutti_chart chart = {.x_label = "epoch", .even = 1, .line = line};
    tutti_status status = TUTTI_OK;
    tutti_chart_begin(out, ACROSS, ACROSS);
    for (int r = 0; r < curves->runs && !status; r++) {
        const run *of = &curves->run[r];
        status = add_line(curves, of, LOSS, "training", line, &chart.lines);
        if (!status) status = add_line(curves, of, TEST_LOSS, "test", line, &chart.lines);
    }
    snprintf(title, sizeof title, "%s: loss", curves->run[0].model);
    chart.title = title;
    chart.y_label = "loss";
    tutti_chart_draw(out, 0, ACROSS, &chart);
    chart.lines = 0;
    for (int r = 0; r < curves->runs && !status; r++) {
        const run *of = &curves->run[r];
        status = add_line(curves, of, ACCURACY, "top-1", line, &chart.lines);
        if (!status) status = add_line(curves, of, BEST, "top-5", line, &chart.lines);
    }
    snprintf(title, sizeof title, "%s: test accuracy", curves->run[0].model);
    chart.y_label = "% of test images";
    chart.right = 1;
    tutti_chart_draw(out, 1, ACROSS, &chart);
    tutti_chart_end(out);
    return status;
}
