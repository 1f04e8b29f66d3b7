#include "apps/bench/points.h"

#include "apps/bench/result.h"
#include "apps/curve/chart.h"
#include "dag/base/log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARTS = 64, MOST_LINES = 64, ACROSS = 2 };

/* What of an event becomes a point: numbers of the keys x and y, on the line that the text of `line` names (with that
 * of `also`, unless it is mpi), in a chart for each text of `group`. Kinds with one title share charts. */
typedef struct kind {
    const char *event, *group, *line, *also; /* line: `name` counts more, where there is one */
    const char *x, *y;
    const char *title, *x_label, *y_label; /* title: what follows the group's name */
    int even, right;
    double x_least;
    int rate;          /* y: x over this time in us, in each of "lanes" */
    const char *over;  /* y is divided by this number; there is no point where it is not above 0 */
    const char *named; /* the line, instead of `line` */
    double scale;      /* of y; 0: 1 */
} kind;
static const kind kinds[] = {
    {"kv", "op", "name", NULL, "bytes", "mb_s", "", "bytes of a key", "MB/s of a worker", 0, 0, 1,
        .rate = 0},
    {"strategy", "model", "name", NULL, "seconds", "accuracy_pct", ": accuracy by time", "seconds",
        "% of test images", 1, 1, 0, .rate = 0},
    {"strategy", "model", "name", NULL, "mb", "accuracy_pct", ": accuracy by bytes",
        "MB sent by a host", "% of test images", 1, 1, 0, .rate = 0},
    {"allreduce", "event", "algorithm", "transport", "bytes", "us", "", "bytes",
        "MB/s (bars: all blocks)", 0, 0, 1, .rate = 1},
    {"rule", "kind", NULL, NULL, "bytes", "us", "", "bytes", "MB/s", 0, 0, 1, .rate = 1,
        .named = "by the rules"},
    {"rule", "kind", NULL, NULL, "bytes", "us", "", "bytes", "MB/s", 0, 0, 1, .rate = 1,
        .over = "over_library", .named = "MPI's fastest"},
    {"rule", "kind", NULL, NULL, "bytes", "us", "", "bytes", "MB/s", 0, 0, 1, .rate = 1,
        .over = "over_library_choice", .named = "MPI's own choice"},
    {"channel", "kind", "name", NULL, "bytes", "over_shm", " of a tensor", "bytes",
        "times as long as the first way", 0, 0, 1, .rate = 0},
    {"ranks", NULL, NULL, NULL, "ranks", "gain", "tutti-svm, as recorded", "ranks",
        "times as fast as one rank", 0, 1, 1, .named = "gain"},
    {"simulation", "model", "design", NULL, "ranks", "efficiency", ": simulated steps", "ranks",
        "% of what the kernels allow", 0, 0, 1, .scale = 100},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct chart {
    const kind *kind;
    char group[64];
    int lines;
    tutti_chart_line line[MOST_LINES];
} chart;

struct tutti_points {
    int charts, warned; /* warned: of what does not fit */
    chart chart[MOST_CHARTS];
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static chart *find_chart(tutti_points *p, const kind *k, const char *group)
{
    for (int c = 0; c < p->charts; c++) {
        const chart *is = &p->chart[c];
        if (!strcmp(is->kind->event, k->event) && !strcmp(is->kind->title, k->title) &&
            !strcmp(is->group, group))
            return &p->chart[c];
    }
    if (p->charts == MOST_CHARTS) return NULL;
    chart *c = &p->chart[p->charts++];
    c->kind = k;
    snprintf(c->group, sizeof c->group, "%s", group);
    return c;
}

static tutti_chart_line *find_line(chart *c, const char *name, int dashed)
{
    for (int i = 0; i < c->lines; i++)
        if (!strcmp(c->line[i].name, name)) return &c->line[i];
    if (c->lines == MOST_LINES) return NULL;
    tutti_chart_line *line = &c->line[c->lines++];
    line->dashed = dashed;
    snprintf(line->name, sizeof line->name, "%s", name);
    return line;
}

/* A name says all: such as that of sums of several vectors. */
static void name_line(const json_t *object, const kind *k, char *name, size_t size)
{
    const char *own = text_of(object, "name"), *also = k->also ? text_of(object, k->also) : "";
    const int tells = !*own && *also && strcmp(also, "mpi") != 0;
    snprintf(name, size, "%s%s%s",
        k->named ? k->named
        : *own   ? own
                 : text_of(object, k->line),
        tells ? ", " : "", tells ? also : "");
}

/* Collectives of several numbers of ranks have charts of their own. */
static void name_group(const json_t *object, const kind *k, char *group, size_t size)
{
    const json_int_t ranks = json_integer_value(json_object_get(object, "ranks"));
    int at = snprintf(group, size, "%s", k->group ? text_of(object, k->group) : "");
    if (k->rate && ranks > 0 && at >= 0 && (size_t)at < size)
        snprintf(group + at, size - (size_t)at, ", %" JSON_INTEGER_FORMAT " ranks", ranks);
}

static double value_of(const json_t *object, const kind *k, double x, double y)
{
    const json_t *lanes = json_object_get(object, "lanes");
    if (k->over) y /= json_number_value(json_object_get(object, k->over));
    if (k->rate) return x * (lanes ? json_number_value(lanes) : 1) / y;
    return k->scale > 0 ? k->scale * y : y;
}

/* From the least to the most of the samples, where they are of the number that is drawn. */
static void put_bar(const json_t *object, const kind *k, double x, double *low, double *high)
{
    const json_t *samples = json_object_get(object, "samples");
    for (size_t i = 0; k->rate && !k->over && i < json_array_size(samples); i++) {
        const double at = value_of(object, k, x, json_number_value(json_array_get(samples, i)));
        if (!i || at < *low) *low = at;
        if (!i || at > *high) *high = at;
    }
}

static void warn(tutti_points *p, const char *what, int most)
{
    if (!p->warned++)
        tutti_log(
            TUTTI_LOG_WARN, "the picture has room for %d %s: it lacks some results", most, what);
}

static void add(tutti_points *p, const json_t *object, const kind *k)
{
    const json_t *x = json_object_get(object, k->x), *y = json_object_get(object, k->y);
    char name[sizeof p->chart->line->name];
    if (strcmp(text_of(object, "event"), k->event) != 0 || !json_is_number(x) ||
        !json_is_number(y) || json_number_value(x) < k->x_least)
        return;
    if (k->over && !(json_number_value(json_object_get(object, k->over)) > 0)) return;
    char group[sizeof p->chart->group];
    name_group(object, k, group, sizeof group);
    chart *c = find_chart(p, k, group);
    name_line(object, k, name, sizeof name);
    const int dashed = !strcmp(text_of(object, "kind"), "peer") || !strncmp(name, "MPI", 3);
    tutti_chart_line *line = c ? find_line(c, name, dashed) : NULL;
    if (!line || line->points == TUTTI_CHART_POINTS) {
        warn(p,
            !c      ? "charts"
            : !line ? "lines of a chart"
                    : "points of a line",
            !c      ? MOST_CHARTS
            : !line ? MOST_LINES
                    : TUTTI_CHART_POINTS);
        return;
    }
    const int at = line->points++;
    line->x[at] = json_number_value(x);
    line->y[at] = value_of(object, k, line->x[at], json_number_value(y));
    put_bar(object, k, line->x[at], &line->low[at], &line->high[at]);
}

static tutti_status take_event(void *ctx, const json_t *object)
{
    for (int k = 0; k < KINDS; k++) add(ctx, object, &kinds[k]);
    return TUTTI_OK;
}

tutti_status tutti_points_read(const char *file, tutti_points **points)
{
    tutti_points *p = calloc(1, sizeof *p);
    tutti_status status = p ? tutti_result_read(file, take_event, p)
                            : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a picture");
    *points = !status && p->charts ? p : NULL;
    if (!*points) free(p);
    return status;
}

void tutti_points_draw(const tutti_points *points, FILE *out)
{
    tutti_chart_begin(out, points->charts, ACROSS);
    for (int n = 0; n < points->charts; n++) {
        const chart *c = &points->chart[n];
        char title[160];
        snprintf(title, sizeof title, "%s%s", c->group, c->kind->title);
        tutti_chart_draw(out, n, ACROSS,
            &(tutti_chart){.title = title,
                .x_label = c->kind->x_label,
                .y_label = c->kind->y_label,
                .even = c->kind->even,
                .bytes = !strcmp(c->kind->x, "bytes"),
                .right = c->kind->right,
                .lines = c->lines,
                .line = c->line});
    }
    tutti_chart_end(out);
}

void tutti_points_free(tutti_points *points)
{
    free(points);
}
