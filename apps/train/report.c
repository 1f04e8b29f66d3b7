#include "apps/train/report.h"

#include "apps/terminal/terminal.h"
#include "apps/train/config_file.h"
#include "apps/train/metrics.h"
#include "apps/train/page.h"
#include "apps/train/tensorboard.h"
#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/text.h"
#include "dag/kernels/engines.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double line_every_s = 5, bar_every_s = 0.1, metrics_every_s = 5;
enum { PAGE_EVERY_S = 10, BAR_CELLS = 24, LEAST_CELLS = 5, USUAL_COLUMNS = 80 };

struct tutti_report {
    tutti_report_options options;
    FILE *people, *json, *csv;
    char *json_path, *csv_path;
    tutti_page *page;
    tutti_metrics *metrics;
    tutti_tensorboard *board;
    double next_s;  /* no line or bar before this time */
    double first_s; /* when first_step was reported */
    int64_t first_step;
    int bar_drawn;               /* the cursor is after a bar */
    int members_column;          /* of the table */
    int started;                 /* page and metrics are of this run */
    int json_failed, csv_failed; /* errno of the first failure */
    tutti_status page_failed, metrics_failed;
};

/* ---- for programs ---- */

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static void write_event(tutti_report *report, json_t *event)
{
    if (report->json_failed) goto done;
    errno = 0;
    if (!event) /* text that is not UTF-8 */
        report->json_failed = EILSEQ;
    else if (json_dumpf(event, report->json, JSON_COMPACT | JSON_REAL_PRECISION(12)) ||
             fputc('\n', report->json) == EOF || fflush(report->json))
        report->json_failed = errno ? errno : EIO;
done:
    json_decref(event);
}

/* In an elastic run: of events of a step, the one of the last membership counts. */
static json_t *with_membership(const tutti_report *report, json_t *event)
{
    const int64_t membership = report->options.membership;
    if (membership) json_object_set_new(event, "membership", json_integer(membership));
    return event;
}

static json_t *engines_object(const tutti_engines *engines)
{
    json_t *object = json_object();
    for (int i = 0; i < tutti_engines_count(engines); i++) {
        const char *computed, *engine;
        tutti_engines_row(engines, i, &computed, &engine);
        json_object_set_new(object, computed, json_string(engine));
    }
    return object;
}

static json_t *start_event(const tutti_report_start *s)
{
    json_t *event = json_pack(
        "{s:s, s:s, s:b, s:s, s:s, s:s, s:s?, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, "
        "s:I, s:I, s:I, "
        "s:[iii], s:i, s:I, s:I, "
        "s:I, s:I, s:I}",
        "event", "start", "design", s->design, "auto", s->design_auto, "algorithm", s->algorithm,
        "wire", s->wire, "precision", s->precision, "thread_level", s->thread_level, "runner",
        s->runner, "library", s->library, "model", s->model, "data", s->data, "ranks", s->ranks,
        "lanes", s->lanes, "workers", s->workers, "comm_core", s->comm_core, "collectives",
        s->collectives, "parameters", (json_int_t)s->parameters, "train_images",
        (json_int_t)s->train_images, "test_images", (json_int_t)s->test_images, "shape", s->height,
        s->width, s->channels, "classes", s->classes, "batch", (json_int_t)s->batch, "steps",
        (json_int_t)s->steps, "steps_per_epoch", (json_int_t)s->steps_per_epoch, "first_step",
        (json_int_t)s->first_step, "seed", (json_int_t)s->seed);
    json_object_set_new(event, "device", json_string(s->device));
    json_object_set_new(event, "transport", json_string(s->transport));
    if (s->engines) json_object_set_new(event, "engines", engines_object(s->engines));
    if (s->accumulate > 1) json_object_set_new(event, "accumulate", json_integer(s->accumulate));
    json_object_update_new(event,
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:b, s:o, s:b, s:b, s:o}", "program",
            s->program, "recipe", s->recipe, "optimizer", s->optimizer, "strategy", s->strategy,
            "lr", number(s->rate), "rate_schedule", s->rate_schedule, "momentum",
            number(s->momentum), "nesterov", s->nesterov, "weight_decay", number(s->weight_decay),
            "decay_weights_only", s->weights_only, "zero_last_scale", s->zero_last_scale,
            "label_smoothing", number(s->label_smoothing)));
    if (strcmp(s->compress, "none") != 0)
        json_object_update_new(event,
            json_pack("{s:s, s:I, s:I}", "compress", s->compress, "gradient_bytes",
                (json_int_t)s->sent_bytes, "gradient_bytes_f32", (json_int_t)s->plain_bytes));
    if (s->layout) {
        char text[TUTTI_LAYOUT_TEXT];
        json_object_set_new(event, "layout", json_string(tutti_layout_print(s->layout, text)));
        json_object_set_new(event, "micro_batches", json_integer(s->micro_batches));
        if (*s->divided) json_object_set_new(event, "divided", json_string(s->divided));
        if (*s->stage_layers)
            json_object_set_new(event, "stage_layers", json_string(s->stage_layers));
    }
    if (s->eval_size) json_object_set_new(event, "eval_size", json_integer(s->eval_size));
    if (s->mixup > 0) json_object_set_new(event, s->cutmix ? "cutmix" : "mixup", number(s->mixup));
    return event;
}

