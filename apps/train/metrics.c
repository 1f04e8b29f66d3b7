#include "apps/train/metrics.h"

#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEPS,
    STEPS_ALL,
    EPOCH,
    LOSS,
    RATE,
    STEP_S,
    IMAGES,
    HIDDEN,
    TRAIN_LOSS,
    TEST_LOSS,
    ACCURACY,
    UPDATED,
    VALUES
};

static const struct {
    const char *name, *type, *suffix, *unit, *help;
} rows[VALUES] = {
    [STEPS] = {"tutti_steps", "counter", "_total", NULL, "Steps that have ended."},
    [STEPS_ALL] = {"tutti_steps_planned", "gauge", "", NULL, "Steps of the whole run."},
    [EPOCH] = {"tutti_epoch", "gauge", "", NULL, "The epoch of the last step, from 1."},
    [LOSS] = {"tutti_step_loss", "gauge", "", NULL, "Loss of rank 0's images of the last step."},
    [RATE] = {"tutti_learning_rate", "gauge", "", NULL, "Learning rate of the last step."},
    [STEP_S] = {"tutti_step_seconds", "gauge", "", "seconds", "Duration of the last step."},
    [IMAGES] = {"tutti_images_per_second", "gauge", "", NULL,
        "Images of all ranks per second; with a store of keys, of the first client."},
    [HIDDEN] = {"tutti_hidden_ratio", "gauge", "", "ratio",
        "Share of communication behind computation in all steps so far."},
    [TRAIN_LOSS] = {"tutti_train_loss", "gauge", "", NULL,
        "Mean training loss at the last evaluation."},
    [TEST_LOSS] = {"tutti_test_loss", "gauge", "", NULL, "Test loss of the last evaluation."},
    [ACCURACY] = {"tutti_test_accuracy_ratio", "gauge", "", "ratio",
        "Test accuracy of the last evaluation."},
    [UPDATED] = {"tutti_updated_seconds", "gauge", "", "seconds",
        "When this was written, since 1970: a run that hangs writes no more."},
};

struct tutti_metrics {
    char *path, *labels; /* labels: of the run */
    double every_s, next_s;
    double value[VALUES]; /* not finite: not known */
};

tutti_status tutti_metrics_new(const char *path, double every_s, tutti_metrics **metrics)
{
    tutti_metrics *m = calloc(1, sizeof *m);
    if (m) m->path = strdup(path);
    if (!m || !m->path) {
        free(m);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the metrics");
    }
    m->every_s = every_s;
    for (int i = 0; i < VALUES; i++) m->value[i] = NAN;
    *metrics = m;
    return TUTTI_OK;
}

void tutti_metrics_free(tutti_metrics *m)
{
    if (!m) return;
    free(m->labels);
    free(m->path);
    free(m);
}

/* A label, with what the format wants before ", \ and ends of lines. */
static void put_label(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++)
        if (*value == '\n')
            fputs("\\n", out);
        else if (*value == '"' || *value == '\\')
            fprintf(out, "\\%c", *value);
        else
            putc(*value, out);
    fputs("\",", out);
}

void tutti_metrics_on_start(tutti_metrics *m, const tutti_report_start *s)
{
    size_t size;
    char number[16];
    FILE *out = open_memstream(&m->labels, &size);
    if (!out) return;
    snprintf(number, sizeof number, "%d", s->ranks);
    put_label(out, "model", s->model);
    put_label(out, "design", s->design);
    put_label(out, "strategy", s->strategy);
    put_label(out, "data", s->data);
    put_label(out, "ranks", number);
    fclose(out);
    m->value[STEPS] = (double)s->first_step;
    m->value[STEPS_ALL] = (double)s->steps;
}

/* Not the type "info" of OpenMetrics: the text format of Prometheus does not have it. */
static void print_all(tutti_metrics *m, FILE *out)
{
    if (m->labels)
        fprintf(out,
            "# TYPE tutti_run_info gauge\n# HELP tutti_run_info What is trained.\n"
            "tutti_run_info{%.*s} 1\n",
            (int)strlen(m->labels) - 1, m->labels);
    for (int i = 0; i < VALUES; i++) {
        if (!isfinite(m->value[i])) continue;
        fprintf(out, "# TYPE %s %s\n", rows[i].name, rows[i].type);
        if (rows[i].unit) fprintf(out, "# UNIT %s %s\n", rows[i].name, rows[i].unit);
        fprintf(out, "# HELP %s %s\n%s%s %.12g\n", rows[i].name, rows[i].help, rows[i].name,
            rows[i].suffix, m->value[i]);
    }
    fputs("# EOF\n", out);
}

tutti_status tutti_metrics_write(tutti_metrics *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const tutti_file_options file = {.what = "metrics", .path = m->path, .unsynced = 1};
    m->next_s = tutti_clock_s() + m->every_s;
    m->value[UPDATED] = (double)time(NULL);
    if (out) print_all(m, out);
    tutti_status status = !out || fclose(out)
                              ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for the metrics")
                              : tutti_file_put(&file, text, size);
    free(text);
    return status;
}

tutti_status tutti_metrics_on_step(tutti_metrics *m, const tutti_report_step *s)
{
    m->value[STEPS] = (double)s->step;
    m->value[STEPS_ALL] = (double)s->steps;
    m->value[EPOCH] = (double)s->epoch;
    m->value[LOSS] = s->loss;
    m->value[RATE] = s->rate;
    m->value[STEP_S] = s->step_ms / 1e3;
    m->value[IMAGES] = s->images_per_s;
    m->value[HIDDEN] = s->hidden_pct / 100;
    return tutti_clock_s() < m->next_s ? TUTTI_OK : tutti_metrics_write(m);
}

tutti_status tutti_metrics_on_eval(tutti_metrics *m, const tutti_report_eval *e)
{
    m->value[TRAIN_LOSS] = e->train_loss;
    m->value[TEST_LOSS] = e->test_loss;
    m->value[ACCURACY] = e->test_accuracy;
    return tutti_metrics_write(m);
}
