#include "collectives/comm_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* Divides the transport's tags among numbers and identities. Numbers that may be live together
 * (`depth` consecutive ones) all have different tags. */
static tutti_status partition_tags(tutti_comm *c, int depth)
{
    enum { LEAST_IDENTITIES = 8, MOST_NUMBERS = 1 << 14 };
    int64_t tags = c->transport->tags;
    if (tags < 2 * LEAST_IDENTITIES)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "a transport has %lld tags: it must have at least %d", (long long)tags,
            2 * LEAST_IDENTITIES);
    c->identities = tags / MOST_NUMBERS;
    if (c->identities < LEAST_IDENTITIES) c->identities = LEAST_IDENTITIES;
    c->numbers = tags / c->identities;
    c->depth = depth > 0 ? depth : TUTTI_COMM_DEPTH;
    if (c->depth > c->numbers) c->depth = c->numbers;
    return TUTTI_OK;
}

static tutti_status open_lanes(tutti_comm *c)
{
    c->lane = calloc((size_t)c->lanes, sizeof *c->lane);
    for (int i = 0; c->lane && i < c->lanes; i++) {
        c->lane[i].live = calloc((size_t)c->depth, 1);
        if (!c->lane[i].live)
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d lanes", c->lanes);
    }
    return c->lane ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d lanes", c->lanes);
}

static tutti_status open_prices(tutti_comm *c, const tutti_comm_options *options)
{
    const tutti_transport *t = c->transport;
    if (!options->topology)
        return tutti_fail(TUTTI_ERR_INVAL, "algorithm 'priced' without a topology");
    return tutti_priced_new(options->topology, t->size, options->of, t->host, &c->priced);
}

static tutti_status take_shared(void *ctx, size_t bytes, void **memory)
{
    tutti_transport *t = ctx;
    return t->ops->take_memory(t, bytes, memory);
}

static void give_shared(void *ctx, void *memory)
{
    tutti_transport *t = ctx;
    t->ops->give_memory(t, memory);
}

static tutti_status open_received(tutti_comm *c)
{
    const tutti_pool_source source = {c->transport, take_shared, give_shared};
    c->received = c->pool;
    if (!c->transport->ops->take_memory) return TUTTI_OK;
    c->received = NULL;
    return tutti_pool_new_from(&source, &c->received);
}

tutti_status tutti_comm_new(
    tutti_transport *transport, const tutti_comm_options *options, tutti_comm **comm)
{
    const char *name = options ? options->algorithm : NULL;
    const tutti_algorithm *algorithm = tutti_algorithm_find(name);
    tutti_status status;
    char known[256];
    tutti_comm *c = calloc(1, sizeof *c);
    if (!c) {
        transport->ops->close(transport);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a communicator");
    }
    c->transport = transport;
    c->algorithm = algorithm;
    c->radix = tutti_algorithm_radix(name);
    c->rules = options ? options->rules : NULL;
    c->credit = options && options->credit > 0 ? options->credit : TUTTI_COMM_CREDIT;
    c->lanes = options && options->lanes > 0 ? options->lanes : transport->lanes;
    c->aside = options ? options->aside : 0;
    if (!algorithm)
        status = tutti_fail(TUTTI_ERR_USAGE, "unknown algorithm '%s'; known: %s", name,
            tutti_algorithm_names(known, sizeof known));
    else if (!algorithm->build[TUTTI_ALLREDUCE] &&
             (!transport->ops->collective || tutti_transport_takes_device(transport)))
        status = tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "algorithm '%s' needs the transport 'mpi'; '%s'%s does not provide collectives", name,
            transport->ops->name,
            tutti_transport_takes_device(transport) ? " in the memory of GPUs" : "");
    else if (c->lanes > transport->lanes)
        status = tutti_fail(
            TUTTI_ERR_INVAL, "%d lanes over a transport with %d", c->lanes, transport->lanes);
    else
        status = partition_tags(c, options ? options->depth : 0);
    if (!status && tutti_algorithm_file(name))
        status = tutti_algorithm_read(name, transport->size, &c->forest, &(uint64_t){0});
    if (!status) status = open_lanes(c);
    if (!status) status = tutti_pool_new(&c->pool);
    if (!status) status = open_received(c);
    if (!status) status = tutti_cache_new(&c->cache);
    if (!status && algorithm->prices) status = open_prices(c, options);
    if (status) {
        tutti_comm_free(c);
        return status;
    }
    *comm = c;
    return TUTTI_OK;
}