static json_t *step_event(const tutti_report_step *s)
{
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "event", "step", "epoch",
        (json_int_t)s->epoch, "step", (json_int_t)s->step, "loss", number(s->loss), "rate",
        number(s->rate), "step_ms", number(s->step_ms), "images_per_s", number(s->images_per_s),
        "hidden_pct", number(s->hidden_pct));
}

/* Precision, recall and F1: their means, and of each class in order. */
static json_t *classes_object(const tutti_tally *tally)
{
    const tutti_tally_class mean = tutti_tally_macro(tally);
    json_t *precision = json_array(), *recall = json_array(), *f1 = json_array();
    for (int k = 0; k < tally->classes; k++) {
        const tutti_tally_class c = tutti_tally_of_class(tally, k);
        json_array_append_new(precision, number(c.precision));
        json_array_append_new(recall, number(c.recall));
        json_array_append_new(f1, number(c.f1));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "test_macro_precision",
        number(mean.precision), "test_macro_recall", number(mean.recall), "test_macro_f1",
        number(mean.f1), "class_precision", precision, "class_recall", recall, "class_f1", f1);
}

static json_t *eval_event(const tutti_report_eval *e)
{
    json_t *event = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:i, s:o}", "event", "eval",
        "epoch", (json_int_t)e->epoch, "step", (json_int_t)e->step, "seconds", number(e->seconds),
        "train_loss", number(e->train_loss), "test_loss", number(e->test_loss), "test_accuracy",
        number(e->test_accuracy), "eval_views", e->views, "one_view_accuracy",
        number(e->one_view_accuracy));
    if (e->tally) {
        json_object_set_new(event, "test_top5_accuracy", number(tutti_tally_best(e->tally)));
        json_object_update_new(event, classes_object(e->tally));
    }
    if (e->averaged) {
        json_object_set_new(event, "average_test_loss", number(e->average_loss));
        json_object_set_new(event, "average_test_accuracy", number(e->average_accuracy));
    }
    return event;
}

static json_t *received_object(const tutti_report_received *r)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "after_step",
        (json_int_t)r->after, "placed", (json_int_t)r->placed, "placed_bytes",
        (json_int_t)r->placed_bytes, "copied", (json_int_t)r->copied, "copied_bytes",
        (json_int_t)r->copied_bytes, "small", (json_int_t)r->small, "small_bytes",
        (json_int_t)r->small_bytes, "allocations", (json_int_t)r->allocations, "sent_placed",
        (json_int_t)r->sent_placed, "sent_written", (json_int_t)r->sent_written);
}

