/* tutti-svm: support vector machines. See tutti-svm(1). */
#include "apps/svm/checkpoint.h"
#include "apps/svm/memory.h"
#include "apps/svm/options.h"
#include "apps/svm/picture.h"
#include "apps/svm/predict.h"
#include "apps/svm/read.h"
#include "apps/svm/report.h"
#include "apps/svm/same.h"
#include "apps/svm/solve.h"
#include "apps/svm/solve_parts.h"
#include "apps/train/interrupt.h"
#include "config.h"
#include "dag/base/clock.h"
#include "dag/base/conf_print.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank has of a command. */
typedef struct run {
    const tutti_conf *conf;
    const tutti_svm_options *options;
    tutti_interrupt *interrupt;
    tutti_svm_world *world;
    tutti_svm_report *report; /* rank 0 */
    tutti_rows rows;
    int64_t all_rows;
    tutti_svm_classes classes;
    tutti_svm_scaling scaling;
    tutti_svm_training training;
    tutti_svm_watcher watcher;
    tutti_svm_machine machine;
    char *settings; /* of the checkpoint */
    char data[TUTTI_SVM_FILE_TEXT];
    int resumes;
    double saved_s;
} run;

/* ---- what the solver asks ---- */

static tutti_svm_wish wish(void *ctx)
{
    const run *r = ctx;
    if (tutti_interrupt_asked(r->interrupt)) return TUTTI_SVM_STOP;
    const int saves = r->options->checkpoint && !r->world->rank;
    if (saves && tutti_clock_s() - r->saved_s > 60 * r->options->checkpoint_minutes)
        return TUTTI_SVM_SAVE;
    return TUTTI_SVM_GO_ON;
}

static void on_event(void *ctx, tutti_svm_event event, const tutti_svm_progress *progress)
{
    const run *r = ctx;
    if (r->report) tutti_svm_report_event(r->report, event, progress);
}

/* The state of the pair that a checkpoint has in part. */
static tutti_status on_start(void *ctx, tutti_svm_solver *solver)
{
    run *r = ctx;
    if (!r->resumes) return TUTTI_OK;
    r->resumes = 0;
    const tutti_svm_state state = tutti_svm_solver_state(solver);
    tutti_status status = tutti_svm_checkpoint_load(
        r->world, r->options->checkpoint, r->settings, r->data, NULL, &state);
    return status ? status : tutti_svm_agree(r->world, tutti_svm_solver_load(solver));
}

/* A signal that reached one rank alone is what ends the others, too. */
static tutti_status agree_on_signal(run *r)
{
    int64_t terms = tutti_interrupt_asked(r->interrupt) == SIGTERM;
    tutti_status status = tutti_svm_sum(r->world, &terms);
    if (!status) tutti_interrupt_resolve(r->interrupt, terms ? SIGTERM : SIGINT);
    return status;
}

static tutti_status on_wish(void *ctx, tutti_svm_wish asked, tutti_svm_solver *solver)
{
    run *r = ctx;
    const char *path = r->options->checkpoint;
    tutti_svm_state state;
    tutti_status status = path ? tutti_svm_solver_save(solver, &state) : TUTTI_OK;
    if (!status && path)
        status =
            tutti_svm_checkpoint_save(r->world, path, r->settings, r->data, &r->machine, &state);
    r->saved_s = tutti_clock_s();
    if (!status && asked == TUTTI_SVM_STOP) status = agree_on_signal(r);
    if (status || asked != TUTTI_SVM_STOP) return status;
    return tutti_fail(
        TUTTI_ERR_INTERRUPTED, path ? "the training was interrupted; --resume continues it"
                                    : "the training was interrupted");
}

/* ---- commands ---- */

static tutti_status read_data(run *r)
{
    const tutti_svm_options *o = r->options;
    tutti_status status = tutti_svm_read(r->world, o->data, &r->rows);
    r->all_rows = r->rows.count;
    if (!status) status = tutti_svm_sum(r->world, &r->all_rows);
    double lower, upper;
    if (!status && o->scale) {
        status = tutti_svm_options_scale(r->conf, o, &lower, &upper);
        if (!status)
            status = tutti_svm_scaling_measure(r->world, &r->rows, lower, upper, &r->scaling);
        if (!status) status = tutti_svm_scaling_apply(&r->scaling, &r->rows);
        status = tutti_svm_agree(r->world, status);
    }
    if (!status) status = tutti_svm_classes_find(r->world, &r->rows, &r->classes);
    return status;
}

/* Tells which classes of --weights the data do not have. */
static void warn_of_weights(const tutti_svm_training *t, const tutti_svm_classes *classes)
{
    for (int w = 0; w < t->weights; w++) {
        int c = 0;
        while (c < classes->count && classes->label[c] != t->weight_label[w]) c++;
        if (c == classes->count)
            tutti_log(
                TUTTI_LOG_WARN, "--weights: the data have no class %" PRId64, t->weight_label[w]);
    }
}

