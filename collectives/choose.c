#include "collectives/choose.h"

#include "collectives/sched/barrier.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/rsag.h"
#include "collectives/sched/scan.h"
#include "collectives/sched/tree.h"

#include <stdio.h>
#include <string.h>

/* doc/algorithms.md gives the reasons. */
enum {
    FAR_DOUBLING_UP_TO = 4 << 10,
    FAR_DOUBLING_OF_TWO_UP_TO = 256 << 10,
    FAR_RSAG_UP_TO = 128 << 10,
    FAR_SEGMENT = 60 << 10,
    NEAR_EAGER = 4000,
    NEAR_DOUBLING_BELOW = 64 << 10,
    NEAR_RSAG_BELOW = 256 << 10,
    NEAR_SEGMENT = 512 << 10,
    WIDE_DOUBLING_UP_TO = 4 << 10,
    MOST_SEGMENTS = 8192, /* a schedule has a few steps for each */
};

#define BUILDERS(allreduce, reduce_scatter)                                                        \
    {                                                                                              \
        [TUTTI_ALLREDUCE] = allreduce, [TUTTI_BROADCAST] = tutti_sched_tree_broadcast,             \
        [TUTTI_REDUCE] = tutti_sched_tree_reduce, [TUTTI_ALLGATHER] = tutti_sched_ring_allgather,  \
        [TUTTI_REDUCE_SCATTER] = reduce_scatter, [TUTTI_BARRIER] = tutti_sched_barrier,            \
        [TUTTI_GATHER] = tutti_sched_direct_gather, [TUTTI_SCATTER] = tutti_sched_direct_scatter,  \
        [TUTTI_ALLTOALL] = tutti_sched_direct_alltoall, [TUTTI_SCAN] = tutti_sched_scan,           \
        [TUTTI_MESSAGE] = tutti_sched_tree_broadcast,                                              \
    }

static const tutti_algorithm automatic = {
    .name = "auto",
    .summary = "chosen by size and ranks",
    .build = BUILDERS(tutti_sched_ring_allreduce, tutti_sched_ring_reduce_scatter),
    .chooses = 1,
};
static const tutti_algorithm ring = {
    .name = "ring",
    .summary = "pipelined ring: fewest bytes, for long vectors",
    .build = BUILDERS(tutti_sched_ring_allreduce, tutti_sched_ring_reduce_scatter),
};
static const tutti_algorithm doubling = {
    .name = "recursive-doubling",
    .summary = "fewest steps, for short vectors",
    .build = BUILDERS(tutti_sched_doubling_allreduce, tutti_sched_ring_reduce_scatter),
};
static const tutti_algorithm tree = {
    .name = "tree",
    .summary = "binomial tree: reduce to rank 0, then broadcast",
    .build = BUILDERS(tutti_sched_tree_allreduce, tutti_sched_ring_reduce_scatter),
};
static const tutti_algorithm rsag = {
    .name = "rsag",
    .summary = "recursive halving, then doubling (Rabenseifner)",
    .build = BUILDERS(tutti_sched_rsag_allreduce, tutti_sched_ring_reduce_scatter),
};
static const tutti_algorithm direct = {
    .name = "direct",
    .summary = "blocks straight to their rank, combined in rank order, rounded once",
    .build = BUILDERS(tutti_sched_direct_allreduce, tutti_sched_direct_reduce_scatter),
};
static const tutti_algorithm mpi = {
    .name = "mpi",
    .summary = "the MPI library's own nonblocking collective",
};

const tutti_algorithm *const tutti_algorithms[] = {
    &automatic,
    &ring,
    &doubling,
    &tree,
    &rsag,
    &direct,
    &mpi,
    NULL,
};

const tutti_algorithm *tutti_algorithm_find(const char *name)
{
    if (!name) return &automatic;
    for (int i = 0; tutti_algorithms[i]; i++)
        if (!strcmp(tutti_algorithms[i]->name, name)) return tutti_algorithms[i];
    return NULL;
}