static json_t *summary_event(const tutti_report_summary *s)
{
    json_t *event = json_pack(
        "{s:s, s:s, s:b, s:i, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, "
        "s:o, s:I, s:s}",
        "event", "summary", "design", s->design, "auto", s->design_auto, "ranks", s->ranks, "model",
        s->model, "steps", (json_int_t)s->steps, "batch", (json_int_t)s->batch, "step_ms_median",
        number(s->step_ms_median), "step_ms_mean", number(s->step_ms_mean), "images_per_s",
        number(s->images_per_s), "compute_ms", number(s->compute_ms), "comm_ms", number(s->comm_ms),
        "hidden_pct", number(s->hidden_pct), "train_loss", number(s->train_loss), "test_accuracy",
        number(s->test_accuracy), "eval_views", s->views, "one_view_accuracy",
        number(s->one_view_accuracy), "replica_checks", (json_int_t)s->replica_checks,
        "weights_hash", s->weights_hash);
    const tutti_run_counts *c = &s->counts;
    json_object_update_new(event,
        json_pack("{s:i, s:i, s:i, s:i, s:I}", "kernels", c->kernels, "tasks", c->tasks, "launches",
            c->launches, "graphs", c->graphs, "graph_bytes", (json_int_t)c->graph_bytes));
    json_object_set_new(event, "test_top5_accuracy", number(s->best_accuracy));
    json_object_set_new(event, "test_macro_f1", number(s->macro_f1));
    if (s->received.after) json_object_set_new(event, "received", received_object(&s->received));
    if (s->averaged)
        json_object_set_new(event, "average_test_accuracy", number(s->average_accuracy));
    return event;
}

/* ---- the table ---- */

static const char csv_head[] = "event,epoch,step,seconds,loss,rate,step_ms,images_per_s,hidden_pct,"
                               "test_loss,test_accuracy,test_top5_accuracy",
                  members_head[] = ",membership";

/* A number, or nothing if it is not finite, then the character; 0: none. */
static void put_cell(FILE *csv, double x, char end)
{
    if (isfinite(x)) fprintf(csv, "%.12g", x);
    if (end) fputc(end, csv);
}

static void flush_table(tutti_report *report)
{
    errno = 0;
    if ((fflush(report->csv) || ferror(report->csv)) && !report->csv_failed)
        report->csv_failed = errno ? errno : EIO;
}

static void end_row(tutti_report *report)
{
    if (report->members_column) fprintf(report->csv, ",%" PRId64, report->options.membership);
    fputc('\n', report->csv);
    flush_table(report);
}

static void write_step_row(tutti_report *report, const tutti_report_step *s)
{
    fprintf(report->csv, "step,%" PRId64 ",%" PRId64 ",,", s->epoch, s->step);
    const double cells[] = {s->loss, s->rate, s->step_ms, s->images_per_s, s->hidden_pct};
    for (int i = 0; i < 5; i++) put_cell(report->csv, cells[i], ',');
    fputs(",,", report->csv);
    end_row(report);
}

static void write_eval_row(tutti_report *report, const tutti_report_eval *e)
{
    fprintf(report->csv, "eval,%" PRId64 ",%" PRId64 ",", e->epoch, e->step);
    put_cell(report->csv, e->seconds, ',');
    put_cell(report->csv, e->train_loss, ',');
    fputs(",,,,", report->csv);
    put_cell(report->csv, e->test_loss, ',');
    put_cell(report->csv, e->test_accuracy, ',');
    put_cell(report->csv, e->tally ? tutti_tally_best(e->tally) : NAN, 0);
    end_row(report);
}

/* ---- for people ---- */

/* Asks each time, because windows change. */
static int find_columns(const tutti_report *report)
{
    if (report->options.columns) return report->options.columns;
    int columns = tutti_terminal_columns(STDOUT_FILENO);
    return columns ? columns : USUAL_COLUMNS;
}

