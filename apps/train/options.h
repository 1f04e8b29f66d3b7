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
#include "designs/watch/watch.h"

#include <stdint.h>

/* Words in place of numbers, besides TUTTI_CONF_AUTO. */
typedef enum tutti_eval_word { TUTTI_EVAL_END = 1, TUTTI_EVAL_NEVER } tutti_eval_word;
typedef enum tutti_replica_word { TUTTI_REPLICA_AUTO = 1, TUTTI_REPLICA_NEVER } tutti_replica_word;

enum { TUTTI_TRAIN_SETTINGS = 128 /* room for the rows of the table */ };

/* Options by what they are about. A name or text is as it was given; beside it is what it stands for. `auto`, `none`
 * and `never` are words of the table's numbers (dag/base/conf.h). */

typedef struct tutti_train_data {
    const char *folder, *format;
    tutti_conf_int uncropped; /* epochs; auto: a fifth */
    int64_t depth;            /* batches in memory */
    tutti_augment augment;
    tutti_rand_range rand_augment;
    tutti_jitter_range jitter;
    double held_out; /* of --split; 0: it is not given */
    uint64_t held_out_seed;
    int64_t window; /* images, of --shuffle window:G; 0: full */
} tutti_train_data;

/* What is expected of an image. */
typedef struct tutti_train_labels {
    tutti_conf_real smoothing;     /* auto: the model's */
    tutti_conf_real mixup, cutmix; /* or none */
} tutti_train_labels;

/* How gradients change the weights. */
typedef struct tutti_train_update {
    const char *name;
    const tutti_update_rule *rule;
    double momentum, beta1, beta2, epsilon, trust;
    tutti_conf_real decay;          /* auto: the model's */
    tutti_conf_real clip_norm, ema; /* or none */
    int no_nesterov, weights_only;
} tutti_train_update;

typedef struct tutti_train_rate {
    tutti_conf_real highest; /* auto: the rule's or the model's */
    tutti_conf_int images;   /* images per step that it is for; or none */
    tutti_layer_rates layers;
    const char *schedule_name, *milestones_text;
    const tutti_rate_schedule_kind *schedule;
    tutti_conf_int warmup;         /* steps; auto: the schedule's default */
    tutti_conf_real warmup_epochs; /* in place of it; or none */
    tutti_conf_real warmup_from;   /* rate; auto: the schedule's own */
    int milestones;
    int64_t milestone[TUTTI_RATE_MILESTONES]; /* epochs */
    double milestone_factor, poly_power, plateau_factor;
    int64_t plateau_patience; /* evaluations */
} tutti_train_rate;

typedef struct tutti_train_find_rate {
    const char *picture; /* NULL: none is looked for */
    int64_t steps;
    double from, to;
} tutti_train_find_rate;

typedef struct tutti_train_evaluation {
    tutti_conf_int every;       /* epochs; or a tutti_eval_word */
    tutti_conf_int views_asked; /* auto: see the table */
    int views;                  /* of a test image */
    tutti_conf_int patience;    /* evaluations; or never */
    int only;                   /* nothing is trained */
} tutti_train_evaluation;

typedef struct tutti_train_exchange {
    const char *design_name;
    const tutti_design *design; /* with auto: where the search begins */
    int design_auto;
    const char *tuning;            /* NULL: the user's default file */
    tutti_conf_real tuning_time_s; /* auto: by the run */
    tutti_conf_int lanes;          /* auto: the design's default */
    int unsafe;
    const char *verify_name, *algorithm, *comm_core, *priority_name;
    tutti_verify_mode verify;
    const char *topology;                /* NULL: not given */
    tutti_conf_real link_mbit;           /* unknown: not given */
    tutti_conf_real bucket_mb, chunk_mb; /* auto: see the table */
    int priority, priority_free;
    double timeout_s, setup_timeout_s;
    tutti_watch_options stall;
} tutti_train_exchange;

typedef struct tutti_train_machine {
    const char *device, *transport, *engines, *precision_name;
    int cuda_aware, tf32;
    tutti_conf_real region_us;
    int64_t workers;
} tutti_train_machine;