int tutti_algorithm_is_library(const char *name)
{
    const tutti_algorithm *algorithm = tutti_algorithm_find(name);
    return algorithm && !algorithm->build[TUTTI_ALLREDUCE];
}

char *tutti_algorithm_names(char *text, size_t size)
{
    size_t used = 0;
    if (size) text[0] = '\0';
    for (int i = 0; tutti_algorithms[i] && used < size; i++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%s", i ? ", " : "", tutti_algorithms[i]->name);
    return text;
}

static int is_power_of_two(int P)
{
    return !(P & (P - 1));
}

static const tutti_algorithm *far_by_size(int P, int64_t bytes)
{
    if (bytes <= (P <= 2 ? FAR_DOUBLING_OF_TWO_UP_TO : FAR_DOUBLING_UP_TO)) return &doubling;
    return bytes <= FAR_RSAG_UP_TO && is_power_of_two(P) ? &rsag : &ring;
}

static const tutti_algorithm *near_by_size(int P, int64_t bytes)
{
    if (bytes > NEAR_EAGER && bytes <= 2 * NEAR_EAGER) return &rsag;
    if (bytes < NEAR_DOUBLING_BELOW) return &doubling;
    return bytes < NEAR_RSAG_BELOW && P > 2 && is_power_of_two(P) ? &rsag : &ring;
}

static const tutti_algorithm *by_size(const tutti_choice_key *key)
{
    int64_t bytes = key->count * (int64_t)key->element;
    int rounds_often = key->wide && key->P > 2;
    if (key->kind == TUTTI_REDUCE_SCATTER && rounds_often) return &direct;
    if (key->kind != TUTTI_ALLREDUCE) return &ring;
    if (rounds_often) return bytes > WIDE_DOUBLING_UP_TO ? &direct : &doubling;
    return key->near ? near_by_size(key->P, bytes) : far_by_size(key->P, bytes);
}

/* For an operator that does not commute. */
static tutti_sched_builder in_order(const tutti_choice_key *key)
{
    int64_t bytes = key->count * (int64_t)key->element;
    int64_t doubling_up_to = key->near ? NEAR_DOUBLING_BELOW : FAR_DOUBLING_UP_TO;
    int is_long = key->P > 2 && bytes > doubling_up_to;
    switch (key->kind) {
    case TUTTI_ALLREDUCE:
        return is_long ? tutti_sched_direct_allreduce : tutti_sched_doubling_allreduce;
    case TUTTI_REDUCE_SCATTER:
        return tutti_sched_direct_reduce_scatter;
    default:
        return ring.build[key->kind];
    }
}

/* For an operator whose operands may not be cut: vectors travel as they are. A REDUCE_SCATTER has no such
 * schedule. */
static tutti_sched_builder in_one(const tutti_choice_key *key)
{
    return key->kind == TUTTI_ALLREDUCE ? tutti_sched_doubling_allreduce : ring.build[key->kind];
}

tutti_choice tutti_coll_choose(const tutti_algorithm *wanted, const tutti_choice_key *key)
{
    tutti_choice choice = {.algorithm = wanted->chooses ? by_size(key) : wanted};
    choice.build = choice.algorithm->build[key->kind];
    if (choice.build && key->ordered) choice.build = in_order(key);
    if (choice.build && key->whole) choice.build = in_one(key);
    choice.wide = key->wide && (choice.build == tutti_sched_direct_allreduce ||
                                   choice.build == tutti_sched_direct_reduce_scatter);
    int64_t segment = (key->near ? NEAR_SEGMENT : FAR_SEGMENT) / (int64_t)key->element;
    int64_t least = (key->count + MOST_SEGMENTS - 1) / MOST_SEGMENTS;
    choice.segment = segment > least ? segment : least;
    if (key->whole && key->count > choice.segment) choice.segment = key->count;
    return choice;
}
