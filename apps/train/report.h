/* What a training run reports: to people on stdout, to programs as JSON, one object per line.
 *
 * People get a progress bar that fits the terminal, or without a terminal a plain line every few
 * seconds; both show the remaining time. The JSON file has an object for every event: "start",
 * "step", "eval", "checkpoint" and, last, "summary" or "interrupted"; numbers that are not finite
 * become null. Only rank 0 reports; on the others every call does nothing. Write errors are kept,
 * and close returns them.
 *
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_REPORT_H
#define TUTTI_TRAIN_REPORT_H

#include "apps/train/rate_schedule.h"
#include "dag/base/status.h"

#include <stdint.h>
#include <stdio.h>

typedef struct tutti_report tutti_report;

typedef enum tutti_report_style {
    TUTTI_REPORT_QUIET,
    TUTTI_REPORT_LINES,
    TUTTI_REPORT_BAR
} tutti_report_style;

typedef struct tutti_report_options {
    int active;               /* rank 0 */
    tutti_report_style style; /* for people */
    FILE *out;                /* for people; NULL: stdout */
    int columns;              /* of the terminal; 0: ask it */
    const char *json;         /* file for programs; NULL: none */
    int keep;                 /* how many earlier files are kept (dag/base/file.h) */
    int append;               /* the earlier file is continued */
} tutti_report_options;

/* The run's settings, reported once at its start. */
typedef struct tutti_report_start {
    const char *design, *algorithm, *wire, *precision, *thread_level, *runner, *library, *model,
        *data;
    int design_auto; /* chosen by --design auto */
    int ranks, lanes, workers;
    int comm_core;   /* the processor of rank 0's communication thread; -1: not bound */
    int collectives; /* per step; a bucket counts once */
    int64_t parameters, train_images, test_images;
    int height, width, channels, classes;
    int64_t batch, accumulate; /* images per rank and batch; batches per step */
    int64_t steps, steps_per_epoch, first_step, seed;
    int64_t last_step; /* where it ends; nothing is left to train if first_step >= last_step */
    /* What the options, the recipe and the model come to. */
    const char *program, *recipe, *optimizer;
    char rate_schedule[TUTTI_RATE_TEXT];
    double rate, momentum, weight_decay, label_smoothing;
    int nesterov, weights_only;
} tutti_report_start;

typedef struct tutti_report_step {
    int64_t epoch, epochs, step, steps; /* from 1, and totals */
    int64_t epoch_step, steps_per_epoch;
    double loss; /* mean over rank 0's images of this step */
    double rate, step_ms, images_per_s, hidden_pct;
} tutti_report_step;

typedef struct tutti_report_eval {
    int64_t epoch, step;
    double seconds; /* of training since the run began, without evaluations */
    /* Over all ranks; accuracy 0..1. Not finite: no evaluation on the test set. */
    double train_loss, test_loss, test_accuracy;
    int views; /* of each test image; the mean of their predictions counts above */
    double one_view_accuracy;
    int averaged; /* the weights averaged over steps were evaluated, too */
    double average_loss, average_accuracy;
} tutti_report_eval;

typedef struct tutti_report_summary {
    const char *design, *model, *weights_hash;
    int design_auto; /* chosen by --design auto */
    int ranks;
    int64_t steps, batch;
    int64_t trained;        /* steps of this process; 0: nothing was left, so there are no times */
    int64_t replica_checks; /* how often the ranks' weights were compared and equal */
    double step_ms_median, images_per_s, compute_ms, comm_ms, hidden_pct, train_loss, test_accuracy;
    int views; /* as in tutti_report_eval */
    double one_view_accuracy;
    int averaged; /* as in tutti_report_eval */
    double average_accuracy;
} tutti_report_summary;

/* BAR if stdout is a terminal (apps/terminal/terminal.h), else LINES. */
tutti_report_style tutti_report_find_style(void);

/* IO (logged) if the JSON file cannot be created; NOMEM. */
tutti_status tutti_report_open(const tutti_report_options *options, tutti_report **report);
void tutti_report_on_start(tutti_report *report, const tutti_report_start *start);
void tutti_report_on_step(tutti_report *report, const tutti_report_step *step);
void tutti_report_on_eval(tutti_report *report, const tutti_report_eval *eval);
void tutti_report_on_checkpoint(tutti_report *report, const char *path, int64_t step);
/* The last event of a run ended by `signal`; command: how to continue it, or NULL. */
void tutti_report_on_interrupt(
    tutti_report *report, const char *signal, int64_t step, const char *command);
void tutti_report_on_summary(tutti_report *report, const tutti_report_summary *summary);
/* IO (logged) if something could not be written. Accepts NULL. */
tutti_status tutti_report_close(tutti_report *report);

#endif
