#include "apps/curve/chart.h"
#include "apps/bench/curves.h"
#include "apps/bench/grid_rows.h"
#include "apps/bench/points.h"
#include "apps/bench/rows.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 32, MOST_CHARTS = 64, ACROSS = 2 };

typedef struct options {
    const char *json, *svg;
    const char *further[TUTTI_CURVES_RUNS]; /* NULL behind the last */
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "json", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(json),
        .help = "the results of tutti-bench step --grid, allreduce, tune-collectives, channel, kv, "
                "strategies or svm-ranks, of tutti-sim, or what a program that trains has written "
                "with --json"},
    {TUTTI_CONF_TEXT, "svg", "FILE", .flags = TUTTI_CONF_REQUIRED, AT(svg),
        .help = "the picture to write"},
    {TUTTI_CONF_TEXT, "further", "FILE...", .flags = TUTTI_CONF_OPERAND,
        .high = TUTTI_CURVES_RUNS - 1, AT(further),
        .help = "further trainings, in the same charts"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench plot",
    .usage = "--json FILE --svg FILE [FILE]...",
    .summary = "Draws step time against link rate for every design, the peer and the limit: one "
               "chart for each model and number of hosts. Points are medians over blocks; bars "
               "span the shortest block to the longest. Of trainings it draws loss and accuracy by "
               "epoch; of tutti-bench kv, allreduce and tune-collectives, bytes per second by "
               "size; of channel, times over those of the first way; of strategies, accuracy by "
               "seconds and by bytes; of svm-ranks and tutti-sim, what more ranks gain.",
    .settings = settings,
};

/* Whether two rows belong to one chart. */
static int same_chart(const tutti_grid_row *a, const tutti_grid_row *b)
{
    return !strcmp(a->model, b->model) && !strcmp(a->wire, b->wire) &&
           !strcmp(a->precision, b->precision) && a->batch == b->batch && a->ranks == b->ranks;
}

/* Inserts a point in order of x; its bar is from `low` to `high`. */
static void put_point(tutti_chart_line *line, double x, double y, double low, double high)
{
    int at = line->points;
    if (at == TUTTI_CHART_POINTS) return;
    for (; at > 0 && line->x[at - 1] > x; at--) {
        line->x[at] = line->x[at - 1];
        line->y[at] = line->y[at - 1];
        line->low[at] = line->low[at - 1];
        line->high[at] = line->high[at - 1];
    }
    line->x[at] = x;
    line->y[at] = y;
    line->low[at] = low;
    line->high[at] = high;
    line->points++;
}

static int has_point(const tutti_chart_line *line, double x)
{
    for (int k = 0; k < line->points; k++)
        if (line->x[k] == x) return 1;
    return 0;
}

/* The line of this name, made if new; NULL if there are too many (logged). */
static tutti_chart_line *find_line(
    tutti_chart_line line[MOST_LINES], int *lines, const char *name, int dashed)
{
    for (int i = 0; i < *lines; i++)
        if (!strcmp(line[i].name, name)) return &line[i];
    if (*lines == MOST_LINES) {
        tutti_log(TUTTI_LOG_WARN, "a chart has room for %d lines: it lacks %s", MOST_LINES, name);
        return NULL;
    }
    line[*lines] = (tutti_chart_line){.dashed = dashed};
    snprintf(line[*lines].name, sizeof line->name, "%s", name);
    return &line[(*lines)++];
}

static void draw(FILE *out, int number, const tutti_grid_rows *rows, const tutti_grid_row *cell)
{
    tutti_chart_line line[MOST_LINES];
    int lines = 0;
    char title[128], model[TUTTI_GRID_TITLE];
    for (int i = 0; i < rows->count; i++) {
        const tutti_grid_row *r = &rows->row[i];
        int design = !strcmp(r->kind, "design");
        if (!same_chart(r, cell) || r->link_mbit <= 0 || !(design || !strcmp(r->kind, "peer")))
            continue;
        tutti_chart_line *l = find_line(line, &lines, r->name, 0);
        if (l) put_point(l, r->link_mbit, r->step_ms, r->least_ms, r->most_ms);
        l = find_line(line, &lines, "limit", 1);
        if (l && !has_point(l, r->link_mbit)) put_point(l, r->link_mbit, r->limit_ms, 0, 0);
    }
    snprintf(title, sizeof title, "%s, batch %d, %d hosts", tutti_grid_row_title(cell, model),
        cell->batch, cell->ranks);
    tutti_chart_draw(out, number, ACROSS,
        &(tutti_chart){.title = title,
            .x_label = "link, Mbit/s",
            .y_label = "ms per step (bars: all blocks)",
            .lines = lines,
            .line = line});
}

