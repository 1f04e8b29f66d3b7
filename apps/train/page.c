#include "apps/train/page.h"

#include "apps/curve/curve.h"
#include "apps/train/progress.h"
#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 720,
    HEIGHT = 220,
    LEFT = 64,
    RIGHT = 16,
    TOP = 12,
    BOTTOM = 28,
    POINTS = 700,    /* of a curve that is shown */
    CELLS = 40,      /* classes up to which the whole matrix is drawn */
    CONFUSIONS = 40, /* listed above that */
    TICKS = 4
};

/* Over epochs. */
enum { LOSS, TRAIN_LOSS, TEST_LOSS, RATE, ACCURACY, BEST, CURVES };

struct tutti_page {
    char *path;
    int keep, lost; /* lost: no memory for a part of the curves */
    int continues;  /* the file of the run that this one resumes */
    char *start;    /* the settings, as HTML */
    char **names;   /* of the classes; NULL: not known */
    double epoch_steps;
    tutti_curve curve[CURVES], shown[CURVES];
    tutti_tally tally; /* of the last evaluation */
    tutti_progress progress;
    int every_s;
    double next_s; /* a step before this time writes nothing */
};

static const struct {
    const char *key, *name, *colour; /* key: in the JSON */
} looks[CURVES] = {[LOSS] = {"loss", "loss of rank 0's steps", "#bbbbbb"},
    [TRAIN_LOSS] = {"train_loss", "training", "#0072b2"},
    [TEST_LOSS] = {"test_loss", "test", "#d55e00"},
    [RATE] = {"rate", "learning rate", "#009e73"},
    [ACCURACY] = {"test_accuracy", "accuracy", "#d55e00"},
    [BEST] = {"test_top5_accuracy", "label among the best 5", "#cc79a7"}};

static tutti_status write_page(tutti_page *page);

static const char curves_head[] = "<script type='application/json' id='curves'>\n";

tutti_status tutti_page_new(
    const char *path, int keep, int continues, int every_s, tutti_page **page)
{
    tutti_page *p = calloc(1, sizeof *p);
    if (p) p->path = strdup(path);
    if (!p || !p->path) {
        free(p);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the report");
    }
    p->keep = keep;
    p->continues = continues;
    p->every_s = every_s;
    *page = p;
    return TUTTI_OK;
}

void tutti_page_free(tutti_page *page)
{
    if (!page) return;
    for (int i = 0; i < CURVES; i++) tutti_curve_free(&page->curve[i]);
    for (int i = 0; page->names && page->names[i]; i++) free(page->names[i]);
    free(page->names);
    free(page->start);
    free(page->path);
    tutti_tally_close(&page->tally);
    tutti_progress_free(&page->progress);
    free(page);
}

/* Text from outside. */
static void put_text(FILE *out, const char *text)
{
    tutti_text_markup(out, text, SIZE_MAX);
}

/* ---- what happens ---- */

static void put_row(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<tr><th>%s</th><td>", name);
    put_text(out, value);
    fputs("</td></tr>\n", out);
}

static void put_settings(FILE *out, const tutti_report_start *s)
{
    char text[512];
    snprintf(text, sizeof text, "%s, %" PRId64 " parameters", s->model, s->parameters);
    put_row(out, "model", text);
    snprintf(text, sizeof text,
        "%s: %" PRId64 " training and %" PRId64 " test images of %dx%dx%d, %d classes", s->data,
        s->train_images, s->test_images, s->height, s->width, s->channels, s->classes);
    put_row(out, "data", text);
    snprintf(text, sizeof text, "%s, rate %g (%s), momentum %g%s, weight decay %g%s", s->optimizer,
        s->rate, s->rate_schedule, s->momentum, s->nesterov ? " nesterov" : "", s->weight_decay,
        s->weights_only ? " of weights only" : "");
    put_row(out, "training", text);
    put_row(out, "recipe", s->recipe);
    snprintf(text, sizeof text, "%d x %" PRId64 " images, %" PRId64 " steps, %" PRId64 " per epoch",
        s->replicas, s->batch * (s->accumulate > 1 ? s->accumulate : 1), s->steps,
        s->steps_per_epoch);
    put_row(out, "steps", text);
    snprintf(text, sizeof text, "%s, in %s; sums over ranks: %s, in %s", s->library, s->precision,
        s->design, s->wire);
    put_row(out, "computed with", text);
}

