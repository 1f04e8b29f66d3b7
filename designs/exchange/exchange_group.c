/* Groups and edges of an exchange. */
#include "designs/exchange/exchange_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* What a rank has requested, for the others to compare. */
typedef struct group_request {
    int64_t status, digest;
} group_request;

static tutti_status check_group(
    const tutti_exchange *x, int n, const int ranks[], group_request *mine)
{
    int size = tutti_exchange_size(x);
    uint64_t hash = tutti_coll_mix(1, (uint64_t)n);
    if (!x->options.messages)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "tutti_group: this session has no groups");
    if (n < 1 || n > size || !ranks)
        return tutti_fail(TUTTI_ERR_INVAL,
            n < 1 || n > size
                ? "tutti_group: a group of %d ranks in a run of %d: must be from 1 to all"
                : "tutti_group: a group of %d ranks in a run of %d: ranks is NULL",
            n, size);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= size)
            return tutti_fail(
                TUTTI_ERR_INVAL, "tutti_group: rank %d: must be from 0 to %d", ranks[i], size - 1);
        for (int j = 0; j < i; j++)
            if (ranks[j] == ranks[i])
                return tutti_fail(TUTTI_ERR_INVAL,
                    "tutti_group: rank %d is listed twice: list each rank once", ranks[i]);
        hash = tutti_coll_mix(hash, (uint64_t)ranks[i]);
    }
    mine->digest = (int64_t)(hash >> 1);
    return TUTTI_OK;
}

/* Every rank gets the same status. */
static tutti_status agree_on_group(tutti_exchange *x, tutti_status status, group_request mine)
{
    int size = tutti_exchange_size(x);
    group_request *all = calloc((size_t)size, sizeof *all);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks' groups", size);
    mine.status = status;
    const tutti_coll_args args = {.kind = TUTTI_ALLGATHER,
        .dtype = TUTTI_I64,
        .count = 2,
        .out_of_place = 1,
        .send = &mine,
        .recv = all};
    tutti_status called = tutti_exchange_call(x, "the ranks' groups", &args);
    for (int r = 0; r < size && !called && !status; r++) {
        if (all[r].status)
            status = tutti_fail((tutti_status)all[r].status,
                "tutti_group: rank %d could not make this group; its log says why", r);
        else if (all[r].digest != all[0].digest)
            status = tutti_fail(TUTTI_ERR_MISMATCH,
                "tutti_group: ranks 0 and %d make different groups. Unlike with MPI_Comm_split, "
                "all "
                "ranks must make all groups in the same order; ranks outside a group get NULL",
                r);
    }
    free(all);
    return called ? called : status;
}

typedef struct preparation {
    tutti_exchange *x;
    tutti_members members;
} preparation;

static tutti_status prepare_group(void *ctx, int *done)
{
    const preparation *p = ctx;
    return tutti_lanes_prepare(p->x->lanes, &p->members, done);
}

static void free_preparation(preparation *p)
{
    if (p) tutti_members_free(&p->members);
    free(p);
}

tutti_status tutti_exchange_group(tutti_exchange *exchange, int n, const int ranks[], int *group)
{
    tutti_exchange *x = exchange;
    group_request mine = {0};
    int compares = !x->options.manual && tutti_exchange_size(x) > 1, slot;
    preparation *p = calloc(1, sizeof *p);
    tutti_status status = check_group(x, n, ranks, &mine);
    if (!status && !p) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group");
    if (!status)
        status = tutti_members_set(x->groups + 1, n, ranks, tutti_exchange_rank(x), &p->members);
    if (compares) status = agree_on_group(x, status, mine);
    if (status) {
        free_preparation(p);
        return status;
    }
    p->x = x;
    x->groups++; /* from here on it may be made on some ranks only: the next one has another key */
    int remains;
    status = tutti_comm_thread_do(x->thread, prepare_group, p, &remains);
    if (!status)
        status = tutti_driver_join(tutti_comm_thread_driver(x->thread), &p->members, &slot);
    if (!remains) free_preparation(p);
    if (compares) status = tutti_exchange_agree(x, status, NULL); /* now all can receive */
    if (status) return status;
    *group = slot;
    return TUTTI_OK;
}

tutti_status tutti_exchange_edge(tutti_exchange *exchange, int from, int to, int edge, int *group)
{
    tutti_exchange *x = exchange;
    int size = tutti_exchange_size(x), self = tutti_exchange_rank(x);
    tutti_members members;
    if (!x->options.messages)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "this session has no messages");
    if (from < 0 || from >= size || to < 0 || to >= size || from == to)
        return tutti_fail(TUTTI_ERR_INVAL,
            "a message from rank %d to rank %d, of %d ranks: must be two different ranks", from, to,
            size);
    if (self != from && self != to)
        return tutti_fail(TUTTI_ERR_INVAL,
            "rank %d neither sends nor receives messages from rank %d to rank %d", self, from, to);
    if (edge < 0 || edge >= tutti_exchange_edges(x))
        return tutti_fail(
            TUTTI_ERR_INVAL, "edge %d: must be from 0 to %d", edge, tutti_exchange_edges(x) - 1);
    tutti_status status = tutti_members_of_edge(tutti_edge_key(from, to, edge), self, &members);
    if (status) return status;
    status = tutti_driver_join(tutti_comm_thread_driver(x->thread), &members, group);
    tutti_members_free(&members);
    return status;
}

int tutti_exchange_edges(const tutti_exchange *exchange)
{
    return exchange->lanes ? tutti_lanes_edges(exchange->lanes) : 0;
}

const tutti_members *tutti_exchange_members(const tutti_exchange *exchange, int group)
{
    return tutti_driver_members(tutti_comm_thread_driver(exchange->thread), group);
}
