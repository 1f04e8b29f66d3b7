/* The options of tutti-cifar. One table (options.c) gives parsing, environment, checks, --help and
 * the comparison of ranks. Threads: [M]. */
#ifndef TUTTI_TRAIN_OPTIONS_H
#define TUTTI_TRAIN_OPTIONS_H

#include "apps/models/model.h"
#include "apps/train/schedule.h"
#include "dag/base/conf.h"
#include "designs/design.h"
#include "designs/verify/verify.h"

#include <stdint.h>

typedef struct tutti_train_options {
    const char *data, *format;
    const char *model_name, *design_name, *schedule_name, *algorithm, *check_name, *comm_core;
    const char *priority_name;
    int unsafe, check_only;
    int64_t lanes, workers, batch;
    int64_t epochs, steps, stop_after; /* steps 0: epochs count; stop_after 0: run to the end */
    double rate, momentum, weight_decay, bucket_mb, slice_mb;
    double label_smoothing;
    int no_nesterov, augment;
    int64_t uncropped; /* epochs; -1: a fifth of all */
    int64_t warmup;    /* steps; -1: the schedule's default */
    int64_t seed, eval_every, eval_views, threads, depth;
    int64_t replica_check; /* steps; -1: every epoch and at the end; 0: never */
    const char *checkpoint, *resume, *json, *trace;
    int64_t trace_first, trace_steps; /* steps from 1; first 0: see the table */
    double timeout_s;
    double stall_warn_s, stall_dump_s, stall_abort_s;
    const char *stall_dir;
    const char *tuning;   /* NULL: the user's own */
    double tuning_time_s; /* -1: by the run */
    int verbose, quiet;

    /* Found by name. */
    const tutti_model *model;
    const tutti_design *design; /* of auto: where it begins */
    int design_auto;
    const tutti_schedule_kind *schedule;
    tutti_verify_mode verify;
    int priority, priority_free;
} tutti_train_options;

extern const tutti_conf tutti_train_conf;

/* Parses and checks. Also on failure `options` holds something that an exchange can be opened with.
 * USAGE (logged). */
tutti_status tutti_train_options_parse(
    int argc, char *const argv[], tutti_train_options *options, tutti_conf_wish *wish);

#endif
