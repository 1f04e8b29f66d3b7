#include "apps/svm/report.h"

#include "apps/svm/memory.h"
#include "apps/terminal/terminal.h"
#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

enum { POINTS = 4096, LINES = 20 /* of the table, about */ };

/* A change of the active samples. */
typedef struct point {
    tutti_svm_event event;
    tutti_svm_progress progress;
} point;

struct tutti_svm_report {
    FILE *json;
    int failed, quiet, columns, points;
    double eps, shown_s, begun_s, first_gap;
    point point[POINTS];
};

static const char *const names[] = {[TUTTI_SVM_ADVANCED] = "progress",
    [TUTTI_SVM_ELIMINATED] = "eliminated",
    [TUTTI_SVM_REBUILT] = "reconstructed",
    [TUTTI_SVM_MOVED] = "moved",
    [TUTTI_SVM_ENDED] = "ended"};

tutti_status tutti_svm_report_open(
    const char *json, int quiet, double eps, tutti_svm_report **report)
{
    tutti_svm_report *r = tutti_svm_new(1, sizeof *r);
    if (!r) return TUTTI_ERR_NOMEM;
    r->quiet = quiet;
    r->eps = eps;
    r->columns = quiet ? 0 : tutti_terminal_columns(STDERR_FILENO);
    const tutti_file_options file = {.what = "JSON", .path = json};
    tutti_status status = json ? tutti_file_stream(&file, 0, &r->json) : TUTTI_OK;
    if (status) {
        free(r);
        return status;
    }
    *report = r;
    return TUTTI_OK;
}

/* One event as a line; takes it. */
static void write_line(tutti_svm_report *r, json_t *event)
{
    if (!r->json || !event || json_dumpf(event, r->json, JSON_COMPACT))
        r->failed |= r->json != NULL;
    if (r->json) fprintf(r->json, "\n");
    if (r->json) fflush(r->json);
    json_decref(event);
}

void tutti_svm_report_start(tutti_svm_report *r, const char *data, const tutti_rows *rows,
    int64_t all_rows, const tutti_svm_classes *classes, const tutti_svm_world *world)
{
    const double bytes = (double)rows->count * 24 + (double)tutti_rows_bytes(rows, rows->nonzeros);
    if (!r->quiet) {
        printf("%" PRId64 " rows with %" PRId64
               " features in %d classes, on %d rank%s; %.1f MB of rows on rank 0\n",
            all_rows, rows->columns, classes->count, world->size, world->size > 1 ? "s" : "",
            bytes / 1e6);
        fflush(stdout);
    }
    char *shown = tutti_text_shown(data); /* JSON is UTF-8 */
    write_line(r, json_pack("{s:s, s:s, s:I, s:I, s:i, s:i}", "event", "start", "data",
                      shown ? shown : "", "rows", (json_int_t)all_rows, "features",
                      (json_int_t)rows->columns, "classes", classes->count, "ranks", world->size));
    free(shown);
}

/* The time left, if the gap continues to shrink by the same factor. */
static double time_left(const tutti_svm_report *r, const tutti_svm_progress *p)
{
    const double done = log(r->first_gap / p->gap), all = log(r->first_gap / r->eps);
    return done > 0.1 ? p->seconds * (all / done - 1) : NAN;
}

static void show_progress(tutti_svm_report *r, const tutti_svm_progress *p)
{
    char line[200], left[TUTTI_TERMINAL_TIME];
    snprintf(line, sizeof line,
        "step %" PRId64 "  gap %.4g  active %" PRId64 " of %" PRId64 "  %.1f s  left about %s",
        p->steps, p->gap, p->active, p->total, p->seconds,
        tutti_terminal_time(time_left(r, p), left));
    if (r->columns) {
        tutti_terminal_show(stderr, r->columns, line);
    } else {
        printf("%s\n", line);
        fflush(stdout);
    }
}

