#include "designs/exchange/attached_transport.h"

#include "collectives/choose.h"
#include "collectives/transport/transport.h"
#include "dag/base/log.h"

#include <string.h>

/* The library has those between main memories: the table of all, for programs, needs NCCL. */
typedef struct choice {
    const char *name;
    int replaces; /* MPI's messages */
    int on_one_host;
} choice;
static const choice choices[] = {
    {"auto", 0, 0}, /* mpi */
    {"mpi", 0, 0},
    {"nccl", 0, 0}, /* mpi: what is attached is in main memory */
    {"shm", 1, 1},
    {"mesh", 1, 0},
    {0},
};

const char *tutti_attached_transport_choice(int i)
{
    return choices[i].name;
}

/* The row of a word that replaces MPI's messages, or NULL. */
static const choice *find(const char *word)
{
    for (const choice *c = choices; word && c->name; c++)
        if (strcmp(c->name, word) == 0) return c->replaces ? c : NULL;
    return NULL;
}

tutti_status tutti_attached_transport_check(const char *word, const char *algorithm)
{
    if (!find(word) || !tutti_algorithm_is_library(algorithm)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "tutti_attach: TUTTI_TRANSPORT is %s, and the algorithm mpi is MPI's own: use another "
        "algorithm, "
        "or the transport mpi",
        word);
}

tutti_status tutti_attached_ranks_check(const char *algorithm, const char *topology)
{
    static const char changes[] = "is for one number of ranks, which changes here";
    if (tutti_algorithm_is_library(algorithm))
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_membership_run: the algorithm %s needs MPI, which these ranks do without: "
            "leave it out",
            algorithm);
    if (tutti_algorithm_file(algorithm) || tutti_algorithm_rules(algorithm))
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_membership_run: the algorithm %s %s: leave it out", algorithm, changes);
    if (!topology) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "tutti_membership_run: TUTTI_TOPOLOGY %s %s: leave it out",
        topology, changes);
}

tutti_status tutti_attached_transport_open(
    void *ctx, tutti_transport **transport, int lanes, double timeout_s)
{
    const char *word = ctx;
    const choice *chosen = find(word);
    const tutti_transport *mpi = *transport;
    const tutti_transport_options options = {.lanes = lanes, .timeout_s = timeout_s};
    if (!chosen || mpi->size == 1) return TUTTI_OK;
    if (!chosen->on_one_host || mpi->near) return tutti_transport_mesh_over(transport, &options);
    return mpi->rank
               ? TUTTI_ERR_USAGE
               : tutti_fail(TUTTI_ERR_USAGE,
                     "tutti_attach: TUTTI_TRANSPORT is %s, and the ranks are on several hosts: use "
                     "mesh, which connects them over TCP",
                     word);
}