void tutti_comm_free(tutti_comm *comm)
{
    if (!comm) return;
    if (!comm->oldest) {
        tutti_cache_free(comm->cache);
        tutti_priced_free(comm->priced);
        if (comm->received != comm->pool) tutti_pool_free(comm->received);
        tutti_pool_free(comm->pool);
        tutti_forest_free(comm->forest);
    }
    comm->transport->ops->close(comm->transport);
    for (int i = 0; comm->lane && i < comm->lanes; i++) free(comm->lane[i].live);
    free(comm->lane);
    free(comm);
}

void tutti_comm_abandon(tutti_comm *comm)
{
    comm->transport->abandoned = 1;
}

int tutti_comm_rank(const tutti_comm *comm)
{
    return comm->transport->rank;
}

int tutti_comm_size(const tutti_comm *comm)
{
    return comm->transport->size;
}

int tutti_comm_lanes(const tutti_comm *comm)
{
    return comm->lanes;
}

pthread_mutex_t *tutti_comm_lock(const tutti_comm *comm)
{
    return comm->transport->lock;
}

int tutti_comm_shares_slots(const tutti_comm *comm)
{
    return comm->transport->shares_slots;
}

int tutti_comm_is_severed(const tutti_comm *comm)
{
    return atomic_load(&comm->transport->severed);
}

int tutti_comm_edges_aside(const tutti_comm *comm)
{
    return comm->transport->edges_aside;
}

int64_t tutti_comm_posted(const tutti_comm *comm, int lane)
{
    return comm->lane[lane].posted;
}

int tutti_comm_tags_messages(const tutti_comm *comm, const tutti_coll_args *args)
{
    return args->memory != TUTTI_MEMORY_DEVICE ||
           (comm->transport->arithmetic && !comm->transport->shares_slots);
}

int tutti_comm_has_room(const tutti_comm *comm, int lane)
{
    const tutti_comm_lane *l = &comm->lane[lane];
    return l->posted - l->oldest < comm->depth;
}

tutti_coll_work tutti_comm_work(const tutti_comm *comm)
{
    return comm->work;
}

void *tutti_comm_take_memory(tutti_comm *comm, size_t bytes)
{
    tutti_transport *t = comm->transport;
    void *memory;
    if (!t->ops->take_memory || t->ops->take_memory(t, bytes, &memory)) return NULL;
    return memory;
}

void tutti_comm_give_memory(tutti_comm *comm, void *memory)
{
    comm->transport->ops->give_memory(comm->transport, memory);
}

int tutti_comm_wait(tutti_comm *comm, pthread_mutex_t *lock, double timeout_s)
{
    tutti_transport *t = comm->transport;
    if (!t->ops->wait || t->arithmetic || t->device_collectives) return 0;
    return t->ops->wait(t, lock, timeout_s);
}

void tutti_comm_wake(tutti_comm *comm)
{
    if (comm->transport->ops->wake) comm->transport->ops->wake(comm->transport);
}

const tutti_transport *tutti_comm_transport(const tutti_comm *comm)
{
    return comm->transport;
}

void tutti_comm_count(tutti_comm *comm, tutti_transport_counts *counts)
{
    *counts = (tutti_transport_counts){0};
    if (comm->transport->ops->count) comm->transport->ops->count(comm->transport, counts);
}

static size_t bytes_of(const tutti_coll_args *a)
{
    return (size_t)a->count * tutti_dtype_bytes(a->dtype);
}

int tutti_comm_can_claim(const tutti_comm *c, const tutti_coll_args *a)
{
    const tutti_transport *t = c->transport;
    return t->ops->claim && t->rank == 0 && a->kind == TUTTI_MESSAGE &&
           bytes_of(a) > t->small_bytes;
}

void *tutti_comm_claim(tutti_comm *c, int lane, int64_t number, const tutti_coll_args *a)
{
    tutti_transport *t = c->transport;
    const tutti_comm_lane *l = &c->lane[lane];
    const int fits = number >= l->posted && number - l->oldest < c->depth;
    if (!fits || !tutti_comm_can_claim(c, a)) return NULL;
    return t->ops->claim(t, lane, 1, tutti_comm_tag(c, number, a->identity), bytes_of(a));
}

void tutti_comm_wrote(tutti_comm *c, int lane, int64_t number, const tutti_coll_args *a)
{
    c->transport->ops->wrote(c->transport, lane, 1, tutti_comm_tag(c, number, a->identity));
}