/* The first row of every chart; returns how many. */
static int list_charts(const tutti_grid_rows *rows, const tutti_grid_row *first[MOST_CHARTS])
{
    int charts = 0;
    for (int i = 0; i < rows->count; i++) {
        const tutti_grid_row *r = &rows->row[i];
        int known = strcmp(r->kind, "design") != 0 || r->link_mbit <= 0;
        for (int c = 0; c < charts && !known; c++) known = same_chart(first[c], r);
        if (!known && charts < MOST_CHARTS) first[charts++] = r;
    }
    return charts;
}

static tutti_status draw_grid(const void *what, FILE *out)
{
    const tutti_grid_rows *rows = what;
    const tutti_grid_row *first[MOST_CHARTS];
    int charts = list_charts(rows, first);
    if (charts == MOST_CHARTS)
        tutti_log(TUTTI_LOG_WARN, "the picture has room for %d charts: it may lack some", charts);
    tutti_chart_begin(out, charts, ACROSS);
    for (int c = 0; c < charts; c++) draw(out, c, rows, first[c]);
    tutti_chart_end(out);
    return TUTTI_OK;
}

static tutti_status draw_curves(const void *what, FILE *out)
{
    return tutti_curves_draw(what, out);
}

static tutti_status write_svg(
    const char *path, tutti_status (*draw_all)(const void *what, FILE *out), const void *what)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a picture");
    tutti_status status = draw_all(what, out);
    const tutti_file_options file = {.what = "picture", .path = path};
    if (fclose(out) && !status) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a picture");
    if (!status) status = tutti_file_put(&file, text, bytes);
    free(text);
    return status;
}

static tutti_status draw_points(const void *what, FILE *out)
{
    tutti_points_draw(what, out);
    return TUTTI_OK;
}

static tutti_status plot_grid(const options *o)
{
    tutti_grid_rows rows;
    const tutti_grid_row *first[MOST_CHARTS];
    tutti_status status = tutti_grid_rows_read(o->json, &rows);
    if (status) return status;
    if (list_charts(&rows, first) > 0)
        status = write_svg(o->svg, draw_grid, &rows);
    else
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: holds no results of steps with a --link-mbit, of allreduce, tune-collectives, "
            "channel, kv, strategies, svm-ranks or tutti-sim, and no training",
            o->json);
    tutti_grid_rows_free(&rows);
    return status;
}

static tutti_status plot_results(const options *o)
{
    tutti_points *points;
    if (o->further[0])
        return tutti_conf_refuse(&conf, "json", o->json,
            "it is not the file of a training, so it is drawn without further files");
    tutti_status status = tutti_points_read(o->json, &points);
    if (status || !points) return status ? status : plot_grid(o);
    status = write_svg(o->svg, draw_points, points);
    tutti_points_free(points);
    return status;
}

static tutti_status plot_curves(const options *o)
{
    const char *file[TUTTI_CURVES_RUNS] = {o->json};
    tutti_curves *curves;
    int files = 1;
    for (; o->further[files - 1]; files++) file[files] = o->further[files - 1];
    tutti_status status = tutti_curves_read(files, file, &curves);
    if (status) return status;
    status = write_svg(o->svg, draw_curves, curves);
    tutti_curves_free(curves);
    return status;
}

static tutti_status run(int argc, char **argv)
{
    options o = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &o, &go);
    if (!go) return status;
    if (tutti_file_same(o.json, o.svg))
        return tutti_conf_refuse(&conf, "svg", o.svg, "it is the file of --json itself");
    return tutti_curves_recognise(o.json) ? plot_curves(&o) : plot_results(&o);
}

const tutti_bench tutti_bench_plot = {
    "plot", "a picture of what step --grid, kv or strategies found, or of trainings", run};