static void end_bar(tutti_report *report)
{
    if (report->bar_drawn) tutti_terminal_clear(report->people, find_columns(report));
    report->bar_drawn = 0;
}

/* Remaining seconds of the run at the pace of the steps so far; NaN: not known yet. */
static double remaining_s(const tutti_report *report, const tutti_report_step *s)
{
    double done = (double)(s->step - report->first_step), left = (double)(s->steps - s->step);
    return done > 0 ? left * (tutti_clock_s() - report->first_s) / done : NAN;
}

/* The parts of a bar, from left to right. */
enum { EPOCH, STEP, LOSS, SPEED, HIDDEN, ETA, PARTS, PART_SIZE = 64 };

static void write_parts(
    const tutti_report *report, const tutti_report_step *s, char part[PARTS][PART_SIZE])
{
    char time[TUTTI_TERMINAL_TIME];
    double left_s = remaining_s(report, s);
    snprintf(part[EPOCH], PART_SIZE, "epoch %" PRId64 "/%" PRId64 " ", s->epoch, s->epochs);
    snprintf(part[STEP], PART_SIZE, "step %" PRId64 "/%" PRId64, s->step, s->steps);
    snprintf(part[LOSS], PART_SIZE, " loss %.4g", s->loss);
    snprintf(part[SPEED], PART_SIZE, " %.0f images/s", s->images_per_s);
    snprintf(part[HIDDEN], PART_SIZE, " hidden %.0f %%", s->hidden_pct);
    part[ETA][0] = '\0';
    if (isfinite(left_s))
        snprintf(part[ETA], PART_SIZE, " eta %s", tutti_terminal_time(left_s, time));
}

/* "[####....] ", as wide as there is room for; nothing if there is too little. */
static void write_cells(const tutti_report_step *s, int room, char text[BAR_CELLS + 4])
{
    int cells = room - 3 < BAR_CELLS ? room - 3 : BAR_CELLS;
    text[0] = '\0';
    if (cells < LEAST_CELLS) return;
    int full = (int)(s->epoch_step * cells / s->steps_per_epoch);
    text[0] = '[';
    for (int i = 0; i < cells; i++) text[1 + i] = i < full ? '#' : '.';
    memcpy(text + 1 + cells, "] ", 3);
}

/* Drops parts that do not fit, the least needed first. */
static void draw_bar(tutti_report *report, const tutti_report_step *s)
{
    static const int less_needed[] = {HIDDEN, SPEED, EPOCH, LOSS, ETA};
    char part[PARTS][PART_SIZE], cells[BAR_CELLS + 4], line[PARTS * PART_SIZE + BAR_CELLS + 4];
    int columns = find_columns(report), length = 0;
    write_parts(report, s, part);
    for (int i = 0; i < PARTS; i++) length += (int)strlen(part[i]);
    for (size_t i = 0; i < sizeof less_needed / sizeof *less_needed && length > columns - 1; i++) {
        length -= (int)strlen(part[less_needed[i]]);
        part[less_needed[i]][0] = '\0';
    }
    write_cells(s, columns - 1 - length, cells);
    snprintf(line, sizeof line, "%s%s%s%s%s%s%s", part[EPOCH], cells, part[STEP], part[LOSS],
        part[SPEED], part[HIDDEN], part[ETA]);
    tutti_terminal_show(report->people, columns, line);
    report->bar_drawn = 1;
}

static void print_line(tutti_report *report, const tutti_report_step *s)
{
    char time[TUTTI_TERMINAL_TIME];
    double left_s = remaining_s(report, s);
    tutti_text_print(report->people,
        "epoch %" PRId64 "/%" PRId64 " step %" PRId64 "/%" PRId64
        " loss %.4f rate %.3g images/s %.0f hidden %.0f %%",
        s->epoch, s->epochs, s->step, s->steps, s->loss, s->rate, s->images_per_s, s->hidden_pct);
    if (isfinite(left_s))
        tutti_text_print(report->people, " eta %s", tutti_terminal_time(left_s, time));
    fputc('\n', report->people);
}

