/* What tutti-bench step times: rows, each with its time in every block. Threads: [M]. */
#ifndef TUTTI_BENCH_STEP_ROWS_H
#define TUTTI_BENCH_STEP_ROWS_H

#include "apps/models/model.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/bench/traffic.h"
#include "apps/bench/world.h"
#include "apps/tune/configuration.h"
#include "dag/base/conf.h"
#include "dag/kernels/engines.h"
#include "dag/step/step.h"
#include "dag/run/binding.h"
#include "dag/run/run.h"

enum {
    TUTTI_STEP_MOST_BLOCKS = 1000,
    TUTTI_STEP_MOST_DESIGNS = 16,
    TUTTI_STEP_MOST_PEERS = 3,
    TUTTI_STEP_MOST_ROWS = 8 * TUTTI_STEP_MOST_DESIGNS + 3 + TUTTI_STEP_MOST_PEERS
};

typedef struct tutti_step_bench_options {
    const char *model, *design, *strategy, *algorithm, *peer, *peer_mxnet, *interface, *comm_core,
        *json, *csv, *priority, *wire, *compress, *precision, *device, *transport, *engines,
        *sums;
    int cuda_aware, tf32;
    tutti_conf_real region_us;
    int64_t batch, blocks, workers;
    tutti_conf_int steps; /* auto, until all ranks have agreed on the time of a step */
    tutti_conf_int lanes, micro_batches;
    tutti_conf_real bucket_mb, chunk_mb;
    const char *topology;
    tutti_conf_real link_mbit; /* 0: unknown */
    double timeout_s, tuning_time_s;
} tutti_step_bench_options;

/* The designs that keep the ordering law, "all" for those that overlap, and "auto" for these and the
 * configuration chosen by trials; for tutti_setting.choice. [P] */
const char *tutti_step_choice_design(int i);

/* What is timed, in the order of turns. */
typedef enum tutti_row_kind {
    TUTTI_ROW_COMPUTE,
    TUTTI_ROW_COMMUNICATE,
    TUTTI_ROW_DESIGN,
    TUTTI_ROW_PEER
} tutti_row_kind;

typedef struct tutti_step_row {
    tutti_row_kind kind;
    const char *name;
    tutti_configuration configuration; /* its design is NULL in rows of other kinds */
    const tutti_strategy *strategy;
    tutti_step_sums sums;
    /* per block: seconds of a step; share hidden, NAN: unknown */
    double step_s[TUTTI_STEP_MOST_BLOCKS], hidden[TUTTI_STEP_MOST_BLOCKS];
    /* for a design: computation alone, just before and after it */
    double beside_s[TUTTI_STEP_MOST_BLOCKS];
    tutti_run_counts counts; /* of a step, once it has run */
    tutti_peer *peer;        /* that takes the turn */
} tutti_step_row;

typedef struct tutti_step_bench {
    tutti_step_bench_options o;
    const tutti_model *model;
    tutti_binding_place place; /* where this rank's kernels run */
    tutti_engines *engines;    /* of --engines timed; NULL otherwise */
    tutti_dtype precision;     /* that all ranks have agreed on */
    const tutti_codec *codec;  /* of --compress, with its number */
    double codec_value;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    tutti_step_traffic traffic;
    int64_t sent_bytes;    /* by this rank per step */
    int sent_at_least; /* MPI's own sums are not counted: sent_bytes is what they send at least */
    tutti_outlook outlook; /* the last one that a design returned */
    int rows;
    tutti_step_row row[TUTTI_STEP_MOST_ROWS];
} tutti_step_bench;

/* The strategies, and "both"; where micro-batches are added, and "both"; for tutti_setting.choice. [P] */
const char *tutti_step_choice_strategy(int i);
const char *tutti_step_choice_sums(int i);
/* Adds the rows that the options ask for, but those of trials and of the peer. */
void tutti_step_rows_list(tutti_step_bench *bench);
/* Adds a row, and returns it. Its strategy is sync. */
tutti_step_row *tutti_step_rows_add(tutti_step_bench *bench, tutti_row_kind kind, const char *name,
    tutti_configuration configuration);
/* The first row of a kind, or NULL. */
tutti_step_row *tutti_step_rows_find(tutti_step_bench *bench, tutti_row_kind kind);

#endif
