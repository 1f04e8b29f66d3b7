#include "apps/bench/points.h"

#include "apps/curve/chart.h"
#include "dag/base/log.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARTS = 8, MOST_LINES = 24, ACROSS = 2 };

/* What of an event becomes a point: numbers of the keys x and y, on the line that `name` tells, in a chart
 * for each text of `group`. */
typedef struct kind {
    const char *event, *group, *x, *y;
    const char *title, *x_label, *y_label; /* title: what follows the group's name */
    int even, right;
    double x_least;
} kind;
static const kind kinds[] = {
    {"kv", "op", "bytes", "mb_s", "", "bytes of a key", "MB/s of a worker", 0, 0, 1},
    {"strategy", "model", "seconds", "accuracy_pct", ": accuracy by time", "seconds",
        "% of test images", 1, 1, 0},
    {"strategy", "model", "mb", "accuracy_pct", ": accuracy by bytes", "MB sent by a host",
        "% of test images", 1, 1, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct chart {
    const kind *kind;
    char group[64];
    int lines;
    tutti_chart_line line[MOST_LINES];
} chart;

struct tutti_points {
    int charts;
    chart chart[MOST_CHARTS];
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static chart *find_chart(tutti_points *p, const kind *k, const char *group)
{
    for (int c = 0; c < p->charts; c++)
        if (p->chart[c].kind == k && !strcmp(p->chart[c].group, group)) return &p->chart[c];
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

static void add(tutti_points *p, const json_t *object, const kind *k)
{
    const json_t *x = json_object_get(object, k->x), *y = json_object_get(object, k->y);
    if (strcmp(text_of(object, "event"), k->event) != 0 || !json_is_number(x) ||
        !json_is_number(y) || json_number_value(x) < k->x_least)
        return;
    chart *c = find_chart(p, k, text_of(object, k->group));
    tutti_chart_line *line =
        c ? find_line(c, text_of(object, "name"), !strcmp(text_of(object, "kind"), "peer")) : NULL;
    if (!line || line->points == TUTTI_CHART_POINTS) return;
    line->x[line->points] = json_number_value(x);
    line->y[line->points++] = json_number_value(y);
}

tutti_status tutti_points_read(const char *file, tutti_points **points)
{
    tutti_points *p = calloc(1, sizeof *p);
    FILE *in = fopen(file, "re");
    tutti_status status = TUTTI_OK;
    char *line = NULL;
    size_t size = 0;
    *points = NULL;
    if (!p) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a picture");
    if (!in && !status)
        status = tutti_fail(TUTTI_ERR_IO, "%s: cannot be read: %s", file, strerror(errno));
    for (int n = 1; !status && getline(&line, &size, in) > 0; n++) {
        json_t *object = json_loads(line, 0, NULL);
        if (!object) status = tutti_fail(TUTTI_ERR_FORMAT, "%s:%d: this is not JSON", file, n);
        for (int k = 0; k < KINDS && object; k++) add(p, object, &kinds[k]);
        json_decref(object);
    }
    free(line);
    if (in) fclose(in);
    if (!status && p->charts)
        *points = p;
    else
        free(p);
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
