/* Creates a lane in stages, so that the caller need not wait: a lane of all ranks from a unique id, a lane of a group
 * by splitting the first lane's communicator. A launch waits for no other rank once a communicator is connected, so
 * the first collective of each is launched here. Streams and events are created here, too: later, creating them would
 * wait for kernels that wait for other ranks. */
#include "collectives/transport/nccl_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>

enum { BEGIN, CONNECT, LAUNCH, SETTLE, END, MADE };

/* ---- memory ---- */

tutti_status tutti_nccl_widen(tutti_nccl *n, int lanes)
{
    tutti_nccl_lane **wider = realloc(n->lane, (size_t)lanes * sizeof(tutti_nccl_lane *));
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    n->lane = wider;
    while (n->lanes < lanes) n->lane[n->lanes++] = NULL;
    return TUTTI_OK;
}

static void free_lane(tutti_nccl_lane *lane)
{
    for (int i = 0; lane->all && i < TUTTI_NCCL_IN_FLIGHT; i++)
        if (lane->all[i].event) cudaEventDestroy(lane->all[i].event);
    if (lane->stream) cudaStreamDestroy(lane->stream);
    free(lane->all);
    free(lane);
}

void tutti_nccl_free_lanes(tutti_nccl *n)
{
    for (int k = 0; k < n->lanes; k++)
        if (n->lane[k]) free_lane(n->lane[k]);
    free(n->lane);
    n->lane = NULL;
    n->lanes = 0;
}

static tutti_status create_events(const tutti_nccl *n, tutti_nccl_lane *lane)
{
    int least = 0, most = 0;
    tutti_status status =
        tutti_nccl_cuda(n, "its streams", cudaDeviceGetStreamPriorityRange(&least, &most));
    if (!status)
        status = tutti_nccl_cuda(n, "a stream",
            cudaStreamCreateWithPriority(&lane->stream, cudaStreamNonBlocking, most));
    for (int i = 0; i < TUTTI_NCCL_IN_FLIGHT && !status; i++) {
        tutti_device_call *m = &lane->all[i];
        status = tutti_nccl_cuda(
            n, "an event", cudaEventCreateWithFlags(&m->event, cudaEventDisableTiming));
        m->next = lane->unused;
        lane->unused = m;
    }
    return status;
}

static tutti_status open_lane(tutti_nccl *n, int number, int rank, int size)
{
    tutti_nccl_lane *lane = calloc(1, sizeof *lane);
    tutti_device_call *all = calloc(TUTTI_NCCL_IN_FLIGHT, sizeof *all);
    if (!lane || !all) {
        free(lane);
        free(all);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    }
    *lane = (tutti_nccl_lane){.rank = rank, .size = size, .all = all};
    for (int i = 0; i < TUTTI_NCCL_IN_FLIGHT; i++) all[i].lane = number;
    n->lane[number] = lane;
    return create_events(n, lane);
}

/* ---- stages ---- */

static const char making_it[] = "a communicator", using_it[] = "the first collective";

static tutti_status begin_lane(tutti_nccl *n, tutti_nccl_making *m)
{
    const int is_in = !m->members || m->members->rank >= 0;
    const int rank = m->members ? m->members->rank : n->transport->rank;
    const int size = m->members ? m->members->size : n->transport->size;
    tutti_status status = is_in ? open_lane(n, m->lane, rank, size) : TUTTI_OK;
    if (status) return status;
    ncclComm_t *comm = is_in ? &n->lane[m->lane]->comm : &n->nobody;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    m->stage = CONNECT;
    if (m->id)
        return tutti_nccl_called(
            NULL, m->lane, making_it, ncclCommInitRankConfig(comm, size, *m->id, rank, &config));
    ncclComm_t from = n->lane[0]->comm;
    return tutti_nccl_called(from, m->lane, making_it,
        ncclCommSplit(from, is_in ? 0 : NCCL_SPLIT_NOCOLOR, is_in ? rank : 0, comm, &config));
}

/* A split is complete once the communicator that was split reports so. */
static tutti_status await_communicator(tutti_nccl *n, tutti_nccl_making *m)
{
    const tutti_nccl_lane *lane = n->lane[m->lane];
    int over = 1;
    tutti_status status =
        m->id ? TUTTI_OK : tutti_nccl_ask(n->lane[0]->comm, m->lane, making_it, &over);
    if (status || !over) return status;
    if (!lane) {
        m->stage = MADE;
        return TUTTI_OK;
    }
    if (lane->comm) status = tutti_nccl_ask(lane->comm, m->lane, making_it, &over);
    if (!status && lane->comm && over) m->stage = LAUNCH;
    return status;
}

static tutti_status launch_first(tutti_nccl *n, tutti_nccl_making *m)
{
    const tutti_nccl_lane *lane = n->lane[m->lane];
    const tutti_coll_args first = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = 1,
        .recv = n->first,
        .memory = TUTTI_MEMORY_DEVICE};
    tutti_nccl_call call = {
        .rank = lane->rank, .P = lane->size, .comm = lane->comm, .stream = lane->stream};
    tutti_nccl_call_describe(&first, &call);
    m->stage = SETTLE;
    return tutti_nccl_called(lane->comm, m->lane, using_it, tutti_nccl_call_launch(&call));
}

static tutti_status await_launch(tutti_nccl *n, tutti_nccl_making *m)
{
    const tutti_nccl_lane *lane = n->lane[m->lane];
    int over;
    tutti_status status = tutti_nccl_ask(lane->comm, m->lane, using_it, &over);
    if (status || !over) return status;
    m->stage = END;
    return tutti_nccl_cuda(
        n, "marking an event", cudaEventRecord(lane->unused->event, lane->stream));
}

static tutti_status await_first(tutti_nccl *n, tutti_nccl_making *m)
{
    const tutti_nccl_lane *lane = n->lane[m->lane];
    int over;
    tutti_status status = tutti_nccl_ask(lane->comm, m->lane, using_it, &over);
    if (status) return status;
    cudaError_t error = cudaEventQuery(lane->unused->event);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return TUTTI_OK;
    }
    m->stage = MADE;
    return tutti_nccl_cuda(n, using_it, error);
}

tutti_status tutti_nccl_make(tutti_nccl *n, tutti_nccl_making *making, int *done)
{
    static tutti_status (*const stages[])(tutti_nccl *, tutti_nccl_making *) = {
        [BEGIN] = begin_lane,
        [CONNECT] = await_communicator,
        [LAUNCH] = launch_first,
        [SETTLE] = await_launch,
        [END] = await_first};
    tutti_status status = tutti_nccl_cuda(n, "it cannot be used", cudaSetDevice(n->device));
    for (int before = -1; !status && making->stage != MADE && making->stage != before;) {
        before = making->stage;
        status = stages[before](n, making);
    }
    if (status) tutti_nccl_abort(n);
    *done = !status && making->stage == MADE;
    return status;
}
