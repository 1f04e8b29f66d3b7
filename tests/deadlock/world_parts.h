/* The parts of a world, shared by world_open.c (building) and world.c (stepping). */
#ifndef TUTTI_TEST_WORLD_PARTS_H
#define TUTTI_TEST_WORLD_PARTS_H

#include "dag/run/run.h"
#include "designs/exchange/exchange.h"
#include "tests/deadlock/oracle.h"
#include "tests/deadlock/world.h"
#include "tests/support/loop.h"

/* A task of the batch: its token, which the exchange finishes, wraps the runner's. */
typedef struct world_task {
    tutti_token token; /* first */
    tutti_token *inner;
    struct world_rank *rank;
    int64_t id;
} world_task;

/* One collective of a step: its tensors, node and blocks. */
typedef struct world_cell {
    int fed, result; /* tensors */
    size_t fed_bytes, result_bytes;
    unsigned char *input, *output; /* [steps] blocks of these sizes */
} world_cell;

typedef struct world_rank {
    struct world *world;
    int number;
    const program *program;
    tutti_graph *graph;
    tutti_run *run;
    tutti_exchange *exchange;
    const tutti_transport *end; /* borrowed */
    int slot[PROGRAM_GROUPS];   /* the exchange's number of each group that the rank is in */
    world_cell *cell;           /* [n] */
    int *role;                  /* [tasks] of one step, in submission order */
    int tasks;
    int64_t base, ended; /* of the batch: the first id; the number of tasks that have ended */
    world_task *task;    /* [steps * tasks] */
    int64_t current;     /* the id being run */
    int64_t starts;      /* collectives, so far */
    int dirty;
    uint64_t state, other; /* what collectives did; what other tasks did */
    tutti_status failure;
} world_rank;

struct world {
    const program_setting *setting;
    tutti_loop_world *loop;
    wire wire;
    oracle *oracle;
    uint64_t salt;
    int trees; /* the file of its forest; -1: none */
    char algorithm[32];
    int joined; /* nodes of regions, but for the first of each */
    world_rank rank[PROGRAM_RANKS];
};

/* The number of tasks of a rank in a batch. */
static inline int64_t world_tasks(const world_rank *r)
{
    return (int64_t)r->tasks * r->program->steps;
}

/* The hooks between a rank's exchange and its runner. */
tutti_run_hooks world_hooks(world_rank *r);
/* Ends what is in flight on every rank. */
void world_end_all(world *w);

#endif
