/* MPI's collectives: one COLLECTIVE defines the blocking and the nonblocking wrapper. */
#include "apps/mpicheck/call.h"
#include "apps/mpicheck/collective.h"

/* A macro argument that contains commas. */
#define LIST(...) __VA_ARGS__

#define COLLECTIVE(name, iname, parameters, arguments, ...)                                        \
    int MPI_##name(parameters, MPI_Comm comm)                                                      \
    {                                                                                              \
        MPICHECK_WRAP(name, (arguments, comm));                                                    \
        mpicheck_collective call = {.kind = #name, .comm = comm, .blocking = true, __VA_ARGS__};   \
        mpicheck_collective_begin(&call);                                                          \
        MPICHECK_RETURN(PMPI_##name(arguments, comm));                                             \
    }                                                                                              \
    int MPI_##iname(parameters, MPI_Comm comm, MPI_Request *request)                               \
    {                                                                                              \
        MPICHECK_WRAP(iname, (arguments, comm, request));                                          \
        mpicheck_collective call = {.kind = #name, .comm = comm, __VA_ARGS__};                     \
        mpicheck_collective_begin(&call);                                                          \
        int rc = PMPI_##iname(arguments, comm, request);                                           \
        mpicheck_collective_made(&call, rc, request);                                              \
        MPICHECK_RETURN(rc);                                                                       \
    }

#define SEND .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype}
#define SENDV(displs)                                                                              \
    .send = {.buffer = sendbuf, .counts = sendcounts, .places = displs, .type = sendtype}
#define SENDW(as)                                                                                  \
    .send = {.buffer = sendbuf, .counts = sendcounts, .as = sdispls, .types = sendtypes}
#define RECV .recv = {.buffer = recvbuf, .count = recvcount, .type = recvtype}
#define RECVV(displs)                                                                              \
    .recv = {.buffer = recvbuf, .counts = recvcounts, .places = displs, .type = recvtype}
#define RECVW(as)                                                                                  \
    .recv = {.buffer = recvbuf, .counts = recvcounts, .as = rdispls, .types = recvtypes}
#define DATA                                                                                       \
    .send = {.buffer = sendbuf, .count = count, .type = datatype}, .recv = {.buffer = recvbuf},    \
    .op = &op

COLLECTIVE(Bcast, Ibcast, LIST(void *buffer, int count, MPI_Datatype datatype, int root),
    LIST(buffer, count, datatype, root), .shape = MPICHECK_SHAPE_BCAST, .root = &root,
    .send = {.buffer = buffer, .count = count, .type = datatype})

COLLECTIVE(Reduce, Ireduce,
    LIST(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root),
    LIST(sendbuf, recvbuf, count, datatype, op, root), .shape = MPICHECK_SHAPE_REDUCE,
    .root = &root, DATA)

COLLECTIVE(Allreduce, Iallreduce,
    LIST(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op),
    LIST(sendbuf, recvbuf, count, datatype, op), .shape = MPICHECK_SHAPE_ALLREDUCE, DATA)

COLLECTIVE(Scan, Iscan,
    LIST(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op),
    LIST(sendbuf, recvbuf, count, datatype, op), .shape = MPICHECK_SHAPE_ALLREDUCE, DATA)

COLLECTIVE(Exscan, Iexscan,
    LIST(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op),
    LIST(sendbuf, recvbuf, count, datatype, op), .shape = MPICHECK_SHAPE_EXSCAN, DATA)

COLLECTIVE(Reduce_scatter, Ireduce_scatter,
    LIST(const void *sendbuf, void *recvbuf, const int *recvcounts, MPI_Datatype datatype,
        MPI_Op op),
    LIST(sendbuf, recvbuf, recvcounts, datatype, op), .shape = MPICHECK_SHAPE_REDUCE_SCATTER,
    .op = &op, .send = {.buffer = sendbuf, .counts = recvcounts, .type = datatype},
    .recv = {.buffer = recvbuf})

COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
    LIST(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op),
    LIST(sendbuf, recvbuf, recvcount, datatype, op), .shape = MPICHECK_SHAPE_REDUCE_SCATTER,
    .op = &op, .send = {.buffer = sendbuf, .count = recvcount, .type = datatype},
    .recv = {.buffer = recvbuf})

COLLECTIVE(Gather, Igather,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype, int root),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),
    .shape = MPICHECK_SHAPE_GATHER, .root = &root, SEND, RECV)