static void print_start(FILE *out, const tutti_report_start *s)
{
    tutti_text_print(out,
        "design %s: %d rank%s, %d lane%s, %d collectives per step in %s, algorithm %s, %s%s\n",
        s->design, s->ranks, s->ranks == 1 ? "" : "s", s->lanes, s->lanes == 1 ? "" : "s",
        s->collectives, s->wire, s->algorithm, s->thread_level ? s->thread_level : "without MPI",
        s->thread_level ? " granted" : "");
    tutti_text_print(out, "%s, %d worker%s per rank, kernels from %s in %s\n", s->runner,
        s->workers, s->workers == 1 ? "" : "s", s->library, s->precision);
    if (strcmp(s->device, "CPU") != 0)
        tutti_text_print(
            out, "kernels of rank 0 on %s, collectives by transport %s\n", s->device, s->transport);
    if (s->comm_core >= 0)
        tutti_text_print(out, "communication of rank 0 on processor %d\n", s->comm_core);
    tutti_text_print(out, "model %s: %" PRId64 " parameters\n", s->model, s->parameters);
    tutti_text_print(out,
        "data %s: %" PRId64 " training and %" PRId64 " test images of %dx%dx%d, %d classes\n",
        s->data, s->train_images, s->test_images, s->height, s->width, s->channels, s->classes);
    if (s->eval_size)
        tutti_text_print(out, "test images are seen at %dx%d\n", s->eval_size, s->eval_size);
    tutti_text_print(out,
        "recipe %s: %s, rate %g (%s), momentum %g%s, weight decay %g%s, label smoothing %g%s\n",
        s->recipe, s->optimizer, s->rate, s->rate_schedule, s->momentum,
        s->nesterov ? " nesterov" : "", s->weight_decay, s->weights_only ? " of weights only" : "",
        s->label_smoothing, s->zero_last_scale ? ", last scales start at 0" : "");
    if (s->mixup > 0)
        tutti_text_print(out, "training images are mixed in pairs, %s %g\n",
            s->cutmix ? "cutmix" : "mixup", s->mixup);
    if (strcmp(s->strategy, "sync") != 0) tutti_text_print(out, "strategy %s\n", s->strategy);
    if (strcmp(s->compress, "none") != 0 && s->plain_bytes > 0)
        tutti_text_print(out,
            "gradients travel as %s: a rank sends %.3g MB of them in a step, in place of %.3g MB\n",
            s->compress, s->sent_bytes / 1e6, s->plain_bytes / 1e6);
    if (s->layout) {
        char text[TUTTI_LAYOUT_TEXT];
        tutti_text_print(out, "layout %s, %d micro-batches%s%s%s%s\n",
            tutti_layout_print(s->layout, text), s->micro_batches,
            *s->stage_layers ? ", layers " : "", s->stage_layers,
            *s->divided ? ", divided layers " : "", s->divided);
    }
    tutti_text_print(
        out, "%" PRId64 " steps of %d x %" PRId64 " images", s->steps, s->replicas, s->batch);
    if (s->accumulate > 1) tutti_text_print(out, " x %" PRId64 " batches", s->accumulate);
    tutti_text_print(out, ", %" PRId64 " per epoch", s->steps_per_epoch);
    if (s->first_step) tutti_text_print(out, ", resumed after step %" PRId64, s->first_step);
    fputc('\n', out);
    if (s->evaluates) fputs("nothing is trained: the weights are evaluated\n", out);
    if (!s->evaluates && s->first_step && s->first_step >= s->last_step)
        tutti_text_print(out,
            "this run has ended: its checkpoint is of step %" PRId64 " of %" PRId64
            ", so nothing is left to train\n",
            s->first_step, s->last_step);
    fflush(out);
}

