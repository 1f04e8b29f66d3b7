/* A training of tutti-bench strategies: tutti-cifar in a box of its own, and what came of it. [M] */
#ifndef TUTTI_BENCH_STRATEGIES_RUN_H
#define TUTTI_BENCH_STRATEGIES_RUN_H

#include "dag/base/conf.h"
#include "dag/base/status.h"

enum { TUTTI_STRATEGIES_NAME = 96, TUTTI_STRATEGIES_EVALS = 256 };

typedef struct tutti_strategies_options {
    const char *data, *model, *precision, *json, *csv;
    const char *wish[25]; /* NULL behind the last; none: the tables */
    int64_t batch, epochs, ranks, seed;
    double accuracy_pct, link_mbit, cell_timeout_s;
    tutti_conf_int hosts;
    tutti_conf_real lr;
} tutti_strategies_options;

typedef struct tutti_strategies_eval {
    int64_t epoch, step;
    double seconds; /* of all steps so far, without evaluations */
    double mb;      /* sent by the host that sends most, in proportion to the steps; 0: unknown */
    double accuracy_pct;
} tutti_strategies_eval;

typedef struct tutti_strategies_row {
    char name[TUTTI_STRATEGIES_NAME]; /* "sync", "sync, topk:0.01", "sync, servers=1" */
    char strategy[TUTTI_STRATEGIES_NAME], compress[TUTTI_STRATEGIES_NAME];
    char layout[TUTTI_STRATEGIES_NAME]; /* "": none */
    int failed;
    int evals, reached; /* the first with the accuracy that is asked for; -1: none */
    tutti_strategies_eval eval[TUTTI_STRATEGIES_EVALS];
} tutti_strategies_row;

/* How many ranks train: servers of the layout come on top of --hosts, or --ranks. [P] */
int64_t tutti_strategies_ranks(const tutti_strategies_options *o, const tutti_strategies_row *row);
/* Trains, and fills in what came of it. IO, TIMEOUT, FORMAT (logged). */
tutti_status tutti_strategies_train(const tutti_strategies_options *o, tutti_strategies_row *row);

#endif