COLLECTIVE(Gatherv, Igatherv,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
        const int *recvcounts, const int *displs, MPI_Datatype recvtype, int root),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root),
    .shape = MPICHECK_SHAPE_GATHER, .root = &root, SEND, RECVV(displs))

COLLECTIVE(Scatter, Iscatter,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype, int root),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),
    .shape = MPICHECK_SHAPE_SCATTER, .root = &root, SEND, RECV)

COLLECTIVE(Scatterv, Iscatterv,
    LIST(const void *sendbuf, const int *sendcounts, const int *displs, MPI_Datatype sendtype,
        void *recvbuf, int recvcount, MPI_Datatype recvtype, int root),
    LIST(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root),
    .shape = MPICHECK_SHAPE_SCATTER, .root = &root, SENDV(displs), RECV)

COLLECTIVE(Allgather, Iallgather,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
    .shape = MPICHECK_SHAPE_ALLGATHER, SEND, RECV)

COLLECTIVE(Allgatherv, Iallgatherv,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
        const int *recvcounts, const int *displs, MPI_Datatype recvtype),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
    .shape = MPICHECK_SHAPE_ALLGATHER, SEND, RECVV(displs))

COLLECTIVE(Alltoall, Ialltoall,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
    .shape = MPICHECK_SHAPE_ALLTOALL, SEND, RECV)

COLLECTIVE(Alltoallv, Ialltoallv,
    LIST(const void *sendbuf, const int *sendcounts, const int *sdispls, MPI_Datatype sendtype,
        void *recvbuf, const int *recvcounts, const int *rdispls, MPI_Datatype recvtype),
    LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
    .shape = MPICHECK_SHAPE_ALLTOALL, SENDV(sdispls), RECVV(rdispls))

COLLECTIVE(Alltoallw, Ialltoallw,
    LIST(const void *sendbuf, const int *sendcounts, const int *sdispls,
        const MPI_Datatype *sendtypes, void *recvbuf, const int *recvcounts, const int *rdispls,
        const MPI_Datatype *recvtypes),
    LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
    .shape = MPICHECK_SHAPE_ALLTOALL, SENDW(bytes), RECVW(bytes))

/* Neighbours agree on data among themselves: the calls are compared, and what memory each uses. */
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
    .shape = MPICHECK_SHAPE_NEIGHBORS_GATHER, SEND, RECV)

COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
        const int *recvcounts, const int *displs, MPI_Datatype recvtype),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
    .shape = MPICHECK_SHAPE_NEIGHBORS_GATHER, SEND, RECVV(displs))

COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall,
    LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype),
    LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
    .shape = MPICHECK_SHAPE_NEIGHBORS, SEND, RECV)

COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
    LIST(const void *sendbuf, const int *sendcounts, const int *sdispls, MPI_Datatype sendtype,
        void *recvbuf, const int *recvcounts, const int *rdispls, MPI_Datatype recvtype),
    LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
    .shape = MPICHECK_SHAPE_NEIGHBORS, SENDV(sdispls), RECVV(rdispls))

COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
    LIST(const void *sendbuf, const int *sendcounts, const MPI_Aint *sdispls,
        const MPI_Datatype *sendtypes, void *recvbuf, const int *recvcounts,
        const MPI_Aint *rdispls, const MPI_Datatype *recvtypes),
    LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
    .shape = MPICHECK_SHAPE_NEIGHBORS, SENDW(offsets), RECVW(offsets))

int MPI_Barrier(MPI_Comm comm)
{
    MPICHECK_WRAP(Barrier, (comm));
    mpicheck_collective call = {.kind = "Barrier", .comm = comm, .blocking = true};
    mpicheck_collective_begin(&call);
    MPICHECK_RETURN(PMPI_Barrier(comm));
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    MPICHECK_WRAP(Ibarrier, (comm, request));
    mpicheck_collective call = {.kind = "Barrier", .comm = comm};
    mpicheck_collective_begin(&call);
    int rc = PMPI_Ibarrier(comm, request);
    mpicheck_collective_made(&call, rc, request);
    MPICHECK_RETURN(rc);
}