static tutti_status begin_training(run *r)
{
    const tutti_svm_options *o = r->options;
    tutti_status status = TUTTI_OK;
    if (!r->world->rank) status = tutti_svm_report_open(o->json, o->quiet, o->eps, &r->report);
    status = tutti_svm_agree(r->world, status);
    if (!status) status = read_data(r);
    if (status) return status;
    if (r->report)
        tutti_svm_report_start(r->report, o->data, &r->rows, r->all_rows, &r->classes, r->world);
    r->watcher = (tutti_svm_watcher){r, wish, on_event, on_start, on_wish};
    r->saved_s = tutti_clock_s();
    r->training = (tutti_svm_training){
        .world = r->world, .C = o->cost, .seed = (uint64_t)o->seed, .watcher = &r->watcher};
    tutti_svm_options_settings(o, r->rows.columns, r->all_rows, &r->training.settings);
    status = tutti_svm_options_weights(r->conf, o, &r->training);
    if (!status && r->report) warn_of_weights(&r->training, &r->classes);
    return status;
}

static tutti_status resume(run *r)
{
    const tutti_svm_options *o = r->options;
    r->settings = tutti_conf_text(r->conf, o);
    if (!r->settings) return tutti_svm_no_memory(1, 1);
    tutti_status status = TUTTI_OK;
    if (o->checkpoint && !r->world->rank)
        status = tutti_svm_describe_file("the data file", o->data, r->data);
    status = tutti_svm_agree(r->world, status);
    r->resumes = o->resume;
    if (status || !o->resume) return status;
    return tutti_svm_checkpoint_load(
        r->world, o->checkpoint, r->settings, r->data, &r->machine, NULL);
}

static void report_machine(const run *r)
{
    for (int i = 0, p = 0; i < r->classes.count; i++)
        for (int j = i + 1; j < r->classes.count; j++, p++)
            tutti_svm_report_pair(
                r->report, r->classes.label[i], r->classes.label[j], &r->machine.result[p]);
    tutti_svm_report_table(r->report);
}

static tutti_status train(run *r)
{
    const tutti_svm_options *o = r->options;
    int64_t support = 0;
    tutti_status status = tutti_svm_output_try(r->world, "model", o->model);
    if (!status) status = tutti_svm_output_try(r->world, "checkpoint", o->checkpoint);
    if (!status) status = begin_training(r);
    if (!status)
        status = tutti_svm_machine_new(&r->classes, r->rows.count, o->probability, &r->machine);
    if (!status) status = resume(r);
    if (!status) status = tutti_svm_train(&r->training, &r->rows, &r->classes, &r->machine);
    if (!status)
        status = tutti_svm_machine_write(
            &r->training, &r->rows, &r->classes, &r->machine, &r->scaling, o->model, &support);
    if (status || !r->report) return status;
    report_machine(r);
    tutti_svm_report_number(r->report, "support_vectors", (double)support);
    if (!o->quiet)
        printf("%" PRId64 " support vectors of %" PRId64 " rows: %s\n", support, r->all_rows,
            o->model);
    return TUTTI_OK;
}

static tutti_status predict(run *r)
{
    const tutti_svm_options *o = r->options;
    const tutti_svm_predict_options options = {
        .model = o->model, .data = o->data, .to = o->to, .probability = o->probability};
    int64_t right = 0, count = 0;
    tutti_status status = tutti_svm_predict(r->world, &options, &right, &count);
    if (status || r->world->rank) return status;
    printf("Accuracy = %g%% (%" PRId64 "/%" PRId64 ") (classification)\n",
        100 * (double)right / (double)count, right, count);
    return fflush(stdout) ? tutti_fail(TUTTI_ERR_IO, "the output could not be written") : TUTTI_OK;
}

/* What rank 0 prints of the ranges. */
static tutti_status write_ranges(run *r, tutti_svm_output *output)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out && !r->world->rank) tutti_svm_scaling_print(&r->scaling, out);
    tutti_status status = out && !fclose(out) ? TUTTI_OK : tutti_svm_no_memory(1, bytes);
    status = tutti_svm_agree(r->world, status);
    if (!status) status = tutti_svm_output_write(output, text, bytes);
    free(text);
    return status;
}

