#include "config.h" /* first: it asks libc for getline and mkdtemp */

#include "apps/bench/strategies_run.h"

#include "apps/bench/box.h"
#include "apps/bench/result.h"
#include "apps/models/model.h"
#include "dag/base/log.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Trains, and leaves what the host's links have carried: a file for each rank. */
static const char wrapped[] =
    "counts=$1; shift; \"$@\"; status=$?; cat /proc/net/dev > \"$counts.$$\"; exit $status";

typedef struct files {
    char folder[64], json[96], counts[96];
} files;

/* ---- what came of it ---- */

/* Bytes sent over all links but the loopback. */
static double read_sent(const char *file)
{
    char line[512], name[32];
    double sent, all = 0;
    FILE *in = fopen(file, "re");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, " %31[^:]: %*f %*f %*f %*f %*f %*f %*f %*f %lf", name, &sent) == 2 &&
            strcmp(name, "lo") != 0)
            all += sent;
    if (in) fclose(in);
    return all;
}

/* The bytes of the host that has sent most. */
static double most_sent(const files *f)
{
    char pattern[112];
    glob_t found;
    double most = 0;
    snprintf(pattern, sizeof pattern, "%s.*", f->counts);
    if (glob(pattern, 0, NULL, &found)) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        most = fmax(most, read_sent(found.gl_pathv[i]));
        unlink(found.gl_pathv[i]);
    }
    globfree(&found);
    return most;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

typedef struct training {
    double seconds;
    tutti_strategies_row *row;
} training;

static tutti_status read_event(void *ctx, const json_t *object)
{
    training *t = ctx;
    tutti_strategies_row *row = t->row;
    const char *event = json_string_value(json_object_get(object, "event"));
    double ms = number_of(object, "step_ms"), accuracy = number_of(object, "test_accuracy");
    if (event && !strcmp(event, "step") && isfinite(ms)) t->seconds += ms / 1e3;
    if (event && !strcmp(event, "eval") && isfinite(accuracy) &&
        row->evals < TUTTI_STRATEGIES_EVALS)
        row->eval[row->evals++] =
            (tutti_strategies_eval){.epoch = json_integer_value(json_object_get(object, "epoch")),
                .step = json_integer_value(json_object_get(object, "step")),
                .seconds = t->seconds,
                .accuracy_pct = 100 * accuracy};
    return TUTTI_OK;
}

static tutti_status read_training(const files *f, tutti_strategies_row *row)
{
    training t = {.row = row};
    row->evals = 0;
    tutti_status status = tutti_result_read(f->json, read_event, &t);
    if (status || row->evals) return status;
    return tutti_fail(TUTTI_ERR_FORMAT, "%s: the training has no evaluation", row->name);
}

static void conclude(const tutti_strategies_options *o, double sent, tutti_strategies_row *row)
{
    const double steps = (double)row->eval[row->evals - 1].step;
    row->reached = -1;
    for (int i = 0; i < row->evals; i++) {
        tutti_strategies_eval *e = &row->eval[i];
        e->mb = sent / 1e6 * (double)e->step / steps;
        if (row->reached < 0 && e->accuracy_pct >= o->accuracy_pct) row->reached = i;
    }
}

/* ---- the training ---- */

int64_t tutti_strategies_ranks(const tutti_strategies_options *o, const tutti_strategies_row *row)
{
    const char *servers = strstr(row->layout, "servers=");
    const int64_t workers = o->hosts.word ? o->ranks : o->hosts.value;
    return workers + (servers ? atoi(servers + strlen("servers=")) : 0);
}

/* tutti-cifar's own rate, in proportion to the images per step, is for trainings that begin gently. These are short: at
 * most the rate for 256 images. */
static double gentle_rate(const tutti_strategies_options *o)
{
    const int64_t workers = o->hosts.word ? o->ranks : o->hosts.value;
    return tutti_model_find(o->model)->recipe.rate * fmin((double)(o->batch * workers), 256) / 128;
}

static tutti_status train(
    const tutti_strategies_options *o, const tutti_strategies_row *row, files *f)
{
    char self[TUTTI_BOX_PATH], box[TUTTI_BOX_TEXT], start[TUTTI_BOX_TEXT], cifar[TUTTI_BOX_TEXT];
    char ranks[24], rate[40], batch[24], epochs[24], seed[24], lr[32];
    char *argv[40];
    int n = 0;
    tutti_status status = tutti_box_self(self);
    if (status) return status;
    snprintf(ranks, sizeof ranks, "%" PRId64, tutti_strategies_ranks(o, row));
    snprintf(rate, sizeof rate, "%.0fkbit", 1e3 * o->link_mbit);
    snprintf(batch, sizeof batch, "%" PRId64, o->batch);
    snprintf(epochs, sizeof epochs, "%" PRId64, o->epochs);
    snprintf(seed, sizeof seed, "%" PRId64, o->seed);
    snprintf(lr, sizeof lr, "%.9g", o->lr.word ? gentle_rate(o) : o->lr.value);
    if (o->hosts.word) {
        char *const before[] = {
            (char *)tutti_box_find(self, "tutti-run", start), "-n", ranks, NULL};
        for (int i = 0; before[i]; i++) argv[n++] = before[i];
    } else {
        char *const before[] = {(char *)tutti_box_find(self, "box/tutti-box", box), "run",
            "--hosts", ranks, "--rate", rate, "--", "sh", "-c", (char *)wrapped, "sh", f->counts,
            NULL};
        for (int i = 0; before[i]; i++) argv[n++] = before[i];
    }
    char *const program[] = {(char *)tutti_box_find(self, "tutti-cifar", cifar), "--data",
        (char *)o->data, "--model", (char *)o->model, "--batch", batch, "--epochs", epochs,
        "--seed", seed, "--lr", lr, "--precision", (char *)o->precision, "--strategy",
        (char *)row->strategy, "--compress", (char *)row->compress, "--quiet", "--json", f->json,
        NULL};
    for (int i = 0; program[i]; i++) argv[n++] = program[i];
    if (*row->layout) {
        argv[n++] = "--layout";
        argv[n++] = (char *)row->layout;
    }
    argv[n] = NULL;
    return tutti_box_run(argv, row->name, o->cell_timeout_s);
}

tutti_status tutti_strategies_train(const tutti_strategies_options *o, tutti_strategies_row *row)
{
    files f;
    const char *tmp = getenv("TMPDIR");
    snprintf(f.folder, sizeof f.folder, "%.32s/tutti-bench.XXXXXX",
        tmp && *tmp && strlen(tmp) <= 32 ? tmp : "/tmp");
    if (!mkdtemp(f.folder))
        return tutti_fail(TUTTI_ERR_IO, "%s: cannot be made: %s", f.folder, strerror(errno));
    snprintf(f.json, sizeof f.json, "%s/json", f.folder);
    snprintf(f.counts, sizeof f.counts, "%s/counts", f.folder);
    tutti_status status = train(o, row, &f);
    double sent = most_sent(&f);
    if (!status) status = read_training(&f, row);
    if (!status) conclude(o, sent, row);
    row->failed = status != TUTTI_OK;
    unlink(f.json);
    rmdir(f.folder);
    tutti_box_obey();
    return status;
}