static json_t *describe_event(const char *name, const tutti_svm_progress *p)
{
    return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:s, s:I, s:I}", "event",
        name, "steps", (json_int_t)p->steps, "rounds", (json_int_t)p->rounds, "gap",
        isfinite(p->gap) ? p->gap : 0, "active", (json_int_t)p->active, "samples",
        (json_int_t)p->total, "evaluations", (json_int_t)p->evaluations, "busiest", p->busiest,
        "seconds", p->seconds, "common_seconds", p->common_s, "survey",
        p->combines ? "combined" : "gathered", "survey_bytes", (json_int_t)p->survey_bytes,
        "row_bytes", (json_int_t)p->row_bytes);
}

void tutti_svm_report_event(tutti_svm_report *r, tutti_svm_event event, const tutti_svm_progress *p)
{
    const double now = tutti_clock_s(), pause_s = r->columns ? 0.5 : 10;
    if (p->rounds <= 1) r->first_gap = p->gap;
    if (!r->shown_s) r->shown_s = now;
    if (event != TUTTI_SVM_ADVANCED) {
        write_line(r, describe_event(names[event], p));
        if (r->points < POINTS) r->point[r->points++] = (point){event, *p};
    }
    if (event != TUTTI_SVM_ADVANCED || now - r->shown_s < pause_s) return;
    r->shown_s = now;
    write_line(r, describe_event(names[event], p));
    if (!r->quiet) show_progress(r, p);
}

void tutti_svm_report_pair(
    tutti_svm_report *r, int64_t positive, int64_t negative, const tutti_svm_result *result)
{
    const tutti_svm_progress *p = &result->progress;
    tutti_terminal_clear(stderr, r->columns);
    printf("class %" PRId64 " against %" PRId64 ": objective %.6f, rho %.6f, %" PRId64
           " support vectors (%" PRId64 " at the bound), gap %.2g, %" PRId64
           " steps, %.3g kernel values on rank 0, %.2f s\n",
        positive, negative, result->objective, result->rho, result->support, result->bounded,
        p->gap, p->steps, (double)p->evaluations, p->seconds);
    fflush(stdout);
    json_t *event = describe_event("pair", p),
           *more = json_pack("{s:[I,I], s:f, s:f, s:I, s:I}", "classes", (json_int_t)positive,
               (json_int_t)negative, "objective", result->objective, "rho", result->rho, "support",
               (json_int_t)result->support, "bounded", (json_int_t)result->bounded);
    json_object_update(event, more);
    json_decref(more);
    write_line(r, event);
}

void tutti_svm_report_accuracy(tutti_svm_report *r, double cost, double gamma, double accuracy)
{
    write_line(r, json_pack("{s:s, s:f, s:f, s:f}", "event", "accuracy", "cost", cost, "gamma",
                      gamma, "value", accuracy));
}

void tutti_svm_report_number(tutti_svm_report *r, const char *name, double value)
{
    write_line(r, json_pack("{s:s, s:f}", "event", name, "value", value));
}

void tutti_svm_report_table(const tutti_svm_report *r)
{
    int changes = 0;
    for (int k = 0; k < r->points; k++) changes += r->point[k].event != TUTTI_SVM_ENDED;
    if (r->quiet || !changes) return;
    printf("%10s %12s %12s %8s %12s  %s\n", "seconds", "steps", "active", "share", "gap", "what");
    for (int k = 0; k < r->points; k++) {
        const int same = k && k + 1 < r->points && r->point[k].event == r->point[k - 1].event;
        if (same && k % (r->points / LINES + 1)) continue;
        const tutti_svm_progress *p = &r->point[k].progress;
        printf("%10.2f %12" PRId64 " %12" PRId64 " %7.1f%% %12.4g  %s\n", p->seconds, p->steps,
            p->active, 100 * (double)p->active / (double)p->total, p->gap,
            names[r->point[k].event]);
    }
}

tutti_status tutti_svm_report_close(tutti_svm_report *r)
{
    if (!r) return TUTTI_OK;
    tutti_terminal_clear(stderr, r->columns);
    int failed = r->failed || fflush(stdout) != 0;
    if (r->json && (ferror(r->json) | fclose(r->json))) failed = 1;
    free(r);
    return failed ? tutti_fail(TUTTI_ERR_IO, "the output could not be written") : TUTTI_OK;
}
