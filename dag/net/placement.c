#include "dag/net/placement.h"

#include "dag/base/log.h"

/* ---- groups ---- */

/* Group i of a kind has the ranks first, first + every, ..., `members` of them; first = i / columns * step + i %
 * columns. So those of one stage are every S-th. */
typedef struct family {
    int groups, columns, step, members, every;
} family;

static family find_family(const tutti_placement *p, tutti_placement_kind kind)
{
    const int S = p->stages, R = p->replicas, G = p->blocks, W = p->workers;
    const int client = p->servers && W > 1, stage = S > 1 || (p->servers && R > 1);
    switch (kind) {
    case TUTTI_GROUP_CLIENT: return (family){client * p->clients * S, S, W * S, W, S};
    case TUTTI_GROUP_STAGE: return (family){stage * S, S, R * S, R, S};
    case TUTTI_GROUP_REPLICA: return (family){S > 1 ? R : 0, 1, S, S, 1};
    case TUTTI_GROUP_BLOCKS: return (family){G > 1 ? R / G * S : 0, S, G * S, G, S};
    default: return (family){G > 1 ? G * S : 0, S, S, G > 1 ? R / G : R, G * S};
    }
}

static void number_groups(const tutti_placement *p, int rank, int group[TUTTI_GROUP_KINDS])
{
    int before = 1;
    for (tutti_placement_kind k = 0; k < TUTTI_GROUP_KINDS; k++) {
        const family f = find_family(p, k);
        if (f.groups)
            group[k] =
                before + rank / f.step % (f.groups / f.columns) * f.columns + rank % f.columns;
        before += f.groups;
    }
}

int tutti_placement_groups(const tutti_placement *p)
{
    int groups = 0;
    for (tutti_placement_kind k = 0; k < TUTTI_GROUP_KINDS; k++) groups += find_family(p, k).groups;
    return groups;
}

int tutti_placement_group(const tutti_placement *p, int number, int ranks[])
{
    tutti_placement_kind kind = 0;
    int i = number - 1;
    while (i >= find_family(p, kind).groups) i -= find_family(p, kind++).groups;
    const family f = find_family(p, kind);
    for (int n = 0; n < f.members; n++)
        ranks[n] = i / f.columns * f.step + i % f.columns + n * f.every;
    return f.members;
}

/* ---- ranks ---- */

tutti_rank_role tutti_placement_role(const tutti_placement *p, int rank)
{
    const int works = rank < p->working_ranks, replica = works ? rank / p->stages : 0;
    tutti_rank_role role = {.works = works,
        .serves = !works || p->everywhere,
        .stage = works ? rank % p->stages : p->stages,
        .replica = replica,
        .block = p->blocks ? replica % p->blocks : 0,
        .client = replica / p->workers,
        .global_replica = p->first_replica + replica,
        .server = works ? rank : rank - p->working_ranks};
    if (works) number_groups(p, rank, role.group);
    return role;
}

tutti_status tutti_placement_complete(tutti_placement *p)
{
    if (p->stages < 0 || p->stages > TUTTI_PLACEMENT_STAGES || p->replicas < 0 || p->blocks < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "step: %d replicas in %d stages, of %d blocks",
            p->replicas, p->stages, p->blocks);
    if (!p->stages) p->stages = 1;
    if (!p->replicas) p->replicas = 1;
    p->working_ranks = p->stages * p->replicas;
    if (p->everywhere) p->servers = p->working_ranks;
    p->ranks = p->working_ranks + (p->everywhere ? 0 : p->servers);
    if (p->blocks && p->replicas % p->blocks)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: layers divided over groups of %d do not go with %d replicas: use a divisor",
            p->blocks, p->replicas);
    if (p->servers < 0 || p->clients < (p->servers > 0) ||
        p->replicas % (p->clients ? p->clients : 1) || (p->everywhere && p->stages > 1))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %d servers and %d clients do not go with %d replicas in %d stages", p->servers,
            p->clients, p->replicas, p->stages);
    if (p->rank < 0 || p->rank >= p->ranks)
        return tutti_fail(TUTTI_ERR_INVAL, "step: rank %d of %d", p->rank, p->ranks);
    p->workers = p->replicas / (p->clients ? p->clients : 1);
    if (!p->global_replicas) p->global_replicas = p->replicas;
    p->own = tutti_placement_role(p, p->rank);
    return TUTTI_OK;
}
