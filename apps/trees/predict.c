#include "apps/trees/predict.h"

#include "collectives/sched/ring.h"
#include "collectives/trees/weigh.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_SEGMENT = 15360, SEGMENTS = 4, MOST_SEGMENTS = 4096 };

/* The price of a builder's schedules; the shape lacks each rank's number. */
static tutti_status price_shape(const tutti_topology *t, tutti_sched_builder build,
    const tutti_sched_shape *shape, tutti_sched_price *price)
{
    const tutti_sched **ranks = calloc((size_t)t->ranks, sizeof *ranks);
    tutti_status status =
        ranks ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d schedules", t->ranks);
    for (int r = 0; !status && r < t->ranks; r++) {
        tutti_sched_shape own = *shape;
        own.rank = r;
        status = build(&own, (tutti_sched **)&ranks[r]);
    }
    if (!status) status = tutti_sched_price_of(ranks, t->ranks, 4, 4, t, price);
    for (int r = 0; ranks && r < t->ranks; r++) tutti_sched_free((tutti_sched *)ranks[r]);
    free(ranks);
    return status;
}

tutti_status tutti_predict_algorithm(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_algorithm *algorithm, int64_t count, tutti_sched_price *price)
{
    const tutti_choice_key key = {.kind = kind,
        .P = t->ranks,
        .count = count,
        .element = 4,
        .radix = tutti_algorithm_radix(algorithm->name)};
    const tutti_choice choice = tutti_coll_choose(algorithm, &key);
    int *host = malloc((size_t)t->ranks * sizeof *host);
    if (!host) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d schedules", t->ranks);
    for (int r = 0; r < t->ranks; r++) host[r] = t->point[t->rank_point[r]].host;
    const tutti_sched_shape shape = {.kind = kind,
        .P = t->ranks,
        .count = count,
        .segment = choice.segment,
        .radix = choice.radix,
        .host = host,
        .in_place = 1};
    tutti_status status = price_shape(t, choice.build, &shape, price);
    free(host);
    return status;
}

/* The price with the segments that are best. */
static tutti_status price_segments(const tutti_topology *t, tutti_sched_builder build,
    tutti_sched_shape *shape, tutti_sched_price *price, int64_t *segment)
{
    int tried = 0;
    for (int i = 0; i < SEGMENTS; i++) {
        tutti_sched_price p;
        shape->segment = (int64_t)LEAST_SEGMENT << 2 * i;
        if (tried && shape->segment >= shape->count * 4) break;
        if (shape->count / shape->segment > MOST_SEGMENTS) continue;
        tutti_status status = price_shape(t, build, shape, &p);
        if (status) return status;
        if (tried++ && p.time_s >= price->time_s) continue;
        *price = p;
        *segment = shape->segment;
    }
    return TUTTI_OK;
}

tutti_status tutti_predict_forest(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_forest *forest, int64_t count, tutti_sched_price *price, int64_t *segment)
{
    tutti_sched_shape shape = {.kind = kind,
        .P = t->ranks,
        .root = tutti_coll_trait_of(kind)->rooted ? tutti_tree_root(forest->tree[0].parent) : 0,
        .count = count,
        .in_place = 1,
        .forest = forest};
    *segment = 0;
    return price_segments(t, tutti_sched_forest, &shape, price, segment);
}

/* The same topology with ranks in the order of a ring. */
static void order_ranks(const tutti_topology *t, const int parent[], int rank_point[])
{
    int at = tutti_tree_root(parent);
    for (int i = 0; i < t->ranks; i++) {
        rank_point[i] = t->rank_point[at];
        for (int r = 0; r < t->ranks; r++)
            if (parent[r] == at) {
                at = r;
                break;
            }
    }
}

/* What a rank's own time a ring takes at least: its messages, and its sums. */
static double own_time(const tutti_topology *t, const tutti_sched_shape *shape)
{
    const tutti_point_kind *kind = tutti_topology_kind_of(t, 0);
    int64_t block = shape->count / t->ranks;
    double rounds = t->ranks - 1, messages = (double)tutti_sched_segments(block, shape->segment);
    double sums_s = kind->reduce > 0 ? 4 * (double)block / kind->reduce : 0;
    return rounds * (2 * messages * (kind->send_s + kind->recv_s) + sums_s);
}

/* An allreduce round all rings with these segments: the slowest ring, alone; what each rank does for all of them. */
static tutti_status price_rings(const tutti_topology *t, const tutti_forest *chains, double rate,
    int64_t count, int64_t segment, int rank_point[], double *time_s)
{
    tutti_topology ordered = *t;
    tutti_status status = TUTTI_OK;
    double own_s = 0;
    ordered.rank_point = rank_point;
    for (int i = 0; !status && i < chains->trees; i++) {
        tutti_sched_price price = {.time_s = 0};
        const tutti_sched_shape shape = {.kind = TUTTI_ALLREDUCE,
            .P = t->ranks,
            .count = (int64_t)((double)count * chains->tree[i].weight / rate),
            .segment = segment,
            .in_place = 1};
        order_ranks(t, chains->tree[i].parent, rank_point);
        status = price_shape(&ordered, tutti_sched_ring_allreduce, &shape, &price);
        if (!status && price.time_s > *time_s) *time_s = price.time_s;
        own_s += own_time(t, &shape);
    }
    if (own_s > *time_s) *time_s = own_s;
    return status;
}

/* The same with the segments that are best. */
static tutti_status try_segments(
    const tutti_topology *t, const tutti_forest *chains, double rate, int64_t count, double *time_s)
{
    double least_s = 2.0 * (t->ranks - 1) / t->ranks * 4 * (double)count / rate;
    int64_t segment = LEAST_SEGMENT;
    int *rank_point = malloc((size_t)t->ranks * sizeof *rank_point);
    tutti_status status =
        rank_point ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a ring");
    for (int i = 0; !status && i < SEGMENTS; i++, segment *= 4) {
        double now_s = least_s;
        if (i && segment >= count * 4) break;
        status = price_rings(t, chains, rate, count, segment, rank_point, &now_s);
        if (now_s < *time_s) *time_s = now_s;
    }
    free(rank_point);
    return status;
}

/* The heaviest of some rings alone. */
static tutti_forest heaviest(const tutti_forest *chains)
{
    tutti_tree *tree = chains->tree;
    for (int i = 0; i < chains->trees; i++)
        if (chains->tree[i].weight > tree->weight) tree = &chains->tree[i];
    return (tutti_forest){.P = chains->P, .trees = 1, .tree = tree};
}

tutti_status tutti_predict_rings(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_forest *chains, int64_t count, double *time_s)
{
    tutti_sched_price all = {.time_s = 0}, one = {.time_s = 0};
    const tutti_forest alone = heaviest(chains);
    int64_t ignored;
    tutti_status status;
    if (kind == TUTTI_ALLREDUCE) {
        *time_s = HUGE_VAL;
        status = try_segments(t, chains, tutti_forest_rate(chains), count, time_s);
        return status ? status : try_segments(t, &alone, alone.tree->weight, count, time_s);
    }
    status = tutti_predict_forest(t, kind, chains, count, &all, &ignored);
    if (!status) status = tutti_predict_forest(t, kind, &alone, count, &one, &ignored);
    *time_s = one.time_s < all.time_s ? one.time_s : all.time_s;
    return status;
}
