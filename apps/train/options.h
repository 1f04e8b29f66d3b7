/* The options of the programs that train. One table defines parsing, environment, checks, --help and
 * the comparison of ranks; a program's row has its own defaults and choices.
 *
 *   options_table.c  the table, a row for each option
 *   options_parse.c  the command line as values: names looked up, texts read
 *   options_check.c  what cannot go together
 *
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_OPTIONS_H
#define TUTTI_TRAIN_OPTIONS_H

#include "apps/data/settings.h"
#include "apps/models/model.h"
#include "apps/session/layer_rates.h"
#include "apps/session/layout.h"
#include "apps/train/program.h"
#include "apps/train/rate_schedule.h"
#include "apps/train/recipe.h"
#include "dag/base/conf.h"
#include "dag/codecs/codecs.h"
#include "dag/step/step.h"
#include "dag/strategies/strategies.h"
#include "designs/design.h"
#include "designs/verify/verify.h"

#include <stdint.h>

/* Words in place of numbers, besides TUTTI_CONF_AUTO. */
typedef enum tutti_eval_word { TUTTI_EVAL_END = 1, TUTTI_EVAL_NEVER } tutti_eval_word;
typedef enum tutti_replica_word { TUTTI_REPLICA_AUTO = 1, TUTTI_REPLICA_NEVER } tutti_replica_word;

enum { TUTTI_TRAIN_SETTINGS = 128 /* room for the rows of the table */ };

/* Not to be copied: `conf` points into it. */
typedef struct tutti_train_options {
    const tutti_train_program *program;
    tutti_conf conf; /* the table, with the program's defaults */
    tutti_setting setting[TUTTI_TRAIN_SETTINGS];
    const char *data, *format;
    const char *model_name, *design_name, *rate_schedule_name, *algorithm, *verify_name, *comm_core;
    const char *device, *transport, *engines;
    int cuda_aware, tf32;
    tutti_conf_real region_us;
    const char *recipe_name, *milestones_text;
    const char *layout_text, *pipeline_name, *stage_layers, *compress_name;
    tutti_conf_int micro_batches; /* auto: see the table */
    const char *topology;         /* NULL: not given */
    tutti_conf_real link_mbit;    /* unknown: not given */
    const char *priority_name, *wire_name, *precision_name, *optimizer_name, *strategy_name;
    int unsafe, check_only;
    int remote_buffers; /* then check_only, too */
    const char *batch_rule_name;
    int64_t workers, batch, accumulate, epochs; /* batch: see batch_global */
    tutti_conf_int lanes, steps; /* auto: the design's default; from epochs */
    tutti_conf_int stop_after;   /* or never */
    double momentum, beta1, beta2, epsilon, trust;
    tutti_conf_real rate, weight_decay, label_smoothing; /* auto: the model's */
    tutti_conf_real mixup, cutmix, clip_norm, ema;       /* or none */
    tutti_conf_real bucket_mb, chunk_mb;                 /* auto: see the table */
    int no_nesterov, weights_only, zero_last_scale;
    tutti_data_settings images;
    tutti_conf_int uncropped, warmup; /* epochs, steps; auto: a fifth, the schedule's default */
    tutti_conf_int lr_images;         /* images per step that `rate` is for; or none */
    tutti_conf_real warmup_epochs;    /* in place of warmup; or none */
    tutti_conf_real warmup_from;      /* rate; auto: the schedule's own */
    tutti_layer_rates rates;          /* of single layers */
    const char *find_rate;            /* the picture of --find-lr; NULL: none */
    int64_t find_rate_steps;
    double find_rate_from, find_rate_to;
    double milestone_factor, poly_power, plateau_factor;
    int64_t plateau_patience; /* evaluations */
    int64_t seed, depth;
    tutti_conf_int eval_every;    /* epochs; or a tutti_eval_word */
    tutti_conf_int eval_views;    /* auto: see the table */
    tutti_conf_int replica_check; /* steps; or a tutti_replica_word */
    const char *checkpoint, *resume, *init_from, *json, *csv, *page, *metrics, *tensorboard, *trace;
    int64_t keep; /* earlier checkpoints, and earlier files of --json and --trace */
    int overwrite, evaluate, keep_best;
    tutti_conf_int checkpoint_every;    /* steps; or never */
    tutti_conf_int snapshot_steps;      /* of an elastic run; auto: see the table */
    tutti_conf_real checkpoint_minutes; /* or never */
    tutti_conf_int patience;            /* evaluations; or never */
    tutti_conf_int trace_first;         /* from 1; auto: see the table */
    int64_t trace_steps;
    double timeout_s, setup_timeout_s;
    double stall_warn_s, stall_dump_s, stall_abort_s;
    const char *stall_dir;
    const char *tuning;            /* NULL: the user's default file */
    tutti_conf_real tuning_time_s; /* auto: by the run */
    int verbose, quiet;
    char *const *words; /* the command line, borrowed */

    /* Looked up by name. */
    const tutti_model *model;
    const tutti_design *design; /* with auto: where the search begins */
    int design_auto;
    tutti_augment augment;
    tutti_rand_range rand_augment;
    int rand_augment_read; /* whether --rand-augment was understood */
    tutti_jitter_range jitter;
    int jitter_read; /* whether --jitter was understood */
    double held_out; /* of --split; 0: it is not given; -1: not understood */
    uint64_t held_out_seed;
    int64_t window;  /* images, of --shuffle window:G; 0: full, -1: not understood */
    int views;       /* of a test image: eval_views, resolved */
    const tutti_rate_schedule_kind *rate_schedule;
    const tutti_train_recipe *recipe;
    char source[64]; /* what messages call it: "recipe goyal" */
    const char *config; /* the file of --config */
    char config_source[256];
    int milestones;
    int64_t milestone[TUTTI_RATE_MILESTONES]; /* epochs */
    const tutti_update_rule *optimizer;
    const tutti_strategy *strategy; /* NULL: auto */
    tutti_strategy_settings strategy_settings;
    int elastic; /* ranks come and go (apps/train/elastic_run.h) */
    int batch_global; /* batch is for the ranks at the start; each epoch of the membership sets it anew */
    int jobs;   /* this mpirun is servers, or a client, of several jobs (TUTTI_KV_ROLE) */
    int stored; /* the weights are in a store of keys (apps/train/store.h) */
    char strategy_text[TUTTI_STRATEGY_TEXT]; /* with all its parameters */
    char strategy_fault[256];                /* what is wrong with --strategy; empty: nothing */
    tutti_verify_mode verify;
    int priority, priority_free;
    tutti_layout layout;      /* not completed */
    const char *layout_fault; /* what is wrong with --layout; NULL: nothing */
    int layers_read;          /* whether --stage-layers was understood */
    tutti_dtype wire;
    const tutti_codec *codec; /* NULL: --compress was not given, or not understood */
    double codec_value;
    char compress_text[TUTTI_CODEC_TEXT]; /* what --compress or --wire come to */
    char compress_fault[256];             /* what is wrong with --compress; empty: nothing */
} tutti_train_options;

/* Parses and checks. Even on failure an exchange can be opened with `options`. USAGE (logged). */
tutti_status tutti_train_options_parse(const tutti_train_program *program, int argc,
    char *const argv[], tutti_train_options *options, tutti_conf_wish *wish);

/* Of these it makes use: the table, and checks that involve more than one row of it. */
extern const tutti_setting tutti_train_settings[TUTTI_TRAIN_SETTINGS]; /* ends with rows of zeros */
extern const tutti_conf_brief tutti_train_brief[]; /* what --help says of them */
tutti_status tutti_train_options_check(const tutti_train_options *options);

#endif
