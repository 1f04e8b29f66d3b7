#include "dag/net/placement.h"

#include "dag/base/log.h"

static tutti_status check_service(const tutti_placement *p)
{
    const int R = tutti_placement_replicas(p);
    const int serves = p->servers || p->everywhere;
    if (p->servers >= 0 && p->clients >= serves && R % (p->clients ? p->clients : 1) == 0 &&
        !(p->everywhere && tutti_placement_stages(p) > 1))
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: %d servers and %d clients do not go with %d replicas in %d stages",
        tutti_placement_servers(p), p->clients, R, tutti_placement_stages(p));
}

tutti_status tutti_placement_check(const tutti_placement *p)
{
    if (p->stages < 0 || p->stages > TUTTI_PLACEMENT_STAGES || p->replicas < 0 || p->blocks < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "step: %d replicas in %d stages, of %d blocks",
            p->replicas, p->stages, p->blocks);
    if (p->blocks && tutti_placement_replicas(p) % p->blocks)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: layers divided over groups of %d do not go with %d replicas: use a divisor",
            p->blocks, tutti_placement_replicas(p));
    tutti_status status = check_service(p);
    if (status) return status;
    if (p->rank < 0 || p->rank >= tutti_placement_ranks(p))
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: rank %d of %d", p->rank, tutti_placement_ranks(p));
    return TUTTI_OK;
}

tutti_rank_role tutti_placement_role(const tutti_placement *p, int rank)
{
    const int S = tutti_placement_stages(p), working = tutti_placement_working_ranks(p);
    const int works = rank < working, replica = works ? rank / S : 0;
    return (tutti_rank_role){.works = works,
        .serves = !works || p->everywhere,
        .stage = works ? rank % S : S,
        .replica = replica,
        .block = p->blocks ? replica % p->blocks : 0,
        .client = replica / tutti_placement_workers(p),
        .global_replica = p->first_replica + replica,
        .server = works ? rank : rank - working};
}

tutti_placement tutti_placement_whole(const tutti_placement *p)
{
    return (tutti_placement){.rank = tutti_placement_own(p).replica,
        .replicas = p->replicas,
        .first_replica = p->first_replica,
        .all_replicas = p->all_replicas};
}

tutti_placement tutti_placement_client_run(const tutti_placement *p)
{
    const int workers = tutti_placement_workers(p);
    return (tutti_placement){.rank = p->rank % tutti_placement_client_ranks(p),
        .stages = p->stages,
        .replicas = workers,
        .first_replica = tutti_placement_own(p).client * workers,
        .all_replicas = tutti_placement_replicas(p)};
}

/* ---- groups ---- */

static int count_groups(const tutti_placement *p, tutti_placement_kind kind)
{
    const int S = tutti_placement_stages(p), R = tutti_placement_replicas(p);
    const int serves = p->servers || p->everywhere;
    switch (kind) {
    case TUTTI_GROUP_CLIENT: return serves && tutti_placement_workers(p) > 1 ? p->clients * S : 0;
    case TUTTI_GROUP_STAGE: return S > 1 || (serves && R > 1) ? S : 0;
    case TUTTI_GROUP_REPLICA: return S > 1 ? R : 0;
    case TUTTI_GROUP_BLOCKS: return p->blocks > 1 ? R / p->blocks * S : 0;
    case TUTTI_GROUP_ALIKE: return p->blocks > 1 ? p->blocks * S : 0;
    default: return 0;
    }
}

/* The i-th of a kind; those of one stage are every S-th. */
static tutti_rank_range find_range(const tutti_placement *p, tutti_placement_kind kind, int i)
{
    const int S = tutti_placement_stages(p), R = tutti_placement_replicas(p), G = p->blocks;
    const int workers = tutti_placement_workers(p);
    const int stage = i % S, n = i / S;
    switch (kind) {
    case TUTTI_GROUP_CLIENT:
        return (tutti_rank_range){tutti_placement_rank(p, n * workers, stage), workers, S};
    case TUTTI_GROUP_STAGE: return (tutti_rank_range){i, R, S};
    case TUTTI_GROUP_REPLICA: return (tutti_rank_range){tutti_placement_rank(p, i, 0), S, 1};
    case TUTTI_GROUP_BLOCKS:
        return (tutti_rank_range){tutti_placement_rank(p, n * G, stage), G, S};
    default: return (tutti_rank_range){tutti_placement_rank(p, n, stage), R / G, G * S};
    }
}

/* Which of a kind a rank is in. */
static int find_own(const tutti_placement *p, tutti_placement_kind kind, tutti_rank_role r)
{
    const int S = tutti_placement_stages(p);
    switch (kind) {
    case TUTTI_GROUP_CLIENT: return r.client * S + r.stage;
    case TUTTI_GROUP_STAGE: return r.stage;
    case TUTTI_GROUP_REPLICA: return r.replica;
    case TUTTI_GROUP_BLOCKS: return r.replica / p->blocks * S + r.stage;
    default: return r.block * S + r.stage;
    }
}

int tutti_placement_groups(const tutti_placement *p)
{
    int groups = 0;
    for (tutti_placement_kind k = 0; k < TUTTI_GROUP_KINDS; k++) groups += count_groups(p, k);
    return groups;
}

tutti_rank_range tutti_placement_group(const tutti_placement *p, int number)
{
    tutti_placement_kind kind = 0;
    int i = number - 1;
    while (i >= count_groups(p, kind)) i -= count_groups(p, kind++);
    return find_range(p, kind, i);
}

int tutti_placement_own_group(const tutti_placement *p, tutti_placement_kind kind)
{
    const tutti_rank_role own = tutti_placement_own(p);
    int before = 0;
    if (!count_groups(p, kind) || !own.works) return 0;
    for (tutti_placement_kind k = 0; k < kind; k++) before += count_groups(p, k);
    return before + find_own(p, kind, own) + 1;
}