static void copy_names(tutti_page *page, char *const *names, int classes)
{
    page->names = names ? calloc((size_t)classes + 1, sizeof *page->names) : NULL;
    for (int i = 0; page->names && i < classes; i++) {
        page->names[i] = strdup(names[i]);
        page->lost |= !page->names[i];
    }
}

/* The text of a file, which the caller frees; NULL if there is none. */
static char *read_text(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
    if (file) fclose(file);
    if (length >= 0) return text;
    free(text);
    return NULL;
}

/* The curves of the run that is continued, up to where it is: the file that is here may be of
 * another run, or go further. */
static void read_earlier(tutti_page *page, double epoch)
{
    char *text = read_text(page->path), *begin = text ? strstr(text, curves_head) : NULL;
    json_t *curves =
        begin ? json_loads(begin + sizeof curves_head - 1, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    for (int i = 0; i < CURVES; i++)
        page->lost |=
            !tutti_curve_read(json_object_get(curves, looks[i].key), epoch, &page->curve[i]);
    if (curves)
        page->keep = 0;
    else
        tutti_log(TUTTI_LOG_INFO,
            "--report %s: no curves of the earlier run are there; they begin here", page->path);
    json_decref(curves);
    free(text);
}

void tutti_page_on_start(tutti_page *page, const tutti_report_start *start)
{
    size_t size;
    FILE *out = open_memstream(&page->start, &size);
    if (out) {
        put_settings(out, start);
        fclose(out);
    }
    page->epoch_steps = start->steps_per_epoch > 0 ? (double)start->steps_per_epoch : 1;
    if (page->continues) read_earlier(page, (double)start->first_step / page->epoch_steps);
    copy_names(page, start->class_names, start->classes);
    page->progress.step = start->first_step;
    page->progress.steps = start->steps;
}

static void add_point(tutti_page *page, int which, int64_t step, double value)
{
    page->lost |= !tutti_curve_add(&page->curve[which], (double)step / page->epoch_steps, value);
}

tutti_status tutti_page_on_step(tutti_page *page, const tutti_report_step *step, double left_s)
{
    add_point(page, LOSS, step->step, step->loss);
    add_point(page, RATE, step->step, step->rate);
    tutti_progress_on_step(&page->progress, step, left_s);
    return tutti_clock_s() < page->next_s ? TUTTI_OK : write_page(page);
}

static void add_eval(tutti_page *page, const tutti_report_eval *eval)
{
    add_point(page, TRAIN_LOSS, eval->step, eval->train_loss);
    add_point(page, TEST_LOSS, eval->step, eval->test_loss);
    add_point(page, ACCURACY, eval->step, eval->test_accuracy);
    const tutti_tally *from = eval->tally;
    if (!from) return;
    add_point(page, BEST, eval->step, tutti_tally_best(from));
    if (!page->tally.count && tutti_tally_open(from->classes, from->matrix != NULL, &page->tally)) {
        page->lost = 1;
        return;
    }
    memcpy(page->tally.count, from->count, (size_t)from->counts * sizeof *from->count);
}

tutti_status tutti_page_on_eval(tutti_page *page, const tutti_report_eval *eval)
{
    add_eval(page, eval);
    return write_page(page);
}

void tutti_page_on_interrupt(
    tutti_page *page, const char *signal, int64_t step, const char *command)
{
    tutti_progress_on_interrupt(&page->progress, signal, step, command);
}

void tutti_page_on_summary(tutti_page *page, const tutti_report_summary *summary)
{
    page->progress.state = TUTTI_PROGRESS_ENDED;
    page->progress.step = summary->steps;
}

void tutti_page_on_rates(tutti_page *page, int64_t steps)
{
    page->progress.state = TUTTI_PROGRESS_ENDED;
    page->progress.step = steps;
}

/* ---- curves ---- */

typedef struct frame {
    double x0, x1, y0, y1;
} frame;

static void include(frame *f, const tutti_curve *c)
{
    for (int64_t i = 0; i < c->count; i++) {
        f->x0 = fmin(f->x0, c->x[i]);
        f->x1 = fmax(f->x1, c->x[i]);
        f->y0 = fmin(f->y0, c->y[i]);
        f->y1 = fmax(f->y1, c->y[i]);
    }
}

static double at_x(const frame *f, double x)
{
    double part = f->x1 > f->x0 ? (x - f->x0) / (f->x1 - f->x0) : 0.5;
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double at_y(const frame *f, double y)
{
    double part = f->y1 > f->y0 ? (y - f->y0) / (f->y1 - f->y0) : 0.5;
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void put_curve(FILE *out, const frame *f, const tutti_curve *c, const char *colour)
{
    fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='1.5' points='", colour);
    for (int64_t i = 0; i < c->count; i++)
        fprintf(out, "%.1f,%.1f ", at_x(f, c->x[i]), at_y(f, c->y[i]));
    fputs("'/>\n", out);
    if (c->count > 64) return;
    for (int64_t i = 0; i < c->count; i++)
        fprintf(out, "<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s'><title>%.6g</title></circle>\n",
            at_x(f, c->x[i]), at_y(f, c->y[i]), colour, c->y[i]);
}

static void put_axes(FILE *out, const frame *f)
{
    for (int i = 0; i <= TICKS; i++) {
        double y = f->y0 + (f->y1 - f->y0) * i / TICKS, x = f->x0 + (f->x1 - f->x0) * i / TICKS;
        fprintf(out, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#eeeeee'/>", LEFT,
            WIDTH - RIGHT, at_y(f, y), at_y(f, y));
        fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%.4g</text>", LEFT - 6,
            at_y(f, y) + 4, y);
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%.4g</text>\n", at_x(f, x),
            HEIGHT - 8, x);
    }
}

/* A picture of some curves over epochs; nothing if they are empty. */
static void put_picture(
    FILE *out, const tutti_page *page, const char *title, int curves, const int which[])
{
    frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int i = 0; i < curves; i++) include(&f, &page->shown[which[i]]);
    if (!(f.x0 <= f.x1)) return;
    fprintf(out, "<h2>%s</h2>\n<svg viewBox='0 0 %d %d' width='%d' role='img'>\n", title, WIDTH,
        HEIGHT, WIDTH);
    put_axes(out, &f);
    for (int i = 0; i < curves; i++)
        if (page->shown[which[i]].count)
            put_curve(out, &f, &page->shown[which[i]], looks[which[i]].colour);
    fputs("</svg>\n<p>", out);
    for (int i = 0; i < curves; i++) {
        if (page->shown[which[i]].count)
            fprintf(out, "<b style='color:%s'>&#9632;</b> %s &nbsp; ", looks[which[i]].colour,
                looks[which[i]].name);
    }
    fputs("by epoch</p>\n", out);
}