tutti_report_style tutti_report_find_style(void)
{
    return tutti_terminal_columns(STDOUT_FILENO) ? TUTTI_REPORT_BAR : TUTTI_REPORT_LINES;
}

/* ---- events ---- */

static tutti_status open_json(tutti_report *r)
{
    const tutti_report_options *o = &r->options;
    const tutti_file_options file = {.what = "--json", .path = o->json, .keep = o->keep};
    r->json_path = strdup(o->json);
    if (!r->json_path) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the report");
    return tutti_file_stream(&file, o->append, &r->json);
}

/* A table that is continued keeps its columns. */
static int has_members_column(const char *path)
{
    char head[256] = "";
    FILE *table = fopen(path, "re");
    const int has = table && fgets(head, sizeof head, table) && strstr(head, members_head);
    if (table) fclose(table);
    return has;
}

static tutti_status open_csv(tutti_report *r)
{
    const tutti_report_options *o = &r->options;
    const tutti_file_options file = {.what = "--csv", .path = o->csv, .keep = o->keep};
    r->csv_path = strdup(o->csv);
    if (!r->csv_path) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the report");
    tutti_status status = tutti_file_stream(&file, o->append, &r->csv);
    if (status) return status;
    const int begins = ftell(r->csv) <= 0;
    r->members_column = begins ? o->membership > 0 : has_members_column(o->csv);
    if (begins) fprintf(r->csv, "%s%s\n", csv_head, r->members_column ? members_head : "");
    flush_table(r);
    return TUTTI_OK;
}

static tutti_status open_files(tutti_report *r)
{
    const tutti_report_options *o = &r->options;
    tutti_status status = o->json ? open_json(r) : TUTTI_OK;
    if (!status && o->csv) status = open_csv(r);
    if (!status && o->page)
        status = tutti_page_new(o->page, o->keep, o->append, PAGE_EVERY_S, &r->page);
    if (!status && o->metrics) status = tutti_metrics_new(o->metrics, metrics_every_s, &r->metrics);
    if (!status && o->tensorboard) status = tutti_tensorboard_open(o->tensorboard, &r->board);
    return status;
}

tutti_status tutti_report_open(const tutti_report_options *options, tutti_report **report)
{
    tutti_report *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the report");
    r->options = *options;
    tutti_status status = options->active ? open_files(r) : TUTTI_OK;
    if (status) {
        tutti_report_close(r, 0);
        return status;
    }
    if (options->active && options->style != TUTTI_REPORT_QUIET)
        r->people = options->out ? options->out : stdout;
    *report = r;
    return TUTTI_OK;
}

void tutti_report_on_start(tutti_report *report, const tutti_report_start *start)
{
    report->started = 1;
    if (report->json) {
        json_t *event = with_membership(report, start_event(start));
        if (report->options.membership)
            json_object_set_new(event, "again", json_integer(report->options.again));
        write_event(report, event);
    }
    if (report->json && start->options)
        write_event(report, json_pack("{s:s, s:o}", "event", "options", "options",
                                tutti_train_config_object(start->options)));
    if (report->page) tutti_page_on_start(report->page, start);
    if (report->metrics) tutti_metrics_on_start(report->metrics, start);
    if (report->board) tutti_tensorboard_on_start(report->board, start);
    if (report->people) print_start(report->people, start);
}

void tutti_report_on_step(tutti_report *report, const tutti_report_step *step)
{
    if (report->json) write_event(report, with_membership(report, step_event(step)));
    if (report->csv) write_step_row(report, step);
    if (report->board) tutti_tensorboard_on_step(report->board, step);
    double now = tutti_clock_s();
    if (!report->first_s) {
        report->first_s = now;
        report->first_step = step->step;
    }
    if (report->page && !report->page_failed)
        report->page_failed = tutti_page_on_step(report->page, step, remaining_s(report, step));
    if (report->metrics && !report->metrics_failed)
        report->metrics_failed = tutti_metrics_on_step(report->metrics, step);
    if (!report->people) return;
    int last = step->epoch_step == step->steps_per_epoch || step->step == step->steps;
    if (now < report->next_s && !last) return;
    if (report->options.style == TUTTI_REPORT_BAR)
        draw_bar(report, step);
    else
        print_line(report, step);
    fflush(report->people);
    report->next_s = now + (report->options.style == TUTTI_REPORT_BAR ? bar_every_s : line_every_s);
}

