/* Everything that one rank of a training run holds: the training session, the data and the files,
 * set up in stages.
 *
 *   join -> prepare -> { loop } -> leave
 *
 * At the end of every stage all ranks agree on its outcome: a failure on one rank fails the stage
 * on all, with the same status, so that all leave in order. INTERRUPTED if a rank was asked to end.
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_TRAINER_H
#define TUTTI_TRAIN_TRAINER_H

#include "apps/data/bad_images.h"
#include "apps/data/source.h"
#include "apps/session/engines.h"
#include "apps/session/session.h"
#include "apps/train/interrupt.h"
#include "apps/train/options.h"
#include "apps/train/outputs.h"
#include "apps/train/report.h"
#include "apps/train/rate_schedule.h"
#include "apps/train/store.h"
#include "apps/tune/tune.h"

/* The best test accuracy of a run with --keep-best or --patience. */
typedef struct tutti_train_best {
    double accuracy;
    int64_t step;  /* after it; 0: there was no evaluation */
    int64_t since; /* evaluations since then */
} tutti_train_best;

/* What the epoch's steps have summed up so far, where a checkpoint is within an epoch: TUTTI_METRICS
 * numbers of each replica. */
typedef struct tutti_epoch_sums {
    int replicas;  /* 0: there are none */
    double *value; /* (replicas, TUTTI_METRICS) */
} tutti_epoch_sums;

typedef struct tutti_find_rate tutti_find_rate; /* apps/train/find_rate.h */
typedef struct tutti_train_elastic tutti_train_elastic; /* apps/train/elastic_run.h */

typedef struct tutti_trainer {
    const tutti_train_options *options;   /* borrowed */
    tutti_interrupt *interrupt;           /* borrowed; NULL: default actions of signals */
    tutti_training_session session;       /* traced with --trace */
    tutti_train_store *store;             /* borrowed; NULL: without servers, or with those of the step */
    tutti_train_elastic *elastic;         /* borrowed; NULL: the ranks are those of MPI */
    int restored;                         /* it begins from a snapshot of an elastic run */
    int can_bf16;                         /* every rank's processor can */
    int readers;                          /* threads that read ahead */
    tutti_dtype precision;                /* of this run, the same on all ranks */
    double *layer_seconds;                /* of --stage-layers timed, the same on all ranks */
    tutti_tune_result tuning;             /* of --design auto */
    tutti_outputs outputs;                /* of rank 0 */
    tutti_engines *engines;               /* of --engines timed; NULL otherwise */
    char doing[96];                       /* what this rank reports to the others */
    tutti_dataset train, test;            /* source NULL: not open */
    int local;                            /* --shards local: train and test are this rank's alone */
    int64_t train_images, test_images;    /* of all ranks together */
    int64_t least_images;                 /* for training, on the rank that has the fewest */
    tutti_bad_images bad_train, bad_test; /* with --bad-images skip */
    char **class_names;                   /* of rank 0; NULL: not known */
    float *mean, *deviation; /* of each channel of the training images, on a scale of 0..1 */
    tutti_rate_schedule rate_schedule;
    double rate_part; /* of --lr X, by --lr-images: the rate is X times this */
    int64_t steps_per_epoch;
    int64_t steps;  /* of the whole run */
    int64_t period; /* steps after which a round ends, if an epoch or the run does not end before */
    int64_t crop_epochs; /* see tutti_prefetch_options */
    int64_t first_step;  /* steps done before a --resume */
    int resumed_here;    /* from the file of --checkpoint; known to all ranks */
    tutti_train_best best;
    tutti_epoch_sums sums; /* at the step of the checkpoint */
    int owes_evaluation;   /* a signal skipped that of the checkpoint's step, or cut it short */
    /* On rank 0 of a pipeline while it saves: copies of the tensors that other stages have, by their
     * place in the list of weights; NULL elsewhere */
    void **elsewhere;
    tutti_find_rate *find_rate; /* of --find-lr; NULL otherwise */
    int64_t last_step; /* where this process ends: steps, or --stop-after, with the round */
} tutti_trainer;

/* The settings that ranks must share, as text, which the caller frees. NULL: no memory. A rank whose options were
 * refused differs from those that continue. */
char *tutti_trainer_settings(const tutti_train_options *options, tutti_status parsed);

/* Starts MPI, unless the store has, and compares the ranks' options. `parsed`: the status of parsing this
 * rank's options; a usage error of any rank becomes the result on all. store: begun, or NULL. elastic: it has
 * entered an epoch, whose ranks are those of the trainer; or NULL. After a failure only leave is allowed. */
tutti_status tutti_trainer_join(const tutti_train_options *options, tutti_interrupt *interrupt,
    tutti_status parsed, tutti_train_store *store, tutti_train_elastic *elastic,
    tutti_trainer *trainer);

/* Ends all ranks after a failure on this rank only: the others wait for it. */
_Noreturn void tutti_trainer_end_all(tutti_status status);

/* Opens the data, chooses the design with --design auto, builds net and graph, starts the runner,
 * and gives every rank the same weights: initial ones from the seed, or those of --resume. */
tutti_status tutti_trainer_prepare(tutti_trainer *trainer);

/* Whether this rank reports what the run does, and writes its files. [P] */
static inline int tutti_trainer_reports(const tutti_trainer *trainer)
{
    return trainer->session.placement.rank == 0 && !(trainer->store && trainer->store->follows);
}

/* How many ranks the run has, with servers and all clients. [P] */
int tutti_trainer_ranks(const tutti_trainer *trainer);

void tutti_trainer_describe(const tutti_trainer *trainer, tutti_report_start *start);

/* Whether a round ends after this step: replicas that train alone within it are equal. [P] */
int tutti_trainer_ends_round(const tutti_trainer *trainer, int64_t step);

/* The hash of all parameters, with nothing submitted; text has TUTTI_HASH_TEXT characters. */
tutti_status tutti_trainer_hash(const tutti_trainer *trainer, char *text);

/* Shuts everything down. All ranks call it. Returns what tutti_training_session_close does. */
tutti_status tutti_trainer_leave(tutti_trainer *trainer);

#endif
