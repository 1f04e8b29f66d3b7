#include "collectives/choose.h"

#include "collectives/sched/barrier.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/hierarchical.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/rsag.h"
#include "collectives/sched/scan.h"
#include "collectives/sched/scatter_ring.h"
#include "collectives/sched/tree.h"
#include "collectives/trees/forest_text.h"
#include "dag/base/log.h"
#include "dag/base/number.h"

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
    MOST_RADIX = 1 << 20,
};

#define BUILDERS(allreduce, reduce_scatter)                                                        \
    BUILDERS_OF(allreduce, tutti_sched_tree_broadcast, tutti_sched_tree_reduce, reduce_scatter)
#define BUILDERS_OF(allreduce, broadcast, reduce, reduce_scatter)                                  \
    {                                                                                              \
        [TUTTI_ALLREDUCE] = allreduce, [TUTTI_BROADCAST] = broadcast, [TUTTI_REDUCE] = reduce,     \
        [TUTTI_ALLGATHER] = tutti_sched_ring_allgather, [TUTTI_REDUCE_SCATTER] = reduce_scatter,   \
        [TUTTI_BARRIER] = tutti_sched_barrier, [TUTTI_GATHER] = tutti_sched_direct_gather,         \
        [TUTTI_SCATTER] = tutti_sched_direct_scatter,                                              \
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
/* Trees; each allreduce is a reduce and a broadcast. */
#define TREES(builder) BUILDERS_OF(builder, builder, builder, tutti_sched_ring_reduce_scatter)
static const tutti_algorithm pipelined_chain = {
    .name = "pipelined-chain",
    .summary = "segments from rank to rank: long broadcasts and reduces, of which each rank sends "
               "all once",
    .build = TREES(tutti_sched_chain),
};
static const tutti_algorithm k_nomial = {
    .name = "k-nomial",
    .summary = "k-nomial tree, k-nomial:K (4): short broadcasts and reduces, in log_K P steps",
    .build = TREES(tutti_sched_nomial),
    .radix = 4,
    .least_radix = 2,
};
static const tutti_algorithm chain_binomial = {
    .name = "chain-binomial",
    .summary = "chains of K ranks under a binomial tree, chain-binomial:K (4)",
    .build = TREES(tutti_sched_chain_binomial),
    .radix = 4,
    .least_radix = 1,
};
static const tutti_algorithm chain_chain = {
    .name = "chain-chain",
    .summary = "chains of K ranks under a chain, chain-chain:K (4)",
    .build = TREES(tutti_sched_chain_chain),
    .radix = 4,
    .least_radix = 1,
};
static const tutti_algorithm scatter_ring = {
    .name = "scatter-ring",
    .summary = "broadcast: scatter, then a ring; reduce: a ring, then gather; for long vectors",
    .build = BUILDERS_OF(tutti_sched_ring_allreduce, tutti_sched_scatter_ring_broadcast,
        tutti_sched_scatter_ring_reduce, tutti_sched_ring_reduce_scatter),
};
static const tutti_algorithm hierarchical = {
    .name = "hierarchical",
    .summary = "sums in each machine, then across machines, where each rank has a part",
    .build = BUILDERS_OF(tutti_sched_hierarchical_allreduce, tutti_sched_hierarchical_broadcast,
        tutti_sched_hierarchical_reduce, tutti_sched_ring_reduce_scatter),
};
/* Not in the table: without a file it is nothing to choose. */
static const tutti_algorithm forest = {
    .name = "forest",
    .summary = "along the spanning trees of a file, forest:FILE",
    .build = TREES(tutti_sched_forest),
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
    &pipelined_chain,
    &k_nomial,
    &chain_binomial,
    &chain_chain,
    &scatter_ring,
    &hierarchical,
    &mpi,
    NULL,
};

/* The row that a name begins with, and the number after its colon; 0: there is none, -1: a wrong one. */
static const tutti_algorithm *find_row(const char *name, int *radix)
{
    size_t length = strcspn(name, ":");
    int64_t number = 0;
    for (int i = 0; tutti_algorithms[i]; i++) {
        const tutti_algorithm *a = tutti_algorithms[i];
        if (strlen(a->name) != length || strncmp(a->name, name, length) != 0) continue;
        *radix = a->radix;
        if (!name[length]) return a;
        int right = a->radix && tutti_number_int(name + length + 1, &number) &&
                    number >= a->least_radix && number <= MOST_RADIX;
        *radix = right ? (int)number : -1;
        return a;
    }
    return NULL;
}

const char *tutti_algorithm_file(const char *name)
{
    static const char before[] = "forest:";
    size_t length = sizeof before - 1;
    return name && !strncmp(name, before, length) && name[length] ? name + length : NULL;
}

tutti_status tutti_algorithm_read(const char *name, int P, tutti_forest **trees, uint64_t *hash)
{
    const char *file = tutti_algorithm_file(name);
    tutti_forest *f;
    uint64_t topology;
    tutti_status status = tutti_forest_open(file, NULL, &f, &topology);
    if (status) return status == TUTTI_ERR_FORMAT ? TUTTI_ERR_USAGE : status;
    if (P && f->P != P) {
        status = tutti_fail(TUTTI_ERR_USAGE,
            "%s: its trees are for %d ranks, and there are %d: tutti-trees packs others", file,
            f->P, P);
        tutti_forest_free(f);
        return status;
    }
    *hash = tutti_forest_hash(f);
    *trees = f;
    return TUTTI_OK;
}

uint64_t tutti_algorithm_hash(const char *name)
{
    tutti_forest *f;
    uint64_t hash = 0;
    if (!tutti_algorithm_file(name) || tutti_algorithm_read(name, 0, &f, &hash)) return 0;
    tutti_forest_free(f);
    return hash;
}

const tutti_algorithm *tutti_algorithm_find(const char *name)
{
    int radix = 0;
    if (!name) return &automatic;
    if (tutti_algorithm_file(name)) return &forest;
    const tutti_algorithm *a = find_row(name, &radix);
    return radix < 0 ? NULL : a;
}

int tutti_algorithm_radix(const char *name)
{
    int radix = 0;
    if (name) find_row(name, &radix);
    return radix;
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
    choice.radix = choice.algorithm->radix ? key->radix : 0;
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
