/* A strategy: what a gradient that is complete on a rank turns into, who updates which parameters, and
 * what follows. A strategy is a file in dag/strategies/, with its line in rows.h and its row in
 * strategies.c there; sync, which a step has unless it is given another, is in this room. The
 * file begins with the paper, and with the strategy's place on five axes (doc/strategies.md). Threads: [M]. */
#ifndef TUTTI_STRATEGY_H
#define TUTTI_STRATEGY_H

#include "dag/step/step.h"

struct tutti_builder;

/* A number that a user chooses. */
typedef struct tutti_strategy_parameter {
    const char *key, *help; /* key NULL: ends the table */
    double fallback, low, high;
    int whole; /* no fractions */
    /* NULL-terminated: the value is the number of one of these words, which is written without the key;
     * NULL: it is a number */
    const char *const *words;
    int bare; /* a number that is written without the key, as the first */
} tutti_strategy_parameter;

struct tutti_strategy {
    const char *name, *summary; /* "sync" */
    /* At most TUTTI_STRATEGY_PARAMETERS; NULL: none */
    const tutti_strategy_parameter *parameter;
    int shards;     /* a rank has only a part of what the update rule keeps (tutti_graph_cut) */
    int compresses; /* gradients may travel compressed (dag/step/codec.h) */
    int divides;    /* layers may be divided over replicas (dag/net/divide.h) */
    int adds; /* its marks follow complete gradients at once, and may add micro-batches (tutti_step_sums) */
    int freezes; /* it leaves out what a rate of 0 freezes (tutti_builder_is_frozen) */
    int regroups; /* ranks may come and go between steps: a snapshot of each has all that the strategy keeps */
    int roots; /* that is all of it, or nothing; with it goes the whole sum of each gradient */
    /* Each replica trains on its own batch with its own sums, and the section `average` makes all equal
     * again after the last step of a round. In a round they differ: who hashes, evaluates or saves
     * weights waits for its end. */
    int alone;
    /* Which parameter has the steps of a round, NULL: 1; the prefix of what the strategy keeps for each parameter
     * from step to step, in tensors of its shape and type that begin as zeros, or NULL. NULL: nothing. [P] */
    const char *period;
    const char *(*keeps)(const tutti_strategy_settings *settings);
    /* Replicas that meet others in every step: how many kinds of mixing steps there are, at most
     * TUTTI_STEP_MIXINGS, of which each step begins with one (tutti_step_mixing), and what appends
     * the messages of the i-th, the nodes of a section of its own. NULL: they do not. [P]; [M] */
    int (*mixings)(const tutti_step_options *options);
    tutti_status (*mix_replicas)(struct tutti_builder *b, int i);
    const char *mixes_every; /* which parameter has the steps from one to the next; NULL: 1 */
    /* Replicas that train while they mix: which parameter has the number of these steps, at most as many as from one
     * mixing step to the next; and what appends the use of what they received, the nodes of a section of its own.
     * NULL: a mixing step ends in its own step. [P]; [M] */
    const char *delay;
    tutti_status (*join)(struct tutti_builder *b);
    /* The strategy that it stands in for, where a layout has parameter servers (dag/step/service.h), or where a store
     * of keys (tutti/kv.h) is shared by servers and clients. NULL: it is a strategy of its own. */
    const tutti_strategy *of;
    int serves;        /* it has a part for parameter servers */
    int needs_servers; /* it requires servers, or a store of keys */
    int everywhere;    /* of one that servers take part in: these may be workers, too */
    /* The graph has no updates: behind each step the program pushes every gradient (tutti_step.gradient) to a
     * store of keys, whose servers update, and pulls the weights. */
    int pushes;
    /* The graph is that of a client by itself, with its updates: behind each step the program passes every
     * parameter to tutti_kv_pushpull, by which the store draws it to a centre. */
    int uses_store;
    /* Whether each client's push is an update by itself; NULL or 0: those of all clients are added up before. [P] */
    int (*apart)(const tutti_strategy_settings *settings);
    /* INVAL (logged): a rule or options that the strategy cannot take. */
    tutti_status (*check)(const tutti_update_rule *rule, const tutti_step_options *options);
    /* Appends the mark of the gradient of parameter p of layer l, which the section train has completed. */
    tutti_status (*sum)(struct tutti_builder *b, int l, int p);
    /* The same for the statistics of layer l; NULL: tutti_builder_sum_statistics. */
    tutti_status (*statistics)(struct tutti_builder *b, int l);
    /* Appends what follows all marks: the updates of this rank's layers, averages, copies and running
     * statistics. */
    tutti_status (*update)(struct tutti_builder *b);
    /* If replicas train alone: appends the nodes of the section `average`. */
    tutti_status (*average)(struct tutti_builder *b);
    /* As tutti_step_finalize. NULL: nothing is left to do. */
    tutti_status (*finalize)(tutti_step *step);
};

/* The value of a strategy's parameter that is a number of steps; 1 for NULL. [P] */
int64_t tutti_strategy_steps(
    const tutti_strategy *strategy, const char *parameter, const tutti_strategy_settings *settings);

#endif
