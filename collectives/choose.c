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

enum {
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

/* What auto asks beside its table. They have no row in the list: each needs more than its name. */
static const tutti_algorithm by_rules = {
    .name = "rules",
    .summary = "by the rules of a file",
    .build = BUILDERS(tutti_sched_ring_allreduce, tutti_sched_ring_reduce_scatter),
    .chooses = 1,
};
static const tutti_algorithm by_price = {
    .name = "priced",
    .summary = "by price on the run's topology",
    .build = BUILDERS(tutti_sched_ring_allreduce, tutti_sched_ring_reduce_scatter),
    .chooses = 1,
    .prices = 1,
};

const char *tutti_algorithm_rules(const char *name)
{
    const size_t prefix = strlen("rules:");
    return name && !strncmp(name, "rules:", prefix) && name[prefix] ? name + prefix : NULL;
}

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
    if (tutti_algorithm_rules(name)) return &by_rules;
    if (!strcmp(name, by_price.name)) return &by_price;
    if (tutti_algorithm_file(name)) return &forest;
    const tutti_algorithm *a = find_row(name, &radix);
    return radix < 0 ? NULL : a;
}

int tutti_algorithm_radix(const char *name)
{
    int radix = 0;
    if (name && !tutti_algorithm_rules(name)) find_row(name, &radix);
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

enum { KIB = 1 << 10, NEAR_EAGER = 4000 };
#define NOT TUTTI_IF_NOT
#define SO TUTTI_IF_SO
#define ALLREDUCE .kind = TUTTI_ALLREDUCE
#define REDUCE_SCATTER .kind = TUTTI_REDUCE_SCATTER

/* doc/algorithms.md gives the reasons. */
static const tutti_rule built_in[] = {
    {.each = 1, .near = NOT, .algorithm = &ring, .segment = 60 * KIB},
    {.each = 1, .near = SO, .algorithm = &ring, .segment = 512 * KIB},
    /* over a network */
    {ALLREDUCE, .near = NOT, .algorithm = &doubling},
    {ALLREDUCE, .near = NOT, .from = 256 * KIB + 1, .algorithm = &ring},
    {ALLREDUCE, .least_P = 3, .near = NOT, .from = 4 * KIB + 1, .algorithm = &ring},
    {ALLREDUCE, .least_P = 3, .power_of_two = 1, .near = NOT, .from = 4 * KIB + 1,
        .algorithm = &rsag},
    {ALLREDUCE, .least_P = 3, .near = NOT, .from = 128 * KIB + 1, .algorithm = &ring},
    /* in a machine's memory */
    {ALLREDUCE, .near = SO, .algorithm = &doubling},
    {ALLREDUCE, .near = SO, .from = NEAR_EAGER + 1, .algorithm = &rsag},
    {ALLREDUCE, .near = SO, .from = 2 * NEAR_EAGER + 1, .algorithm = &doubling},
    {ALLREDUCE, .near = SO, .from = 64 * KIB, .algorithm = &ring},
    {ALLREDUCE, .least_P = 3, .power_of_two = 1, .near = SO, .from = 64 * KIB, .algorithm = &rsag},
    {ALLREDUCE, .near = SO, .from = 256 * KIB, .algorithm = &ring},
    /* a type with a wider accumulator: sums are rounded once */
    {ALLREDUCE, .least_P = 3, .wide = SO, .algorithm = &doubling},
    {ALLREDUCE, .least_P = 3, .wide = SO, .from = 4 * KIB + 1, .algorithm = &direct},
    {REDUCE_SCATTER, .least_P = 3, .wide = SO, .algorithm = &direct},
    /* an operator that does not commute; the ring's other kinds keep the order */
    {ALLREDUCE, .ordered = SO, .algorithm = &doubling},
    {ALLREDUCE, .least_P = 3, .near = NOT, .ordered = SO, .from = 4 * KIB + 1,
        .algorithm = &direct},
    {ALLREDUCE, .least_P = 3, .near = SO, .ordered = SO, .from = 64 * KIB + 1,
        .algorithm = &direct},
    {REDUCE_SCATTER, .ordered = SO, .algorithm = &direct},
    /* operands that may not be cut: vectors travel as they are; a reduce-scatter has no such schedule */
    {ALLREDUCE, .whole = SO, .algorithm = &doubling},
    {REDUCE_SCATTER, .whole = SO, .algorithm = &ring},
};
const tutti_rules tutti_rules_built_in = {
    .rule = built_in, .n = sizeof built_in / sizeof *built_in};

/* Whether an algorithm has a schedule that does this. */
static int can_do(const tutti_algorithm *a, const tutti_choice_key *key)
{
    const tutti_sched_builder build = a->build[key->kind];
    const int sums = key->kind == TUTTI_ALLREDUCE || key->kind == TUTTI_REDUCE_SCATTER;
    if (!build) return 0;
    if (!key->ordered && !key->whole) return 1;
    if (!sums) return build == ring.build[key->kind];
    if (build == doubling.build[TUTTI_ALLREDUCE]) return 1;
    return !key->whole && build == direct.build[key->kind];
}

/* What the rules say; *refused: the algorithm that they say, but that cannot do it. */
static tutti_rule ask_rules(const tutti_choice_key *key, const tutti_algorithm **refused)
{
    tutti_rule said = {.algorithm = NULL};
    tutti_rules_apply(&tutti_rules_built_in, key, &said);
    const tutti_rule otherwise = said;
    tutti_rules_apply(key->rules, key, &said);
    if (said.algorithm == otherwise.algorithm || can_do(said.algorithm, key)) return said;
    *refused = said.algorithm;
    said.algorithm = otherwise.algorithm;
    said.radix = otherwise.radix;
    return said;
}

tutti_choice tutti_coll_choose(const tutti_algorithm *wanted, const tutti_choice_key *key)
{
    tutti_choice choice = {.algorithm = wanted, .radix = wanted->radix ? key->radix : 0};
    const tutti_rule said = ask_rules(key, &choice.refused);
    const int is_plain = (!key->ordered && !key->whole) || !wanted->build[key->kind];
    if (wanted->chooses || !is_plain) {
        choice.algorithm = said.algorithm;
        choice.radix = said.radix;
    }
    choice.build = choice.algorithm->build[key->kind];
    choice.wide = key->wide && (choice.build == tutti_sched_direct_allreduce ||
                                   choice.build == tutti_sched_direct_reduce_scatter);
    if (key->wide && choice.build == tutti_sched_hierarchical_allreduce)
        choice.wide = 2; /* levels */
    int64_t segment = said.segment / (int64_t)key->element;
    int64_t least = (key->count + MOST_SEGMENTS - 1) / MOST_SEGMENTS;
    choice.segment = segment > least ? segment : least;
    if (key->whole && key->count > choice.segment) choice.segment = key->count;
    return choice;
}
