/* Opening. A launch waits for no other rank once a communicator is connected, so the first collective of each is one
 * of ours, here, with a deadline. All memory, streams and events are made here, too: what makes them later would wait
 * for kernels that wait for other ranks. */
#include "collectives/transport/nccl_parts.h"

#include "collectives/transport/gather.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank tells the others while it opens. */
typedef struct card {
    int status;
    char text[200]; /* why */
    char host[64], bus[32];
    ncclUniqueId id[TUTTI_NCCL_MOST_LANES]; /* of rank 0 */
} card;

/* ---- the cards of all ranks ---- */

/* The first rank's complaint, on every rank. */
static tutti_status hear_complaints(const tutti_nccl *n, const card all[])
{
    for (int r = 0; r < n->base.size; r++)
        if (all[r].status)
            return tutti_fail((tutti_status)all[r].status, "NCCL: rank %d: %s", r, all[r].text);
    return TUTTI_OK;
}

/* NCCL refuses two ranks on one GPU. */
static tutti_status are_distinct(const tutti_nccl *n, const card all[])
{
    for (int r = 0; r < n->base.size; r++)
        for (int q = 0; q < r; q++)
            if (!strcmp(all[r].host, all[q].host) && !strcmp(all[r].bus, all[q].bus))
                return tutti_fail(TUTTI_ERR_USAGE,
                    "NCCL needs a GPU for each rank, and ranks %d and %d have the same one (%s of "
                    "%s): start fewer ranks on a host, or use the transport mpi",
                    q, r, all[r].bus, all[r].host);
    return TUTTI_OK;
}

/* ---- opening ---- */

static tutti_status make_cuda(tutti_nccl *n)
{
    int least = 0, most = 0;
    tutti_status status = tutti_nccl_cuda(n, "it cannot be used", cudaSetDevice(n->device));
    if (!status)
        status = tutti_nccl_cuda(n, "its streams", cudaDeviceGetStreamPriorityRange(&least, &most));
    if (!status)
        status = tutti_nccl_cuda(n, "memory", cudaMalloc((void **)&n->first, sizeof *n->first));
    if (!status) status = tutti_nccl_cuda(n, "memory", cudaMemset(n->first, 0, sizeof *n->first));
    if (!status) status = tutti_nccl_cuda(n, "memory", cudaDeviceSynchronize());
    for (int k = 0; k < n->lanes && !status; k++)
        status = tutti_nccl_cuda(n, "a stream",
            cudaStreamCreateWithPriority(&n->stream[k], cudaStreamNonBlocking, most));
    n->all = calloc((size_t)n->lanes * TUTTI_NCCL_IN_FLIGHT, sizeof *n->all);
    if (!status && !n->all) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    for (int i = 0; i < n->lanes * TUTTI_NCCL_IN_FLIGHT && !status; i++) {
        status = tutti_nccl_cuda(
            n, "an event", cudaEventCreateWithFlags(&n->all[i].event, cudaEventDisableTiming));
        n->all[i].next = n->unused;
        n->unused = &n->all[i];
    }
    return status;
}

static tutti_status wait_for_event(tutti_nccl *n, const tutti_message *m)
{
    double until_s = tutti_clock_s() + n->timeout_s;
    for (int done = 0;;) {
        tutti_status status = n->base.ops->test(&n->base, (tutti_message *)m, &done);
        if (status || done) return status;
        if (tutti_clock_s() > until_s)
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "NCCL: the first collective on lane %d has not ended within %g s", m->lane,
                n->timeout_s);
        tutti_clock_sleep(50e-6);
    }
}

static tutti_status make_comms(tutti_nccl *n, const card all[])
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < n->lanes && !status; k++) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        ncclResult_t result =
            ncclCommInitRankConfig(&n->comm[k], n->base.size, all[0].id[k], n->base.rank, &config);
        status = tutti_nccl_settle(n, k, "a communicator", result, n->timeout_s);
    }
    const tutti_coll_args first = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = 1,
        .recv = n->first,
        .memory = TUTTI_MEMORY_DEVICE};
    for (int k = 0; k < n->lanes && !status; k++) {
        tutti_message *message = NULL;
        status = n->base.ops->collective(&n->base, k, &first, &message);
        if (!status) status = wait_for_event(n, message);
    }
    return status;
}

/* The outcome of a step of opening, the same on all ranks. */
static tutti_status agree(tutti_nccl *n, tutti_status status, card *mine, card all[])
{
    mine->status = (int)status;
    snprintf(mine->text, sizeof mine->text, "%s", status ? tutti_last_error() : "");
    tutti_status heard = tutti_transport_gather(n->whole, mine, sizeof *mine, all, n->timeout_s);
    return heard ? heard : hear_complaints(n, all);
}

static tutti_status connect(tutti_nccl *n, card *mine, card all[])
{
    tutti_status status = make_cuda(n);
    gethostname(mine->host, sizeof mine->host - 1);
    if (!status)
        status = tutti_nccl_cuda(
            n, "its place", cudaDeviceGetPCIBusId(mine->bus, sizeof mine->bus, n->device));
    for (int k = 0; k < n->lanes && !n->base.rank && !status; k++)
        if (ncclGetUniqueId(&mine->id[k]))
            status = tutti_fail(TUTTI_ERR_COMM, "NCCL: no unique id: %s", ncclGetLastError(NULL));
    status = agree(n, status, mine, all);
    if (!status) status = are_distinct(n, all);
    if (status) return status;
    return agree(n, make_comms(n, all), mine, all);
}

static tutti_status check_lanes(const tutti_transport_options *options)
{
    if (options->lanes > 0 && options->lanes <= TUTTI_NCCL_MOST_LANES) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "NCCL: %d lanes: must be from 1 to %d", options->lanes,
        TUTTI_NCCL_MOST_LANES);
}

tutti_status tutti_transport_nccl(
    tutti_transport *whole, const tutti_transport_options *options, tutti_transport **transport)
{
    tutti_nccl *n = calloc(1, sizeof *n);
    card *mine = calloc(1, sizeof *mine), *all = calloc((size_t)whole->size, sizeof *all);
    tutti_status status = TUTTI_OK;
    if (!n || !mine || !all) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    if (!status) status = check_lanes(options);
    if (!status) {
        setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0); /* before the first call of NCCL */
        *n = (tutti_nccl){.base = *whole,
            .whole = whole,
            .device = options->device,
            .lanes = options->lanes,
            .timeout_s = options->timeout_s};
        n->base.ops = &tutti_nccl_ops;
        n->base.shares_seats = 1;
        n->base.takes_devices = 1;
        status = connect(n, mine, all);
    }
    free(mine);
    free(all);
    if (!status) {
        *transport = &n->base;
        return TUTTI_OK;
    }
    const int owns = n && n->whole;
    tutti_transport_close(owns ? &n->base : whole);
    if (!owns) free(n);
    return status;
}

const char *tutti_transport_nccl_lacks(void)
{
    return NULL;
}
