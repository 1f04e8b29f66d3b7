#include "tests/collectives/schedules.h"

#include "collectives/links/topology_text.h"
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
#include "tests/support/testing.h"

const schedule_row schedule_rows[SCHEDULE_ROWS] = {
    {"ring_allreduce", TUTTI_ALLREDUCE, tutti_sched_ring_allreduce},
    {"ring_reduce_scatter", TUTTI_REDUCE_SCATTER, tutti_sched_ring_reduce_scatter},
    {"ring_allgather", TUTTI_ALLGATHER, tutti_sched_ring_allgather},
    {"doubling_allreduce", TUTTI_ALLREDUCE, tutti_sched_doubling_allreduce},
    {"rsag_allreduce", TUTTI_ALLREDUCE, tutti_sched_rsag_allreduce},
    {"tree_allreduce", TUTTI_ALLREDUCE, tutti_sched_tree_allreduce},
    {"tree_broadcast", TUTTI_BROADCAST, tutti_sched_tree_broadcast},
    {"tree_reduce", TUTTI_REDUCE, tutti_sched_tree_reduce},
    {"barrier", TUTTI_BARRIER, tutti_sched_barrier},
    {"direct_gather", TUTTI_GATHER, tutti_sched_direct_gather},
    {"direct_scatter", TUTTI_SCATTER, tutti_sched_direct_scatter},
    {"direct_alltoall", TUTTI_ALLTOALL, tutti_sched_direct_alltoall},
    {"direct_reduce_scatter", TUTTI_REDUCE_SCATTER, tutti_sched_direct_reduce_scatter},
    {"scan", TUTTI_SCAN, tutti_sched_scan},
    {"chain_broadcast", TUTTI_BROADCAST, tutti_sched_chain},
    {"chain_reduce", TUTTI_REDUCE, tutti_sched_chain},
    {"chain_allreduce", TUTTI_ALLREDUCE, tutti_sched_chain},
    {"nomial_broadcast", TUTTI_BROADCAST, tutti_sched_nomial},
    {"nomial_reduce", TUTTI_REDUCE, tutti_sched_nomial},
    {"nomial_allreduce", TUTTI_ALLREDUCE, tutti_sched_nomial},
    {"chain_binomial_broadcast", TUTTI_BROADCAST, tutti_sched_chain_binomial},
    {"chain_binomial_reduce", TUTTI_REDUCE, tutti_sched_chain_binomial},
    {"chain_binomial_allreduce", TUTTI_ALLREDUCE, tutti_sched_chain_binomial},
    {"chain_chain_broadcast", TUTTI_BROADCAST, tutti_sched_chain_chain},
    {"chain_chain_reduce", TUTTI_REDUCE, tutti_sched_chain_chain},
    {"chain_chain_allreduce", TUTTI_ALLREDUCE, tutti_sched_chain_chain},
    {"scatter_ring_broadcast", TUTTI_BROADCAST, tutti_sched_scatter_ring_broadcast},
    {"scatter_ring_reduce", TUTTI_REDUCE, tutti_sched_scatter_ring_reduce},
    {"hierarchical_allreduce", TUTTI_ALLREDUCE, tutti_sched_hierarchical_allreduce},
    {"hierarchical_broadcast", TUTTI_BROADCAST, tutti_sched_hierarchical_broadcast},
    {"hierarchical_reduce", TUTTI_REDUCE, tutti_sched_hierarchical_reduce},
    {"direct_allreduce", TUTTI_ALLREDUCE, tutti_sched_direct_allreduce},
};

/* Which machine each rank is on. */
static const int hosts[MOST_RANKS] = {0, 0, 1, 1, 0, 0, 2, 3, 3, 3, 4, 5, 4, 4, 5, 5, 2};

schedules schedules_of_shape(
    const schedule_row *row, const tutti_sched_shape *like, int64_t counts[][2 * MOST_RANKS])
{
    schedules a = {.P = like->P};
    for (int r = 0; r < like->P; r++) {
        tutti_sched_shape shape = *like;
        tutti_sched *sched;
        shape.rank = r;
        if (!like->radix) shape.radix = 2 + like->P % 3; /* of trees */
        if (!like->host) shape.host = hosts;
        if (like->extras == DIFFERENT) shape.extras = (r + 1) % 3;
        if (counts) shape.counts = counts[r];
        ck_assert_ok(row->build(&shape, &sched));
        a.ranks[r] = sched;
    }
    return a;
}

schedules schedules_build(
    const schedule_row *row, int P, int root, int64_t count, int64_t segment, int in_place)
{
    const tutti_sched_shape shape = {.kind = row->kind,
        .P = P,
        .root = root,
        .count = row->kind == TUTTI_BARRIER ? 1 : count,
        .segment = segment,
        .in_place = in_place};
    return schedules_of_shape(row, &shape, NULL);
}

void schedules_free(schedules *a)
{
    for (int r = 0; r < a->P; r++) tutti_sched_free((tutti_sched *)a->ranks[r]);
}

tutti_sched_price schedules_price_on_star(const schedules *a, size_t element, size_t wide,
    double latency_us, double beta_s_per_byte, double gamma_s_per_byte)
{
    const tutti_point_kind kind = {
        .name = "node", .reduce = gamma_s_per_byte > 0 ? 1 / gamma_s_per_byte : 0};
    tutti_topology *star;
    tutti_sched_price price;
    ck_assert_ok(
        tutti_topology_star(a->P, 1 / beta_s_per_byte, (int64_t)(1e6 * latency_us), &kind, &star));
    ck_assert_ok(tutti_sched_price_of(a->ranks, a->P, element, wide, star, &price));
    tutti_topology_free(star);
    return price;
}