static tutti_status scale(run *r)
{
    const tutti_svm_options *o = r->options;
    tutti_svm_output output;
    tutti_status status = tutti_svm_read(r->world, o->data, &r->rows);
    if (!status && o->restore)
        status = tutti_svm_agree(r->world, tutti_svm_scaling_read(o->restore, &r->scaling));
    if (!status && o->restore)
        status = tutti_svm_same_file(r->world, "the file of ranges", o->restore);
    else if (!status)
        status = tutti_svm_scaling_measure(r->world, &r->rows, o->lower, o->upper, &r->scaling);
    if (!status && o->save) {
        status = tutti_svm_output_begin(r->world, "ranges", o->save, &output);
        if (!status) status = tutti_svm_output_end(&output, write_ranges(r, &output));
    }
    if (!status) status = tutti_svm_output_begin(r->world, "scaled data", o->to, &output);
    if (status) return status;
    return tutti_svm_output_end(
        &output, tutti_svm_scaling_write_rows(&r->scaling, &r->rows, &output));
}

static tutti_status validate(run *r, double *accuracy)
{
    int64_t right = 0;
    tutti_status status = tutti_svm_cross_validate(
        &r->training, &r->rows, &r->classes, (int)r->options->folds, &right);
    *accuracy = (double)right / (double)r->all_rows;
    return status;
}

static void report_accuracy(const run *r, double accuracy)
{
    tutti_svm_report_accuracy(
        r->report, r->training.C, r->training.settings.kernel.gamma, accuracy);
}

static tutti_status search_grid(run *r)
{
    const tutti_svm_options *o = r->options;
    tutti_svm_grid *g = tutti_svm_new(1, sizeof *g);
    if (!g) return TUTTI_ERR_NOMEM;
    double best = -1, cost = 0, gamma = 0;
    g->title = o->data;
    tutti_status status = tutti_svm_options_grid(r->conf, o, g);
    for (int i = 0; i < g->costs && !status; i++)
        for (int j = 0; j < g->gammas && !status; j++) {
            r->training.C = pow(2, g->cost[i]);
            r->training.settings.kernel.gamma = pow(2, g->gamma[j]);
            status = validate(r, &g->accuracy[i][j]);
            if (status || r->world->rank) continue;
            if (g->accuracy[i][j] > best)
                best = g->accuracy[i][j], cost = r->training.C, gamma = pow(2, g->gamma[j]);
            printf("cost 2^%g gamma 2^%g: %.4f %%\n", g->cost[i], g->gamma[j],
                100 * g->accuracy[i][j]);
            fflush(stdout);
            report_accuracy(r, g->accuracy[i][j]);
        }
    if (!status && !r->world->rank) {
        printf("Best: --cost %.9g --gamma %.9g, accuracy %.4f %%\n", cost, gamma, 100 * best);
        if (o->picture) status = tutti_svm_picture_write(g, o->picture);
    }
    free(g);
    return tutti_svm_agree(r->world, status);
}

static tutti_status cross_validate(run *r)
{
    double accuracy;
    tutti_status status = tutti_svm_output_try(r->world, "picture", r->options->picture);
    if (!status) status = begin_training(r);
    if (!status && r->all_rows < r->options->folds)
        status = tutti_conf_refuse(r->conf, "folds", NULL, "must not be more than there are rows");
    if (status) return status;
    if (r->options->grid) return search_grid(r);
    status = validate(r, &accuracy);
    if (status || r->world->rank) return status;
    printf("Cross Validation Accuracy = %g%%\n", 100 * accuracy);
    report_accuracy(r, accuracy);
    return TUTTI_OK;
}

/* A further command is a further row. */
static const struct {
    const char *name;
    const tutti_conf *conf;
    tutti_status (*run)(run *r);
    int solves; /* a signal ends it between two rounds of the solver; the others at once */
} commands[] = {
    {"train", &tutti_svm_train_conf, train, 1},
    {"predict", &tutti_svm_predict_conf, predict, 0},
    {"scale", &tutti_svm_scale_conf, scale, 0},
    {"cv", &tutti_svm_cv_conf, cross_validate, 1},
    {NULL, NULL, NULL, 0},
};

/* ---- a rank ---- */

typedef struct call {
    int command;
    const tutti_svm_options *options;
    tutti_interrupt *interrupt;
} call;

/* Also compares which of the settings whose values may differ are given: a rank with them makes other calls. */
static tutti_status compare_settings(const run *r)
{
    const tutti_svm_options *o = r->options;
    const char *has[] = {"not given", "given"};
    char *own = tutti_conf_text(r->conf, o), *text = NULL;
    size_t bytes = 0;
    FILE *out = own ? open_memstream(&text, &bytes) : NULL;
    if (out)
        fprintf(out, "%scheckpoint=%s\nresume=%s\nto=%s\ntrace=%s\n", own, has[o->checkpoint != NULL],
            has[o->resume != 0], has[o->to != NULL], has[o->trace != NULL]);
    const int good = out && !fclose(out);
    if (!good) tutti_svm_no_memory(1, 1);
    tutti_status status = tutti_svm_same_settings(r->world, good ? text : NULL);
    free(own);
    free(text);
    return status;
}