/* ---- classes ---- */

static void put_class(FILE *out, const tutti_page *page, int k)
{
    if (page->names && page->names[k])
        put_text(out, page->names[k]);
    else
        fprintf(out, "%d", k);
}

typedef struct found {
    int class;
    tutti_tally_class as;
} found;

/* Classes without images last. */
static int worst_first(const void *x, const void *y)
{
    const found *a = x, *b = y;
    const double p = a->as.images ? a->as.recall : 2, q = b->as.images ? b->as.recall : 2;
    if (p != q) return p < q ? -1 : 1;
    return a->class - b->class;
}

/* A cell with a part in percent, or a dash where there is nothing that it is of. */
static void put_part(FILE *out, const char *cell, double part)
{
    if (isfinite(part))
        fprintf(out, "<%s>%.1f %%</%s>", cell, 100 * part, cell);
    else
        fprintf(out, "<%s>&ndash;</%s>", cell, cell);
}

static void put_parts(FILE *out, const char *cell, const tutti_tally_class *c)
{
    put_part(out, cell, c->precision);
    put_part(out, cell, c->recall);
    put_part(out, cell, c->f1);
}

typedef struct share {
    int a, b; /* a confusion of two classes */
    int64_t count;
} share;

static int most_first(const void *x, const void *y)
{
    const share *a = x, *b = y;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->a != b->a ? a->a - b->a : a->b - b->b;
}

