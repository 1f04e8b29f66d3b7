/* What tutti-bench pipeline times: rows, each with its time in every block. Threads: [M]. */
#ifndef TUTTI_BENCH_PIPELINE_ROWS_H
#define TUTTI_BENCH_PIPELINE_ROWS_H

#include "apps/models/model.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/bench/world.h"
#include "apps/tune/workload.h"
#include "dag/base/conf.h"
#include "designs/design.h"

enum {
    TUTTI_PIPELINE_MOST_BLOCKS = 1000,
    TUTTI_PIPELINE_MOST_DESIGNS = 16,
    TUTTI_PIPELINE_MOST_ROWS = TUTTI_PIPELINE_MOST_DESIGNS + 4
};

typedef struct tutti_pipeline_options {
    const char *model, *layout_text, *pipeline, *stage_layers, *design, *peer, *interface, *json,
        *csv;
    int64_t batch, micro_batches, blocks, workers;
    const char *topology;      /* for the cut into stages */
    tutti_conf_real link_mbit; /* for the same */
    tutti_conf_int steps;      /* auto, until all ranks have agreed on the time of a step */
    double timeout_s;
} tutti_pipeline_options;

typedef enum tutti_pipeline_kind {
    TUTTI_PIPELINE_WHOLE,    /* one replica of the net on rank 0 alone */
    TUTTI_PIPELINE_STAGES,   /* the layout, with a design */
    TUTTI_PIPELINE_PARALLEL, /* a replica on each rank, the same images in all */
    TUTTI_PIPELINE_PEER      /* a program of another's */
} tutti_pipeline_kind;

typedef struct tutti_pipeline_row {
    tutti_pipeline_kind kind;
    const char *name;
    const tutti_design *design; /* NULL: nothing is exchanged, or a peer */
    tutti_peer *peer;           /* NULL: none */
    int64_t images;             /* of all ranks, per step */
    double activation_bytes;    /* of the rank that needs most; NAN: unknown */
    /* per block: seconds of a step; share of the time in which a rank runs no kernel, the ranks' mean */
    double step_s[TUTTI_PIPELINE_MOST_BLOCKS], idle[TUTTI_PIPELINE_MOST_BLOCKS];
} tutti_pipeline_row;

typedef struct tutti_pipeline_bench {
    tutti_pipeline_options o;
    const tutti_model *model;
    tutti_layout layout;
    tutti_placement placement; /* of the layout */
    double *layer_seconds;     /* of --stage-layers timed */
    tutti_world world;
    tutti_result *result; /* rank 0's */
    int rows;
    tutti_pipeline_row row[TUTTI_PIPELINE_MOST_ROWS];
} tutti_pipeline_bench;

/* The first row of a kind, or NULL. [P] */
tutti_pipeline_row *tutti_pipeline_find(tutti_pipeline_bench *bench, tutti_pipeline_kind kind);

/* Checks that all designs leave the same weights, those of the whole net where there is one replica;
 * chooses the steps of a block; notes the bytes of activations. MISMATCH (logged); errors of what it
 * calls. All ranks call it. */
tutti_status tutti_pipeline_verify(tutti_pipeline_bench *bench);
/* Times all rows, block by block. All ranks call it. */
tutti_status tutti_pipeline_time(tutti_pipeline_bench *bench);
/* The table, and the events, on rank 0. */
void tutti_pipeline_report(tutti_pipeline_bench *bench);

#endif
