/* Creating and freeing communicators, and other collectives without comparable data. */
#include "apps/mpicheck/call.h"
#include "apps/mpicheck/collective.h"
#include "apps/mpicheck/ops.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/requests.h"

#define LIST(...) __VA_ARGS__

static mpicheck_collective begin(const char *kind, MPI_Comm comm, bool blocking)
{
    mpicheck_collective call = {.kind = kind, .comm = comm, .blocking = blocking};
    mpicheck_collective_begin(&call);
    return call;
}

static uint64_t seed(const mpicheck_collective *call)
{
    return mpicheck_comm_mix(call->on->id, call->sequence);
}

static int made(int rc, const mpicheck_collective *call, const MPI_Comm *comm)
{
    if (rc == MPI_SUCCESS && call->on)
        mpicheck_comm_made(*comm, seed(call), mpicheck_call_name(), mpicheck_call_site());
    return rc;
}

/* A collective over `comm` that creates `newcomm`. */
#define MAKER(name, parameters, arguments)                                                         \
    int MPI_##name(MPI_Comm comm, parameters MPI_Comm *newcomm)                                    \
    {                                                                                              \
        MPICHECK_WRAP(name, (comm, arguments newcomm));                                            \
        mpicheck_collective call = begin(#name, comm, true);                                       \
        MPICHECK_RETURN(made(PMPI_##name(comm, arguments newcomm), &call, newcomm));               \
    }

MAKER(Comm_dup, , )
MAKER(Comm_dup_with_info, LIST(MPI_Info info, ), LIST(info, ))
MAKER(Comm_split, LIST(int color, int key, ), LIST(color, key, ))
MAKER(Comm_split_type, LIST(int type, int key, MPI_Info info, ), LIST(type, key, info, ))
MAKER(Comm_create, LIST(MPI_Group group, ), LIST(group, ))
MAKER(Cart_create, LIST(int n, const int *dims, const int *periods, int reorder, ),
    LIST(n, dims, periods, reorder, ))
MAKER(Cart_sub, LIST(const int *remain, ), LIST(remain, ))
MAKER(Graph_create, LIST(int n, const int *index, const int *edges, int reorder, ),
    LIST(n, index, edges, reorder, ))
MAKER(Dist_graph_create,
    LIST(int n, const int *sources, const int *degrees, const int *destinations, const int *weights,
        MPI_Info info, int reorder, ),
    LIST(n, sources, degrees, destinations, weights, info, reorder, ))
MAKER(Dist_graph_create_adjacent,
    LIST(int in, const int *sources, const int *inweights, int out, const int *destinations,
        const int *outweights, MPI_Info info, int reorder, ),
    LIST(in, sources, inweights, out, destinations, outweights, info, reorder, ))
MAKER(Intercomm_merge, LIST(int high, ), LIST(high, ))

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    MPICHECK_WRAP(Comm_idup, (comm, newcomm, request));
    mpicheck_collective call = begin("Comm_idup", comm, false);
    int rc = PMPI_Comm_idup(comm, newcomm, request);
    if (rc != MPI_SUCCESS || !call.on) MPICHECK_RETURN(rc);
    bool alone = call.on->size == 1 && call.on->others == 0;
    mpicheck_request what = {.item = {.kind = alone ? MPICHECK_ITEM_OTHER : MPICHECK_ITEM_COLL,
                                 .comm = call.on->id,
                                 .peer = -1,
                                 .sequence = call.sequence,
                                 .call = mpicheck_call_name(),
                                 .site = mpicheck_call_site()},
        .comm = call.on,
        .active = true,
        .made = newcomm,
        .seed = seed(&call)};
    mpicheck_request_made(*request, &what);
    MPICHECK_RETURN(rc);
}

/* Collective over the group alone, which the judge sees as a communicator during the call. */
static void meet(const mpicheck_comm *on, MPI_Group group, int tag)
{
    uint64_t seed_of_tag = mpicheck_comm_mix(on->id, (uint64_t)tag + 3);
    uint64_t key = mpicheck_comm_mix(seed_of_tag, mpicheck_comm_count(group, seed_of_tag));
    mpicheck_collective call = {
        .kind = "Comm_create_group", .blocking = true, .comm = MPI_COMM_NULL};
    call.on = mpicheck_comm_made_of(key, group, key, mpicheck_call_name(), mpicheck_call_site());
    if (!call.on) return;
    mpicheck_collective_begin(&call);
    mpicheck_comm_gone_at(key);
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    MPICHECK_WRAP(Comm_create_group, (comm, group, tag, newcomm));
    const mpicheck_comm *on = mpicheck_comm_find(comm);
    int member = MPI_UNDEFINED;
    PMPI_Group_rank(group, &member);
    if (on && member != MPI_UNDEFINED) meet(on, group, tag);
    int rc = PMPI_Comm_create_group(comm, group, tag, newcomm);
    if (rc == MPI_SUCCESS && on)
        mpicheck_comm_made_by_group(*newcomm, mpicheck_comm_mix(on->id, (uint64_t)tag + 3),
            mpicheck_call_name(), mpicheck_call_site());
    MPICHECK_RETURN(rc);
}

int MPI_Intercomm_create(
    MPI_Comm local, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm *newcomm)
{
    MPICHECK_WRAP(Intercomm_create, (local, leader, peers, remote, tag, newcomm));
    (void)begin("Intercomm_create", local, true);
    int rc = PMPI_Intercomm_create(local, leader, peers, remote, tag, newcomm);
    if (rc == MPI_SUCCESS)
        mpicheck_comm_made_by_group(
            *newcomm, (uint64_t)tag + 5, mpicheck_call_name(), mpicheck_call_site());
    MPICHECK_RETURN(rc);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    MPICHECK_WRAP(Comm_free, (comm));
    (void)begin("Comm_free", *comm, false);
    if (mpicheck_comm_find(*comm) && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF)
        mpicheck_comm_gone(*comm);
    MPICHECK_RETURN(PMPI_Comm_free(comm));
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    MPICHECK_WRAP(Comm_disconnect, (comm));
    (void)begin("Comm_disconnect", *comm, true);
    if (mpicheck_comm_find(*comm) && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF)
        mpicheck_comm_gone(*comm);
    MPICHECK_RETURN(PMPI_Comm_disconnect(comm));
}

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op)
{
    MPICHECK_WRAP(Op_create, (function, commutes, op));
    int rc = PMPI_Op_create(function, commutes, op);
    if (rc == MPI_SUCCESS) mpicheck_op_made(*op, function, commutes);
    MPICHECK_RETURN(rc);
}

int MPI_Op_free(MPI_Op *op)
{
    MPICHECK_WRAP(Op_free, (op));
    mpicheck_op_gone(*op);
    MPICHECK_RETURN(PMPI_Op_free(op));
}

int MPI_Type_free(MPI_Datatype *type)
{
    MPICHECK_WRAP(Type_free, (type));
    if (*type != MPI_DATATYPE_NULL) {
        mpicheck_request_type_freed(*type);
        mpicheck_signature_forget(*type);
        mpicheck_region_forget(*type);
    }
    MPICHECK_RETURN(PMPI_Type_free(type));
}