static void put_classes(FILE *out, const tutti_page *page)
{
    const tutti_tally *tally = &page->tally;
    const tutti_tally_class mean = tutti_tally_macro(tally);
    found *list = calloc((size_t)tally->classes, sizeof *list);
    if (!list) return;
    for (int k = 0; k < tally->classes; k++) list[k] = (found){k, tutti_tally_of_class(tally, k)};
    qsort(list, (size_t)tally->classes, sizeof *list, worst_first);
    fputs("<h2>Accuracy by class, worst first</h2>\n"
          "<p>Precision: of the images taken for the class, those that are of it. Recall: of the "
          "images of "
          "the class, those that are taken for it, which is its accuracy. F1: their harmonic mean. "
          "A dash: "
          "there is nothing that this would be a part of; in the mean it counts as 0, except for "
          "classes "
          "that no image has and no prediction names.</p>\n"
          "<table "
          "class='classes'>\n<tr><th>class</th><th></th><th>images</th><th>found</"
          "th><th>precision</th>"
          "<th>recall</th><th>F1</th></tr>\n",
        out);
    for (int i = 0; i < tally->classes; i++) {
        const tutti_tally_class *c = &list[i].as;
        fputs("<tr><td>", out);
        put_class(out, page, list[i].class);
        if (c->images)
            fprintf(out,
                "</td><td><svg width='202' height='12'><rect width='%.1f' height='12' "
                "fill='#0072b2'/></svg></td><td>%" PRId64 "</td><td>%" PRId64 "</td>",
                200 * c->recall, c->images, c->right);
        else
            fputs("</td><td></td><td>no test image</td><td></td>", out);
        put_parts(out, "td", c);
        fputs("</tr>\n", out);
    }
    fprintf(out, "<tr><th>mean</th><th></th><th>%" PRId64 "</th><th>%" PRId64 "</th>", mean.images,
        mean.right);
    put_parts(out, "th", &mean);
    fputs("</tr>\n</table>\n", out);
    free(list);
}

