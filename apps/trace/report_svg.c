#include "apps/trace/report.h"
#include "dag/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1400,
    LEFT = 130,
    RIGHT = 20,
    TOP = 74,
    ROW = 20,     /* of a worker */
    GAP = 4,      /* between rows */
    HEADING = 24, /* of a rank */
    BOTTOM = 40,
    MOST_LANES = 64,
    MOST_RANKS = 64, /* drawn */
};
static const double letter = 6.2; /* width of one, with some margin */

/* Distinguishable with red-green colour blindness (Okabe & Ito 2008). */
static const char *const colours[TUTTI_SPAN_KINDS] = {
    [TUTTI_SPAN_FORWARD] = "#56b4e9",
    [TUTTI_SPAN_BACKWARD] = "#0072b2",
    [TUTTI_SPAN_SUM] = "#cc79a7",
    [TUTTI_SPAN_UPDATE] = "#009e73",
    [TUTTI_SPAN_TASK] = "#56b4e9",
    [TUTTI_SPAN_COPY] = "#999999",
    [TUTTI_SPAN_START] = "#000000",
    [TUTTI_SPAN_COLLECTIVE] = "#e69f00",
    [TUTTI_SPAN_WAIT] = "#dddddd",
    [TUTTI_SPAN_SUBMIT] = "#f0e442",
    [TUTTI_SPAN_READ] = "#8da0cb",
};

typedef struct canvas {
    const tutti_timeline *timeline;
    FILE *out;
    double begin_ms, end_ms;
    int64_t step;
    int rows[MOST_LANES]; /* of each lane of the rank being drawn */
    int lanes;            /* drawn */
    int readers;          /* of the rank being drawn, in the time drawn */
    double y;             /* of the rank being drawn */
} canvas;

static double place(const canvas *c, double ms)
{
    double within = fmin(fmax(ms, c->begin_ms), c->end_ms) - c->begin_ms;
    return LEFT + within / (c->end_ms - c->begin_ms) * (WIDTH - LEFT - RIGHT);
}

/* ---- rows ---- */

/* Finds which rows of each lane are used in the time drawn. */
static void find_rows(canvas *c, int rank)
{
    const tutti_timeline *t = c->timeline;
    memset(c->rows, 0, sizeof c->rows);
    c->readers = 0;
    for (int64_t i = t->of_rank[rank]; i < t->of_rank[rank + 1]; i++) {
        const tutti_event *e = &t->event[i];
        if (e->end_ms < c->begin_ms || e->begin_ms > c->end_ms) continue;
        if (e->kind == TUTTI_SPAN_READ && e->row >= c->readers) c->readers = e->row + 1;
        if (e->kind != TUTTI_SPAN_COLLECTIVE || e->lane >= c->lanes) continue;
        if (e->row >= c->rows[e->lane]) c->rows[e->lane] = e->row + 1;
    }
}

static int rows_before(const canvas *c, int rank, int lane)
{
    int rows = 1 + c->timeline->workers[rank];
    for (int l = 0; l < lane; l++) rows += c->rows[l];
    return rows;
}

static double row_of(const canvas *c, const tutti_event *e)
{
    int row = e->kind == TUTTI_SPAN_COLLECTIVE ? rows_before(c, e->rank, e->lane) + e->row
              : e->kind == TUTTI_SPAN_READ     ? rows_before(c, e->rank, c->lanes) + e->row
              : e->kind >= TUTTI_SPAN_WAIT     ? 0
                                               : 1 + e->row;
    return c->y + HEADING + row * (ROW + GAP);
}

static double height_of(const canvas *c, int rank)
{
    return HEADING + (rows_before(c, rank, c->lanes) + c->readers) * (ROW + GAP) + GAP;
}

static void label_row(const canvas *c, int row, const char *name)
{
    double y = c->y + HEADING + row * (ROW + GAP);
    fprintf(c->out,
        "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#f7f7f7\"/>\n"
        "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
        LEFT, y, WIDTH - LEFT - RIGHT, ROW, LEFT - 8, y + ROW - 6, name);
}