static void report_accuracy(
    tutti_report *report, double accuracy, double best, int views, double one_view, double average)
{
    tutti_text_print(report->people, "test accuracy %.2f %%", 100 * accuracy);
    if (isfinite(best)) tutti_text_print(report->people, ", top-5 %.2f %%", 100 * best);
    if (views > 1)
        tutti_text_print(
            report->people, " (images and their mirror images; %.2f %% without)", 100 * one_view);
    if (isfinite(average))
        tutti_text_print(report->people, ", of averaged weights %.2f %%", 100 * average);
}

void tutti_report_on_eval(tutti_report *report, const tutti_report_eval *eval)
{
    if (report->json) write_event(report, with_membership(report, eval_event(eval)));
    if (report->csv) write_eval_row(report, eval);
    if (report->board) tutti_tensorboard_on_eval(report->board, eval);
    if (report->page && !report->page_failed)
        report->page_failed = tutti_page_on_eval(report->page, eval);
    if (report->metrics && !report->metrics_failed)
        report->metrics_failed = tutti_metrics_on_eval(report->metrics, eval);
    if (!report->people) return;
    end_bar(report);
    tutti_text_print(
        report->people, "epoch %" PRId64 " step %" PRId64 ": ", eval->epoch, eval->step);
    if (isfinite(eval->train_loss))
        tutti_text_print(report->people, "train loss %.4f, ", eval->train_loss);
    if (isfinite(eval->test_loss)) {
        tutti_text_print(report->people, "test loss %.4f, ", eval->test_loss);
        report_accuracy(report, eval->test_accuracy,
            eval->tally ? tutti_tally_best(eval->tally) : NAN, eval->views, eval->one_view_accuracy,
            eval->averaged ? eval->average_accuracy : NAN);
        fputs(", ", report->people);
    }
    tutti_text_print(report->people, "%.1f s\n", eval->seconds);
    fflush(report->people);
}

void tutti_report_on_checkpoint(tutti_report *report, const char *path, int64_t step)
{
    if (report->json)
        write_event(report, json_pack("{s:s, s:s, s:I}", "event", "checkpoint", "file", path,
                                "step", (json_int_t)step));
    if (!report->people) return;
    end_bar(report);
    tutti_text_print(report->people, "step %" PRId64 ": saved %s\n", step, path);
    fflush(report->people);
}

void tutti_report_on_interrupt(
    tutti_report *report, const char *signal, int64_t step, const char *command)
{
    if (report->json)
        write_event(report, json_pack("{s:s, s:s, s:I, s:s?}", "event", "interrupted", "signal",
                                signal, "step", (json_int_t)step, "resume", command));
    if (report->page) tutti_page_on_interrupt(report->page, signal, step, command);
    if (!report->people) return;
    end_bar(report);
    fflush(report->people);
}

static json_t *numbers(int64_t count, const double *x)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) json_array_append_new(list, number(x[i]));
    return list;
}