/* Rows are labels, columns what was predicted. */
static void put_matrix(FILE *out, const tutti_page *page)
{
    int classes = page->tally.classes;
    fputs("<h2>Confusion matrix</h2>\n<p>Rows: the label; columns: what the network says.</p>\n"
          "<table class='matrix'>\n<tr><th></th>",
        out);
    for (int p = 0; p < classes; p++) {
        fputs("<th><span>", out);
        put_class(out, page, p);
        fputs("</span></th>", out);
    }
    fputs("</tr>\n", out);
    for (int k = 0; k < classes; k++) {
        const int64_t *row = page->tally.matrix + (int64_t)k * classes;
        int64_t of = 0;
        for (int p = 0; p < classes; p++) of += row[p];
        fputs("<tr><th>", out);
        put_class(out, page, k);
        fputs("</th>", out);
        for (int p = 0; p < classes; p++)
            fprintf(out, "<td style='background:rgba(%s,%.3f)'>%" PRId64 "</td>",
                p == k ? "0,114,178" : "213,94,0", of ? (double)row[p] / (double)of : 0, row[p]);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void put_confusions(FILE *out, const tutti_page *page)
{
    int classes = page->tally.classes, kept = 0;
    share list[CONFUSIONS + 1];
    for (int k = 0; k < classes; k++)
        for (int p = 0; p < classes; p++) {
            int64_t count = page->tally.matrix[(int64_t)k * classes + p];
            if (p == k || !count || (kept == CONFUSIONS && count <= list[kept - 1].count)) continue;
            list[kept] = (share){.a = k, .b = p, .count = count};
            qsort(list, (size_t)kept + 1, sizeof *list, most_first);
            if (kept < CONFUSIONS) kept++;
        }
    fputs("<h2>What is confused most</h2>\n<table>\n"
          "<tr><th>label</th><th>the network says</th><th>images</th></tr>\n",
        out);
    for (int i = 0; i < kept; i++) {
        fputs("<tr><td>", out);
        put_class(out, page, list[i].a);
        fputs("</td><td>", out);
        put_class(out, page, list[i].b);
        fprintf(out, "</td><td>%" PRId64 "</td></tr>\n", list[i].count);
    }
    fputs("</table>\n", out);
}

/* For programs: the matrix, a row in a line. */
static void put_json(FILE *out, const tutti_page *page)
{
    int classes = page->tally.classes;
    fputs("<script type='application/json' id='confusion'>\n[", out);
    for (int k = 0; k < classes; k++) {
        fputs(k ? ",\n[" : "[", out);
        for (int p = 0; p < classes; p++)
            fprintf(out, "%s%" PRId64, p ? "," : "", page->tally.matrix[(int64_t)k * classes + p]);
        fputc(']', out);
    }
    fputs("]\n</script>\n", out);
}

/* For programs, and for a run that continues this one. */
static void put_curves(FILE *out, tutti_page *page)
{
    json_t *all = json_object();
    for (int i = 0; i < CURVES; i++)
        if (page->curve[i].count)
            json_object_set_new(all, looks[i].key, tutti_curve_json(&page->shown[i]));
    fputs(curves_head, out);
    page->lost |= json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0;
    fputs("\n</script>\n", out);
    json_decref(all);
}

/* ---- the file ---- */

static const char
    head_begin[] = "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>",
    head[] =
        "<title>Training report</title>\n"
        "<style>body{font:14px sans-serif;margin:2em auto;max-width:60em;padding:0 1em}"
        "svg text{font:11px sans-serif;fill:#555}h2{font-size:1.1em;margin-top:2em}"
        "table{border-collapse:collapse}th{text-align:left;padding:2px 12px 2px 0;font-weight:600}"
        "td{padding:2px 8px}.matrix td{text-align:right;min-width:2em}"
        ".classes td,.classes th{text-align:right}.classes td:first-child,.classes "
        "th:first-child{text-align:left}"
        ".matrix tr:first-child th{height:8em;vertical-align:bottom;padding:2px}"
        ".matrix tr:first-child span{writing-mode:vertical-rl;transform:rotate(180deg)}"
        "</style></head><body>\n<h1>Training report</h1>\n";

static void put_page(FILE *out, tutti_page *page)
{
    static const int losses[] = {LOSS, TRAIN_LOSS, TEST_LOSS}, accuracies[] = {ACCURACY, BEST},
                     rates[] = {RATE};
    const tutti_curve *accuracy = &page->curve[ACCURACY];
    fputs(head_begin, out);
    if (page->progress.state == TUTTI_PROGRESS_RUNNING)
        fprintf(out, "<meta http-equiv='refresh' content='%d'>", page->every_s);
    fputs(head, out);
    tutti_progress_put(out, &page->progress, page->every_s);
    if (accuracy->count) {
        const tutti_curve *best = &page->curve[BEST];
        fprintf(out, "<p><b>Test accuracy %.2f %%</b>", 100 * accuracy->y[accuracy->count - 1]);
        if (best->count)
            fprintf(out, ", label among the best 5: %.2f %%", 100 * best->y[best->count - 1]);
        fputs("</p>\n", out);
    }
    fprintf(out, "<table>\n%s</table>\n", page->start ? page->start : "");
    put_picture(out, page, "Loss", 3, losses);
    put_picture(out, page, "Accuracy on the test set", 2, accuracies);
    put_picture(out, page, "Learning rate", 1, rates);
    if (page->tally.matrix) {
        put_classes(out, page);
        if (page->tally.classes <= CELLS)
            put_matrix(out, page);
        else
            put_confusions(out, page);
        put_json(out, page);
    }
    put_curves(out, page);
    fputs("</body></html>\n", out);
}

static tutti_status write_page(tutti_page *page)
{
    const tutti_file_options file = {
        .what = "--report", .path = page->path, .keep = page->keep, .unsynced = 1};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        for (int i = 0; i < CURVES; i++)
            page->lost |= !tutti_curve_thin(&page->curve[i], POINTS, &page->shown[i]);
        put_page(out, page);
        page->lost |= fclose(out) != 0;
        for (int i = 0; i < CURVES; i++) tutti_curve_free(&page->shown[i]);
    }
    tutti_status status = !out || page->lost
                              ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for --report %s", page->path)
                              : tutti_file_put(&file, text, size);
    page->keep = 0; /* the earlier file is another run's only once */
    page->next_s = tutti_clock_s() + page->every_s;
    free(text);
    return status;
}

tutti_status tutti_page_end(tutti_page *page, int continues)
{
    if (page->progress.state == TUTTI_PROGRESS_RUNNING && !continues)
        page->progress.state = TUTTI_PROGRESS_FAILED;
    return write_page(page);
}