static void label_rank(const canvas *c, int rank)
{
    char name[64];
    fprintf(c->out,
        "<text x=\"8\" y=\"%.1f\" font-size=\"14\" font-weight=\"bold\">rank %d</text>\n",
        c->y + HEADING - 7, rank);
    label_row(c, 0, "main");
    for (int w = 0; w < c->timeline->workers[rank]; w++) {
        snprintf(name, sizeof name, "worker %d", w);
        label_row(c, 1 + w, name);
    }
    for (int l = 0; l < c->lanes; l++)
        for (int k = 0; k < c->rows[l]; k++) {
            snprintf(name, sizeof name, "lane %d", l);
            label_row(c, rows_before(c, rank, l) + k, k ? "" : name);
        }
    for (int r = 0; r < c->readers; r++) {
        snprintf(name, sizeof name, "reader %d", r);
        label_row(c, rows_before(c, rank, c->lanes) + r, name);
    }
}

/* ---- spans ---- */

static void put_title(const canvas *c, const tutti_event *e)
{
    fputs("<title>", c->out);
    tutti_text_markup(c->out, e->name, SIZE_MAX);
    fprintf(c->out, " (%s, step %" PRId64 "): %.3f ms at %.3f", tutti_span_kind_name(e->kind),
        e->step, e->end_ms - e->begin_ms, e->begin_ms - c->begin_ms);
    if (e->kind == TUTTI_SPAN_COLLECTIVE)
        fprintf(c->out, ", %" PRId64 " bytes, queued for %.3f ms", e->bytes,
            fmax(0, e->begin_ms - e->ready_ms));
    fputs("</title>", c->out);
}

/* Spans of other steps are pale; a span is labelled if its name, or most of it, fits. */
static void draw_span(const canvas *c, const tutti_event *e)
{
    static const double least = 0.3; /* of a pixel */
    if (e->end_ms <= c->begin_ms || e->begin_ms >= c->end_ms) return;
    double x = place(c, e->begin_ms), width = place(c, e->end_ms) - x, y = row_of(c, e);
    int other = e->step != c->step && e->kind < TUTTI_SPAN_WAIT;
    fprintf(c->out, "<g><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"%s/>",
        x, y, fmax(width, least), ROW, colours[e->kind], other ? " opacity=\"0.35\"" : "");
    put_title(c, e);
    size_t letters = (size_t)(fmax(0, width - 4) / letter);
    if (letters >= 4) {
        int dark = e->kind == TUTTI_SPAN_BACKWARD || e->kind == TUTTI_SPAN_START;
        fprintf(c->out, "<text x=\"%.2f\" y=\"%.1f\" fill=\"%s\">", x + 3, y + ROW - 6,
            dark ? "white" : "black");
        tutti_text_markup(c->out, e->name, letters);
        fputs("</text>", c->out);
    }
    fputs("</g>\n", c->out);
}

static void draw_rank(canvas *c, int rank, const tutti_path *path)
{
    const tutti_timeline *t = c->timeline;
    label_rank(c, rank);
    for (int64_t i = t->of_rank[rank]; i < t->of_rank[rank + 1]; i++)
        if (t->event[i].kind != TUTTI_SPAN_COLLECTIVE || t->event[i].lane < c->lanes)
            draw_span(c, &t->event[i]);
    for (int64_t i = 0; i < path->parts; i++) {
        const tutti_path_part *p = &path->part[i];
        if (p->event->rank != rank) continue;
        if (p->event->kind == TUTTI_SPAN_COLLECTIVE && p->event->lane >= c->lanes) continue;
        fprintf(c->out, "<path stroke=\"#d55e00\" stroke-width=\"3\" d=\"M%.2f %.1fH%.2f\"/>\n",
            place(c, p->from_ms), row_of(c, p->event) + ROW + 1, place(c, p->to_ms));
    }
}

