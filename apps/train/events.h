/* What happens in a training run, as report and page tell it. Threads: [P]. */
#ifndef TUTTI_TRAIN_EVENTS_H
#define TUTTI_TRAIN_EVENTS_H

#include "apps/session/layout.h"
#include "apps/train/rate_schedule.h"
#include "apps/train/tally.h"
#include "dag/run/run.h"

#include <stdint.h>

/* The run's settings, reported once at its start. */
typedef struct tutti_report_start {
    const char *design, *algorithm, *wire, *precision, *thread_level, *runner, *library, *model,
        *data;
    int design_auto;       /* chosen by --design auto */
    const char *transport; /* what carries collectives: "mpi" */
    char device[300];      /* where rank 0's kernels run: "GPU 0 (NVIDIA H100)"; "CPU" */
    const struct tutti_engines *engines; /* chosen by timing; NULL: none */
    int ranks, lanes, workers;
    int replicas, micro_batches;   /* of the net; that a rank's batch is cut into */
    const tutti_placement *layout; /* NULL: none was given */
    char divided[128];             /* names of divided layers: "fc1, fc2" */
    char
        stage_layers[256]; /* as of --stage-layers; "": one stage, or more than there is room for */
    int comm_core;         /* the processor of rank 0's communication thread; -1: not bound */
    int collectives;       /* per step; a bucket counts once */
    int64_t parameters, train_images, test_images;
    int height, width, channels, classes;
    int eval_size;             /* test images are squares of this side; 0: of the size above */
    int64_t batch, accumulate; /* images per rank and batch; batches per step */
    int64_t steps, steps_per_epoch, first_step, seed;
    int64_t last_step; /* where it ends; nothing is left to train if first_step >= last_step */
    /* What the options, the recipe and the model come to. */
    const struct tutti_train_options *options; /* NULL: not said */
    const char *program, *recipe, *optimizer, *strategy;
    const char *compress; /* "none" */
    /* That a rank sends for gradients in a step, along rings; in float32, all of them. 0: none */
    double sent_bytes, plain_bytes;
    char rate_schedule[TUTTI_RATE_TEXT];
    double rate, momentum, weight_decay, label_smoothing, mixup; /* mixup 0: none */
    int cutmix;                                                  /* and not mixup */
    int nesterov, weights_only, zero_last_scale;
    int evaluates;            /* nothing is trained, on purpose */
    char *const *class_names; /* NULL: not known */
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
    const tutti_tally *tally; /* of the same images; NULL: there is none */
    int averaged;             /* the weights averaged over steps were evaluated, too */
    double average_loss, average_accuracy;
} tutti_report_eval;

/* What --find-lr has found. */
typedef struct tutti_report_rates {
    int64_t steps; /* whose losses are finite */
    double suggested, lowest,
        diverged; /* rates: where the loss falls fastest, is lowest, is beyond all bounds; NaN: none */
    const double *rate, *loss, *smoothed; /* of each step */
    const char *file;                     /* of the picture */
} tutti_report_rates;

/* Messages that rank 0 has received and sent after a step, where its transport counts them, and their bytes. */
typedef struct tutti_report_received {
    int64_t after;                /* this step; 0: they were not counted */
    int64_t placed, placed_bytes; /* their sender has written them where they belong */
    int64_t copied, copied_bytes; /* they came through a buffer or a socket */
    int64_t small, small_bytes;
    int64_t sent_written,
        sent_placed;     /* sent: kernels had written them there; they were copied there */
    int64_t allocations; /* of memory for elements on their way */
} tutti_report_received;

/* counts: of a step of rank 0, once it has run. */
typedef struct tutti_report_summary {
    const char *design, *model, *weights_hash;
    int design_auto; /* chosen by --design auto */
    int ranks;
    int64_t steps, batch;
    int64_t trained;        /* steps of this process; 0: nothing was left, so there are no times */
    int64_t replica_checks; /* how often the ranks' weights were compared and equal */
    double step_ms_median, step_ms_mean, images_per_s, compute_ms, comm_ms, hidden_pct;
    double train_loss, test_accuracy;
    int views; /* as in tutti_report_eval */
    double one_view_accuracy;
    double best_accuracy; /* label among the best five; not finite: not known */
    double macro_f1;      /* of the classes; not finite: not known */
    int averaged;         /* as in tutti_report_eval */
    double average_accuracy;
    tutti_run_counts counts;
    tutti_report_received received;
} tutti_report_summary;

#endif