typedef struct tutti_train_strategy {
    const char *name;
    const tutti_strategy *kind; /* NULL: auto */
    tutti_strategy_settings settings;
    char text[TUTTI_STRATEGY_TEXT]; /* with all its parameters */
    int jobs;   /* this mpirun is servers, or a client, of several jobs (TUTTI_KV_ROLE) */
    int stored; /* the weights are in a store of keys (apps/train/store.h) */
} tutti_train_strategy;

/* In what form gradients travel. */
typedef struct tutti_train_travel {
    const char *compress_name, *wire_name;
    tutti_dtype wire;
    const tutti_codec *codec; /* NULL: --compress was not given */
    double codec_value;
    char text[TUTTI_CODEC_TEXT]; /* what --compress or --wire come to */
} tutti_train_travel;

typedef struct tutti_train_layout {
    const char *text, *pipeline_name, *stage_layers;
    tutti_conf_int micro_batches; /* auto: see the table */
    tutti_layout value;           /* not completed */
} tutti_train_layout;

typedef struct tutti_train_checkpoint {
    const char *file, *resume, *init_from;
    int64_t keep; /* earlier checkpoints, and earlier files of --json and --trace */
    int overwrite, keep_best;
    tutti_conf_int every;    /* steps; or never */
    tutti_conf_real minutes; /* or never */
} tutti_train_checkpoint;

typedef struct tutti_train_outputs {
    const char *json, *csv, *page, *metrics, *tensorboard, *trace;
    tutti_conf_int trace_first; /* from 1; auto: see the table */
    int64_t trace_steps;
    int verbose, quiet;
} tutti_train_outputs;

/* Ranks that come and go (apps/train/elastic_run.h). */
typedef struct tutti_train_elasticity {
    int on;
    const char *batch_rule_name;
    int batch_global; /* batch is for the ranks at the start; each epoch of the membership sets it anew */
    int64_t batch_given; /* --batch as given, for the ranks at the start; 0: batch itself */
    int64_t
        least; /* over MPI: at least this many ranks must be left; 0: tutti-run has started the ranks */
    tutti_conf_int snapshot_steps; /* auto: see the table */
} tutti_train_elasticity;

/* Not to be copied: `conf` points into it. */
typedef struct tutti_train_options {
    const tutti_train_program *program;
    tutti_conf conf; /* the table, with the program's defaults */
    tutti_setting setting[TUTTI_TRAIN_SETTINGS];
    char *const *words; /* the command line, borrowed */
    const char *recipe_name;
    const tutti_train_recipe *recipe;
    char source[64];    /* what messages call it: "recipe goyal" */
    const char *config; /* the file of --config */
    char config_source[256];

    const char *model_name;
    const tutti_model *model;
    int64_t batch; /* images per rank; see elastic.batch_global */
    int64_t accumulate, epochs, seed;
    tutti_conf_int steps;      /* auto: from epochs */
    tutti_conf_int stop_after; /* or never */
    int zero_last_scale, check_only;
    int remote_buffers;           /* then check_only, too */
    tutti_conf_int replica_check; /* steps; or a tutti_replica_word */
    tutti_data_settings images;
    tutti_train_data data;
    tutti_train_labels labels;
    tutti_train_update update;
    tutti_train_rate rate;
    tutti_train_find_rate find_rate;
    tutti_train_evaluation evaluation;
    tutti_train_exchange exchange;
    tutti_train_machine machine;
    tutti_train_strategy strategy;
    tutti_train_travel travel;
    tutti_train_layout layout;
    tutti_train_checkpoint checkpoint;
    tutti_train_outputs outputs;
    tutti_train_elasticity elastic;
} tutti_train_options;

/* Parses and checks. Even on failure an exchange can be opened with `options`. USAGE (logged). */
tutti_status tutti_train_options_parse(const tutti_train_program *program, int argc,
    char *const argv[], tutti_train_options *options, tutti_conf_wish *wish);

/* Of these it makes use: the table, and checks that involve more than one row of it. */
extern const tutti_setting tutti_train_settings[TUTTI_TRAIN_SETTINGS]; /* ends with rows of zeros */
extern const tutti_conf_brief tutti_train_brief[]; /* what --help says of them */
tutti_status tutti_train_options_check(const tutti_train_options *options);
/* As tutti_step_parts of the step that they ask for. [P] */
int64_t tutti_train_options_parts(const tutti_train_options *options);

#endif