/* ---- around them ---- */

static int occurs(const tutti_timeline *t, int kind)
{
    int64_t i = 0;
    while (i < t->events && (int)t->event[i].kind != kind) i++;
    return i < t->events;
}

static void draw_legend(const canvas *c)
{
    double x = LEFT;
    for (int kind = 0; kind < TUTTI_SPAN_KINDS; kind++) {
        if (!occurs(c->timeline, kind)) continue;
        const char *name = tutti_span_kind_name(kind);
        fprintf(c->out,
            "<rect x=\"%.1f\" y=\"34\" width=\"14\" height=\"14\" fill=\"%s\"/>"
            "<text x=\"%.1f\" y=\"45\">%s</text>\n",
            x, colours[kind], x + 19, name);
        x += 34 + letter * (double)strlen(name);
    }
    fprintf(c->out,
        "<path stroke=\"#d55e00\" stroke-width=\"3\" d=\"M%.1f 41h14\"/>"
        "<text x=\"%.1f\" y=\"45\">critical path</text>\n"
        "<text x=\"%.1f\" y=\"45\" fill=\"#666\">pale: another step</text>\n",
        x, x + 19, x + 120);
}

/* The smallest of 1, 2, 5 times a power of ten that is not below x. */
static double round_up(double x)
{
    double power = pow(10, floor(log10(x)));
    return x <= power       ? power
           : x <= 2 * power ? 2 * power
           : x <= 5 * power ? 5 * power
                            : 10 * power;
}

static void draw_axis(const canvas *c, double height)
{
    double took_ms = c->end_ms - c->begin_ms, tick_ms = round_up(took_ms / 12);
    for (double at = 0; at <= took_ms * 1.0001; at += tick_ms) {
        double x = place(c, c->begin_ms + at);
        fprintf(c->out,
            "<path stroke=\"#ccc\" d=\"M%.1f %dV%.1f\"/>"
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
            x, TOP - 6, height - BOTTOM + 6, x, TOP - 10, at, x, height - BOTTOM + 20, at);
    }
    fprintf(c->out,
        "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">ms since the end of the step "
        "before</text>\n",
        (LEFT + WIDTH - RIGHT) / 2, height - 6);
}

void tutti_report_svg(
    const tutti_study *study, const tutti_study_step *step, const tutti_path *path, FILE *out)
{
    const tutti_timeline *t = study->timeline;
    canvas c = {.timeline = t, .out = out, .begin_ms = step->begin_ms, .step = step->step};
    int ranks = t->ranks < MOST_RANKS ? t->ranks : MOST_RANKS;
    double height = TOP + BOTTOM;
    c.end_ms = step->end_ms > step->begin_ms ? step->end_ms : step->begin_ms + 1e-3;
    c.lanes = t->lanes < MOST_LANES ? t->lanes : MOST_LANES;
    for (int r = 0; r < ranks; r++) {
        find_rows(&c, r);
        height += height_of(&c, r);
    }
    fprintf(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d "
        "%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"%d\" height=\"%.0f\" fill=\"white\"/>\n<text x=\"8\" y=\"20\" "
        "font-size=\"14\" font-weight=\"bold\">",
        WIDTH, height, WIDTH, height, WIDTH, height);
    tutti_text_markup(out, t->model, 64);
    fputs(", design ", out);
    tutti_text_markup(out, t->design, 64);
    fprintf(out,
        ", %d ranks: step %" PRId64 ", %.2f ms, %.0f %% of its communication hidden%s</text>\n",
        t->ranks, step->step, step->end_ms - step->begin_ms, tutti_study_hidden_pct(step),
        ranks < t->ranks ? " (the first 64 ranks)" : "");
    draw_legend(&c);
    draw_axis(&c, height);
    c.y = TOP;
    for (int r = 0; r < ranks; r++) {
        find_rows(&c, r);
        draw_rank(&c, r, path);
        c.y += height_of(&c, r);
    }
    fputs("</svg>\n", out);
}