static tutti_status run_rank(tutti_svm_world *world, void *ctx)
{
    const call *c = ctx;
    run r = {.conf = commands[c->command].conf,
        .options = c->options,
        .interrupt = c->interrupt,
        .world = world};
    tutti_status status = compare_settings(&r);
    if (!status) status = commands[c->command].run(&r);
    tutti_status closed = tutti_svm_report_close(r.report);
    free(r.settings);
    tutti_svm_machine_free(&r.machine);
    tutti_svm_scaling_free(&r.scaling);
    tutti_svm_classes_free(&r.classes);
    tutti_rows_free(&r.rows);
    return status ? status : closed;
}

static tutti_status run_command(call *c)
{
    const tutti_svm_options *o = c->options;
    const tutti_svm_world_options options = {.timeout_s = o->timeout_s,
        .workers = (int)o->workers,
        .combine = tutti_svm_record_combine,
        .trace = o->trace};
    if (!tutti_svm_world_is_launched())
        return tutti_svm_world_local(&options, (int)o->threads, run_rank, c);
    tutti_svm_world *world;
    tutti_status status = tutti_svm_world_attach(&options, &world);
    if (status) return status;
    status = run_rank(world, c);
    tutti_status left = tutti_svm_world_detach(world);
    return status ? status : left;
}

static void print_usage(FILE *out)
{
    fprintf(out, "Usage: tutti-svm COMMAND [OPTION]...\n"
                 "Support vector machines, on one process or on all ranks of mpirun. Files are "
                 "LIBSVM's.\n\nCommands:\n");
    for (int c = 0; commands[c].name; c++)
        fprintf(out, "  %-8s  %s\n", commands[c].name, commands[c].conf->summary);
    fprintf(out, "\ntutti-svm COMMAND --help lists a command's options. See tutti-svm(1).\n");
}

static void print_completion(FILE *out)
{
    for (int c = 0; commands[c].name; c++)
        tutti_conf_print_completion(
            commands[c].name, "command", "", commands[c].conf->summary, out);
}

static int find_command(const char *name)
{
    for (int c = 0; commands[c].name; c++)
        if (!strcmp(commands[c].name, name)) return c;
    return -1;
}

static int refuse_command(const char *name)
{
    const char *names[sizeof commands / sizeof *commands];
    char meant[128] = "";
    int n = 0;
    for (; commands[n].name; n++) names[n] = commands[n].name;
    FILE *out = fmemopen(meant, sizeof meant, "w");
    if (out) {
        tutti_conf_print_nearest(name, n, names, out);
        fclose(out);
    }
    tutti_fail(TUTTI_ERR_USAGE,
        "unknown command '%s': must be train, predict, scale or cv%s (see tutti-svm --help)", name,
        meant);
    return 2;
}

static tutti_status check_options(const tutti_conf *conf, const tutti_svm_options *o)
{
    tutti_svm_training training;
    tutti_svm_grid grid;
    double lower, upper;
    tutti_status status = tutti_svm_options_check(conf, o);
    if (!status) status = tutti_svm_options_weights(conf, o, &training);
    if (!status && o->scale) status = tutti_svm_options_scale(conf, o, &lower, &upper);
    if (!status && o->grid) status = tutti_svm_options_grid(conf, o, &grid);
    if (!status && o->trace && !tutti_svm_world_is_launched())
        status =
            tutti_conf_refuse(conf, "trace", o->trace, "needs a launcher: mpirun or tutti-run");
    return status;
}

int main(int argc, char **argv)
{
    static tutti_svm_options options;
    const char *name = argc > 1 ? argv[1] : "";
    int go;
    signal(SIGXFSZ, SIG_IGN);
    if (!strcmp(name, "--help")) {
        if (argc > 2 && !strcmp(argv[2], "completion"))
            print_completion(stdout);
        else
            print_usage(stdout);
        return EXIT_SUCCESS;
    }
    if (!strcmp(name, "--version")) {
        tutti_conf_print_version(&tutti_svm_train_conf, stdout);
        return EXIT_SUCCESS;
    }
    call c = {.command = find_command(name), .options = &options};
    if (c.command < 0) return refuse_command(name);
    const tutti_conf *conf = commands[c.command].conf;
    if (tutti_conf_start(conf, argc - 1, argv + 1, &options, &go)) return 2;
    if (!go) return EXIT_SUCCESS;
    if (check_options(conf, &options)) return 2;
    if (commands[c.command].solves && tutti_interrupt_open(&c.interrupt)) return EXIT_FAILURE;
    tutti_status status = run_command(&c);
    const int interrupted =
        status == TUTTI_ERR_INTERRUPTED ? tutti_interrupt_status(c.interrupt) : 0;
    tutti_interrupt_close(c.interrupt);
    if (interrupted) return interrupted;
    return !status ? EXIT_SUCCESS : status == TUTTI_ERR_USAGE ? 2 : EXIT_FAILURE;
}