void tutti_report_on_rates(tutti_report *report, const tutti_report_rates *r)
{
    if (report->json)
        write_event(
            report, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "event", "find_lr",
                        "steps", (json_int_t)r->steps, "suggested", number(r->suggested), "lowest",
                        number(r->lowest), "diverged", number(r->diverged), "rate",
                        numbers(r->steps, r->rate), "loss", numbers(r->steps, r->loss), "smoothed",
                        numbers(r->steps, r->smoothed)));
    if (report->page) tutti_page_on_rates(report->page, r->steps);
    FILE *out = report->people;
    if (!out) return;
    end_bar(report);
    tutti_text_print(out, "%" PRId64 " rates are in %s: ", r->steps, r->file);
    if (isfinite(r->lowest)) tutti_text_print(out, "the loss is lowest at %.2g", r->lowest);
    if (isfinite(r->diverged)) tutti_text_print(out, ", and diverges at %.2g", r->diverged);
    if (isfinite(r->suggested))
        tutti_text_print(out, "\nit falls fastest at --lr %.2g\n", r->suggested);
    else
        fputs("\nit falls by less than a twentieth: try more steps, or other bounds\n", out);
    fflush(out);
}

void tutti_report_on_summary(tutti_report *report, const tutti_report_summary *s)
{
    if (report->json) write_event(report, summary_event(s));
    if (report->page) tutti_page_on_summary(report->page, s);
    if (!report->people) return;
    end_bar(report);
    if (s->trained)
        tutti_text_print(report->people,
            "%" PRId64 " steps: median %.2f ms, mean %.2f ms (%.0f images/s); of the mean, kernels "
            "run %.2f ms and "
            "collectives %.2f ms, %.0f %% of them hidden\n",
            s->steps, s->step_ms_median, s->step_ms_mean, s->images_per_s, s->compute_ms,
            s->comm_ms, s->hidden_pct);
    const tutti_report_received *r = &s->received;
    if (r->after)
        tutti_text_print(report->people,
            "after step %" PRId64 ", rank 0 received %" PRId64 " messages in place (%.1f MB), "
            "%" PRId64 " by copies (%.1f MB), %" PRId64 " small; it sent %" PRId64
            " by one copy, and %" PRId64 " that kernels had written in place; %" PRId64
            " buffers allocated\n",
            r->after, r->placed, 1e-6 * (double)r->placed_bytes, r->copied,
            1e-6 * (double)r->copied_bytes, r->small, r->sent_placed, r->sent_written,
            r->allocations);
    if (isfinite(s->train_loss))
        tutti_text_print(report->people, "train loss %.4f, ", s->train_loss);
    if (isfinite(s->test_accuracy)) {
        report_accuracy(report, s->test_accuracy, s->best_accuracy, s->views, s->one_view_accuracy,
            s->averaged ? s->average_accuracy : NAN);
        if (isfinite(s->macro_f1))
            tutti_text_print(report->people, ", macro F1 %.2f %%", 100 * s->macro_f1);
        fputs(", ", report->people);
    }
    tutti_text_print(report->people, "weights %s\n", s->weights_hash);
    fflush(report->people);
}

tutti_status tutti_report_close(tutti_report *report, int continues)
{
    if (!report) return TUTTI_OK;
    tutti_status status = TUTTI_OK;
    if (report->people) end_bar(report);
    if (report->json && fclose(report->json) && !report->json_failed) report->json_failed = errno;
    if (report->json_failed)
        status = tutti_fail(TUTTI_ERR_IO, "--json %s: could not be written: %s", report->json_path,
            strerror(report->json_failed));
    if (report->csv && fclose(report->csv) && !report->csv_failed) report->csv_failed = errno;
    if (report->csv_failed && !status)
        status = tutti_fail(TUTTI_ERR_IO, "--csv %s: could not be written: %s", report->csv_path,
            strerror(report->csv_failed));
    if (report->page && !report->page_failed && report->started)
        report->page_failed = tutti_page_end(report->page, continues);
    if (!status) status = report->page_failed;
    if (report->metrics && !report->metrics_failed && report->started)
        report->metrics_failed = tutti_metrics_write(report->metrics);
    if (!status) status = report->metrics_failed;
    const tutti_status board = tutti_tensorboard_close(report->board);
    if (!status) status = board;
    tutti_page_free(report->page);
    tutti_metrics_free(report->metrics);
    free(report->csv_path);
    free(report->json_path);
    free(report);
    return status;
}
