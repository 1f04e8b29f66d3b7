/* Opens the transport: the ranks exchange their GPUs, and create the first lanes, with a deadline. */
#include "collectives/transport/nccl_parts.h"

#include "collectives/transport/gather.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank sends to the others while it opens. */
typedef struct rank_info {
    int status;
    char text[200]; /* the error */
    char host[64], bus[32];
    ncclUniqueId id[TUTTI_NCCL_MOST_LANES]; /* of rank 0 */
} rank_info;

/* ---- what all ranks have sent ---- */

/* Fails on every rank with the first rank's error. */
static tutti_status find_first_error(const tutti_nccl *n, const rank_info all[])
{
    for (int r = 0; r < n->transport->size; r++)
        if (all[r].status)
            return tutti_fail((tutti_status)all[r].status, "NCCL: rank %d: %s", r, all[r].text);
    return TUTTI_OK;
}

/* NCCL refuses two ranks on one GPU. */
static tutti_status are_distinct(const tutti_nccl *n, const rank_info all[])
{
    for (int r = 0; r < n->transport->size; r++)
        for (int q = 0; q < r; q++)
            if (!strcmp(all[r].host, all[q].host) && !strcmp(all[r].bus, all[q].bus))
                return tutti_fail(TUTTI_ERR_USAGE,
                    "NCCL needs a GPU for each rank, and ranks %d and %d have the same one (%s of "
                    "%s): start fewer ranks on a host, or use the transport mpi",
                    q, r, all[r].bus, all[r].host);
    return TUTTI_OK;
}

/* ---- opening ---- */

static tutti_status make_memory(tutti_nccl *n)
{
    tutti_status status = tutti_nccl_cuda(n, "it cannot be used", cudaSetDevice(n->device));
    if (!status)
        status = tutti_nccl_cuda(n, "memory", cudaMalloc((void **)&n->first, sizeof *n->first));
    if (!status) status = tutti_nccl_cuda(n, "memory", cudaMemset(n->first, 0, sizeof *n->first));
    return status ? status : tutti_nccl_cuda(n, "memory", cudaDeviceSynchronize());
}

static tutti_status make_lane(tutti_nccl *n, int lane, const ncclUniqueId *id)
{
    static const double poll_s = 50e-6;
    const double until_s = tutti_clock_s() + n->timeout_s;
    tutti_nccl_making making = {.lane = lane, .id = id};
    for (int done = 0;;) {
        tutti_status status = tutti_nccl_make(n, &making, &done);
        if (status || done) return status;
        if (tutti_clock_s() > until_s)
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "NCCL: lane %d was not created on all ranks within %g s", lane, n->timeout_s);
        tutti_clock_sleep(poll_s);
    }
}

static tutti_status make_lanes(tutti_nccl *n, int lanes, const rank_info all[])
{
    tutti_status status = tutti_nccl_widen(n, lanes);
    for (int k = 0; k < lanes && !status; k++) status = make_lane(n, k, &all[0].id[k]);
    return status;
}

/* The outcome of a step of opening, the same on all ranks. */
static tutti_status agree_on_status(const tutti_nccl *n, tutti_transport *transport,
    tutti_status status, rank_info *mine, rank_info all[])
{
    mine->status = (int)status;
    snprintf(mine->text, sizeof mine->text, "%s", status ? tutti_last_error() : "");
    tutti_status gathered =
        tutti_transport_gather(transport, mine, sizeof *mine, all, n->timeout_s);
    return gathered ? gathered : find_first_error(n, all);
}

static tutti_status connect_ranks(
    tutti_nccl *n, tutti_transport *transport, int lanes, rank_info *mine, rank_info all[])
{
    tutti_status status = make_memory(n);
    gethostname(mine->host, sizeof mine->host - 1);
    if (!status)
        status = tutti_nccl_cuda(
            n, "its place", cudaDeviceGetPCIBusId(mine->bus, sizeof mine->bus, n->device));
    for (int k = 0; k < lanes && !transport->rank && !status; k++)
        if (ncclGetUniqueId(&mine->id[k]))
            status = tutti_fail(TUTTI_ERR_COMM, "NCCL: no unique id: %s", ncclGetLastError(NULL));
    status = agree_on_status(n, transport, status, mine, all);
    if (!status) status = are_distinct(n, all);
    if (status) return status;
    return agree_on_status(n, transport, make_lanes(n, lanes, all), mine, all);
}

static tutti_status check_lanes(const tutti_transport_options *options)
{
    if (options->lanes > 0 && options->lanes <= TUTTI_NCCL_MOST_LANES) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "NCCL: %d lanes: must be from 1 to %d", options->lanes,
        TUTTI_NCCL_MOST_LANES);
}

tutti_status tutti_transport_nccl(
    tutti_transport *transport, const tutti_transport_options *options)
{
    tutti_nccl *n = calloc(1, sizeof *n);
    rank_info *mine = calloc(1, sizeof *mine), *all = calloc((size_t)transport->size, sizeof *all);
    tutti_status status = TUTTI_OK;
    if (!n || !mine || !all) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    if (!status) status = check_lanes(options);
    if (!status) {
        /* Set before the first call of NCCL: otherwise it would connect ranks, and allocate memory, in a later step
         * whose size selects another algorithm. */
        setenv("NCCL_RUNTIME_CONNECT", "0", 0);
        setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
        *n = (tutti_nccl){.base.ops = &tutti_nccl_ops,
            .transport = transport,
            .device = options->device,
            .timeout_s = options->timeout_s};
        status = connect_ranks(n, transport, options->lanes, mine, all);
        if (status && !n->aborted) tutti_nccl_abort(n); /* some ranks may not have got so far */
        if (status) n->base.ops->close(&n->base);
    } else {
        free(n);
    }
    free(mine);
    free(all);
    if (status) return status;
    transport->device_collectives = &n->base;
    transport->shares_slots = transport->edges_aside = 1;
    return TUTTI_OK;
}

/* Before, kernels of several communicators could wait for each other in another order on each device. */
const char *tutti_transport_nccl_lacks(void)
{
    int version = 0;
    if (!ncclGetVersion(&version) && version >= NCCL_VERSION(2, 26, 0)) return NULL;
    return "this NCCL is older than 2.26, which keeps no order between communicators";
}
