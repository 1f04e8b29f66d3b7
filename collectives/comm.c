#include "collectives/coll.h"

#include "collectives/buf/buf.h"
#include "collectives/cache.h"
#include "collectives/choose.h"
#include "collectives/engine.h"
#include "collectives/priced.h"
#include "collectives/rules.h"
#include "collectives/sched/forest.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <sched.h>
#include <stdlib.h>

/* The collectives of one lane. A collective is live from its post until all its messages have
 * ended. */
typedef struct lane_state {
    int64_t posted;      /* so far; the number of the next one */
    int64_t oldest;      /* none before this number is live */
    unsigned char *live; /* [depth] by number */
} lane_state;

struct tutti_comm {
    tutti_transport *transport;
    int lanes; /* the first of the transport's */
    const tutti_algorithm *algorithm;
    int radix;            /* of its trees */
    tutti_forest *forest; /* of its file, which its schedules go along; NULL: it has none */
    const tutti_rules *rules;
    tutti_priced *priced; /* NULL: it does not choose by price */
    int warned;           /* of rules whose algorithm cannot do something */
    tutti_pool *pool;
    tutti_pool *
        received; /* what other ranks write to; where the transport has no such memory, it is `pool` */
    tutti_cache *cache;
    int64_t identities, numbers; /* the transport's tags are their product */
    /* only this many numbers, from the oldest live one of a lane on, may be live */
    int64_t depth;
    int credit;       /* of the flights */
    lane_state *lane; /* [lanes] */
    tutti_coll_work work;
    tutti_coll_request *oldest, *newest; /* in flight */
    tutti_coll_request *first_awake, *last_awake;
    tutti_coll_request *first_moved, **last_moved; /* in the last progress */
};

struct tutti_coll_request {
    /* What a message that ends touches comes first. In the list of those that progress looks at: all but those that
     * nothing advances before the watcher is called */
    tutti_comm *comm;
    tutti_coll_request *before, *behind;
    int awake, news; /* news: it was called */
    tutti_status status;
    int done;
    tutti_watcher watcher;
    int64_t moves; /* passes that advanced it */
    tutti_coll_request *moved;
    int64_t label;
    tutti_coll_request *older, *newer; /* while in flight */
    tutti_coll_args args;
    int lane;
    int64_t number; /* on its lane */
    /* The transport's message: the collective's device slot, until all its partners have one; or, with `whole`, the
     * MPI library's own collective. NULL: neither */
    tutti_message *message;
    tutti_device_call *call; /* a library's own, in device memory; NULL: none */
    int whole;               /* it is a library's own */
    tutti_cache_entry *entry;
    tutti_flight *flight;
    int in_flight;
    int orphan;            /* its post has failed half-way: the drain frees it */
    unsigned char here[2]; /* a barrier's IN and OUT */
};

/* ---- opening ---- */

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

int tutti_comm_has_room(const tutti_comm *comm, int lane)
{
    const lane_state *l = &comm->lane[lane];
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

/* The tag of a collective's messages is its number on the lane, and bits of its identity: messages
 * of two collectives match only if they agree in both. Numbers wrap around, but
 *
 *   two live collectives of a lane never share a tag:
 *   oldest <= number < oldest + depth holds for every live one (tutti_coll_post refuses any other),
 *   and depth <= numbers: two live ones differ in number % numbers, and with that in their tags.
 *
 * This suffices for correct sums, whatever other ranks have in flight. Let c and d share a tag, c
 * before d. On each rank c has ended when d is posted, so all of c's messages are posted before any
 * of d's, and c sends as many from p to q as q receives (collectives/sched/match). The k-th message
 * sent on (lane, peer, tag) matches the k-th receive (collectives/transport/transport.h; in MPI,
 * messages do not overtake): c's messages match c's receives. */
static int tag_of(const tutti_comm *c, int64_t number, uint32_t identity)
{
    return (int)(number % c->numbers * c->identities + identity % c->identities);
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
    const lane_state *l = &c->lane[lane];
    const int fits = number >= l->posted && number - l->oldest < c->depth;
    if (!fits || !tutti_comm_can_claim(c, a)) return NULL;
    return t->ops->claim(t, lane, 1, tag_of(c, number, a->identity), bytes_of(a));
}

void tutti_comm_wrote(tutti_comm *c, int lane, int64_t number, const tutti_coll_args *a)
{
    c->transport->ops->wrote(c->transport, lane, 1, tag_of(c, number, a->identity));
}

static tutti_status check_operator(const tutti_coll_args *a)
{
    int own = a->op >= TUTTI_USER_OP && a->op < TUTTI_USER_OPS_END && a->user && a->user->function;
    const char *kind = tutti_coll_kind_name(a->kind);
    if ((unsigned)a->dtype >= TUTTI_DTYPE_COUNT)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: unknown element type %d", kind, (int)a->dtype);
    if (a->kind == TUTTI_REDUCE_SCATTER && tutti_coll_is_whole(a))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the operator %s takes whole vectors, which are not divided into blocks", kind,
            a->user->name);
    if (!tutti_coll_trait_of(a->kind)->reduces || own) return TUTTI_OK;
    if (!tutti_reduce_op_takes(a->op, a->dtype) || a->user)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: the operator %s (%d) does not apply to %s", kind,
            tutti_reduce_op_name(a->op), (int)a->op, tutti_dtype_name(a->dtype));
    return TUTTI_OK;
}

/* Checks the counts of parts. *all: the elements of a buffer with all parts, or count without
 * counts. */
static tutti_status check_counts(const tutti_coll_args *a, int rank, int P, int64_t *all)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    int64_t sum[2] = {0, 0};
    *all = a->count;
    if (!a->counts) return TUTTI_OK;
    if (!tutti_coll_trait_of(a->kind)->parts)
        return tutti_fail(TUTTI_ERR_INVAL, "%s has no parts: it takes no counts", kind);
    for (int i = 0; i < tutti_coll_counts(a, P); i++)
        if (a->counts[i] < 0 || __builtin_add_overflow(sum[i / P], a->counts[i], &sum[i / P]))
            return tutti_fail(
                TUTTI_ERR_INVAL, "%s: count %d is %lld", kind, i, (long long)a->counts[i]);
    int64_t wanted = a->kind == TUTTI_ALLTOALL ? 0 : sum[0];
    if (a->count != wanted)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: the counts add up to %lld, but count is %lld", kind,
            (long long)wanted, (long long)a->count);
    if (a->kind == TUTTI_ALLTOALL && !a->out_of_place && (sum[0] || sum[1]))
        return tutti_fail(TUTTI_ERR_INVAL, "alltoall with counts cannot work in place");
    if (a->kind == TUTTI_ALLTOALL && a->counts[rank] != a->counts[P + rank])
        return tutti_fail(TUTTI_ERR_INVAL,
            "alltoall: rank %d sends itself %lld elements but receives %lld", rank,
            (long long)a->counts[rank], (long long)a->counts[P + rank]);
    *all = sum[0] > sum[1] ? sum[0] : sum[1];
    return TUTTI_OK;
}

static tutti_status check_extras(const tutti_coll_args *a)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    if (a->extras < 0 || a->extras > TUTTI_MOST_EXTRAS)
        return tutti_fail(TUTTI_ERR_INVAL, "%s of %d extra vectors: must be 0 to %d", kind,
            a->extras, TUTTI_MOST_EXTRAS);
    if (a->extras && !tutti_coll_trait_of(a->kind)->reduces)
        return tutti_fail(TUTTI_ERR_INVAL, "%s does not reduce: it takes no extra vectors", kind);
    if (a->extras && a->memory == TUTTI_MEMORY_DEVICE)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s of %d vectors in the memory of a GPU: combine them first", kind, a->extras + 1);
    for (int k = 0; k < a->extras && a->count; k++)
        if (!a->extra[k])
            return tutti_fail(TUTTI_ERR_INVAL, "%s: extra vector %d has no buffer", kind, k);
    return TUTTI_OK;
}

/* Checks that the device can combine elements with this operator. */
static tutti_status check_device(const tutti_comm *c, const tutti_coll_args *a)
{
    const tutti_transport *t = c->transport;
    const tutti_arithmetic *there = t->arithmetic;
    if (!there || !tutti_coll_trait_of(a->kind)->reduces) return TUTTI_OK;
    if (!a->user && there->ops->combines(there, a->dtype, a->op)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: the operator %s of %s in the memory of a GPU",
        tutti_coll_kind_name(a->kind), tutti_coll_op_name(a), tutti_dtype_name(a->dtype));
}

/* Checks whether this rank may post the collective at all. */
static tutti_status check_args(const tutti_comm *c, int lane, const tutti_coll_args *a)
{
    int rank = c->transport->rank, P = c->transport->size, lanes = c->lanes;
    if (lane < 0 || lane >= lanes)
        return tutti_fail(TUTTI_ERR_INVAL, "lane %d of a communicator with %d", lane, lanes);
    if ((unsigned)a->kind >= TUTTI_COLL_KINDS)
        return tutti_fail(TUTTI_ERR_INVAL, "unknown kind of collective: %d", (int)a->kind);
    if (a->kind == TUTTI_BARRIER) return TUTTI_OK;
    const char *kind = tutti_coll_kind_name(a->kind);
    if (a->kind == TUTTI_MESSAGE && P != 2)
        return tutti_fail(TUTTI_ERR_INVAL, "a message between %d ranks: must be 2", P);
    if (a->memory == TUTTI_MEMORY_DEVICE && !tutti_transport_takes_device(c->transport))
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "%s in the memory of a GPU, which the transport %s cannot reach", kind,
            c->transport->ops->name);
    int64_t bytes, all;
    tutti_status status = check_operator(a);
    if (!status) status = check_counts(a, rank, P, &all);
    if (!status) status = check_extras(a);
    if (!status && a->memory == TUTTI_MEMORY_DEVICE) status = check_device(c, a);
    if (status) return status;
    if (tutti_coll_trait_of(a->kind)->rooted && (a->root < 0 || a->root >= P))
        return tutti_fail(TUTTI_ERR_INVAL, "%s with root %d on %d ranks", kind, a->root, P);
    if (a->count < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "%s of %lld elements", kind, (long long)a->count);
    if (__builtin_mul_overflow(all, 2 * P * (int64_t)tutti_dtype_bytes(a->dtype), &bytes))
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s of %lld elements on %d ranks: too many bytes",
            kind, (long long)all, P);
    if (tutti_coll_recv_count(a, rank, P) && !a->recv)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s of %lld elements: recv is NULL", kind, (long long)a->count);
    if (tutti_coll_has_send(a, rank) && !a->send)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s of %lld elements: send is NULL", kind, (long long)a->count);
    if (tutti_coll_trait_of(a->kind)->sends && !a->out_of_place && a->send)
        return tutti_fail(TUTTI_ERR_INVAL, "%s in place, with a buffer to send", kind);
    return TUTTI_OK;
}

/* Sets the arguments that the kind ignores to fixed values: the schedule cache and transports rely on
 * them. */
static tutti_coll_args normalize_args(const tutti_coll_args *args, unsigned char here[2])
{
    tutti_coll_args a = *args;
    const tutti_coll_trait *trait = tutti_coll_trait_of(a.kind);
    if (a.kind == TUTTI_BARRIER)
        a = (tutti_coll_args){.kind = TUTTI_BARRIER,
            .dtype = TUTTI_U8,
            .op = TUTTI_MAX,
            .count = 1,
            .out_of_place = 1,
            .send = &here[0],
            .recv = &here[1],
            .identity = args->identity};
    if (!trait->rooted) a.root = 0;
    if (!trait->reduces && trait->data) a.user = NULL;
    if (a.kind == TUTTI_BROADCAST || a.kind == TUTTI_MESSAGE) a.out_of_place = 0;
    if (!a.out_of_place) a.send = NULL;
    return a;
}

/* Elements of the largest buffer of any rank, which determines the segment size; 0 for an alltoall
 * with counts. */
static int64_t largest_count(const tutti_coll_args *a, int P)
{
    return tutti_coll_trait_of(a->kind)->parts && !a->counts ? a->count * P : a->count;
}

/* Combines this rank's vectors: the transport's own collective takes one. */
static tutti_coll_args one_vector(const tutti_coll_args *args)
{
    tutti_coll_args a = *args;
    if (!a.extras) return a;
    if (a.out_of_place)
        tutti_buf_copy(a.recv, a.send, (size_t)a.count * tutti_dtype_bytes(a.dtype));
    for (int k = 0; k < a.extras; k++) {
        if (a.user)
            tutti_buf_reduce_user(a.user, a.dtype, a.recv, a.extra[k], a.count, 0);
        else
            tutti_buf_reduce(a.dtype, a.op, a.recv, a.extra[k], a.count, 0);
    }
    a.out_of_place = 0;
    a.send = NULL;
    a.extras = 0;
    return a;
}

/* Chooses by name, rules or price. *choice is the same on all ranks. */
static tutti_status choose(
    tutti_comm *c, const tutti_choice_key *key, int root, tutti_choice *choice)
{
    if (c->priced) return tutti_priced_choose(c->priced, key, root, choice);
    *choice = tutti_coll_choose(c->algorithm, key);
    if (choice->refused && !c->warned++ && c->transport->rank == 0)
        tutti_log(TUTTI_LOG_WARN,
            "the rules say %s for an operator that %s; it takes %s, as without rules",
            choice->refused->name, key->whole ? "takes whole vectors" : "does not commute",
            choice->algorithm->name);
    return TUTTI_OK;
}

/* Gets the schedule of a collective; NULL: it is a library's own. */
static tutti_status get_schedule(tutti_comm *c, const tutti_coll_args *a, tutti_cache_entry **entry)
{
    const tutti_transport *t = c->transport;
    const tutti_choice_key key = {.kind = a->kind,
        .P = t->size,
        .near = t->near,
        .count = largest_count(a, t->size),
        .element = tutti_dtype_bytes(a->dtype),
        .wide = tutti_coll_accumulator(a) != a->dtype,
        .ordered = !tutti_coll_commutes(a),
        .whole = tutti_coll_is_whole(a),
        .radix = c->radix,
        .rules = c->rules};
    tutti_choice choice;
    tutti_status status = choose(c, &key, a->root, &choice);
    if (status) return status;
    *entry = NULL;
    if (!choice.build || (a->memory == TUTTI_MEMORY_DEVICE && !t->arithmetic)) return TUTTI_OK;
    const tutti_sched_shape shape = {.kind = a->kind,
        .rank = t->rank,
        .P = t->size,
        .root = a->root,
        .count = a->count,
        .segment = choice.segment,
        .in_place = !a->out_of_place,
        .ordered = key.ordered,
        .wide = choice.wide,
        .extras = a->extras,
        .radix = choice.radix,
        .forest = c->forest,
        .host = t->host,
        .counts = a->counts};
    return tutti_cache_get(c->cache, choice.build, &shape, entry);
}

/* The plan of a flight, without lane and tag. */
static tutti_flight_plan plan_of(tutti_comm *c, const tutti_coll_args *a, const tutti_sched *sched)
{
    return (tutti_flight_plan){.transport = c->transport,
        .pool = c->pool,
        .received = c->received,
        .work = &c->work,
        .sched = sched,
        .args = a,
        .credit = c->credit};
}

/* Appends it to those that progress looks at, unless it is there. */
static void wake_request(void *request)
{
    tutti_coll_request *r = request;
    tutti_comm *c = r->comm;
    r->news = 1;
    if (r->awake || !r->in_flight) return;
    r->awake = 1;
    r->behind = NULL;
    r->before = c->last_awake;
    *(c->last_awake ? &c->last_awake->behind : &c->first_awake) = r;
    c->last_awake = r;
}

static void let_sleep(tutti_coll_request *r)
{
    tutti_comm *c = r->comm;
    if (!r->awake) return;
    *(r->before ? &r->before->behind : &c->first_awake) = r->behind;
    *(r->behind ? &r->behind->before : &c->last_awake) = r->before;
    r->awake = 0;
}

static tutti_status begin_request(tutti_coll_request *r)
{
    tutti_comm *c = r->comm;
    tutti_transport *t = c->transport;
    const tutti_coll_args *a = &r->args;
    tutti_status status = get_schedule(c, a, &r->entry);
    if (status) return status;
    if (!r->entry) {
        tutti_device_collectives *there = t->device_collectives;
        r->whole = 1;
        if (a->memory == TUTTI_MEMORY_DEVICE)
            return there->ops->start(there, t->device_lane + r->lane, a, &r->call);
        r->args = one_vector(a);
        return t->ops->collective(t, r->lane, a, &r->message);
    }
    tutti_flight_plan plan = plan_of(c, a, r->entry->sched);
    plan.lane = r->lane;
    plan.tag = tag_of(c, r->number, a->identity);
    r->watcher = (tutti_watcher){wake_request, r};
    plan.watcher = &r->watcher;
    status = tutti_flight_start(&plan, &r->flight);
    if (!status) r->done = tutti_flight_done(r->flight);
    return status;
}

/* Where lanes share device slots, a collective begins when all ranks have started it. */
static tutti_status start_request(tutti_coll_request *r)
{
    const tutti_comm *c = r->comm;
    tutti_transport *t = c->transport;
    int takes = t->ops->take_slot && t->size > 1;
    int tag = tag_of(c, r->number, r->args.identity);
    tutti_status status = takes ? t->ops->take_slot(t, r->lane, tag, NULL, &r->message) : TUTTI_OK;
    return status || r->message ? status : begin_request(r);
}

/* *moved: whether it has left its device slot and begun, or has ended. */
static tutti_status test_message(tutti_coll_request *r, int *moved)
{
    tutti_transport *t = r->comm->transport;
    tutti_status status = t->ops->test(t, r->message, moved);
    if (*moved) r->message = NULL;
    return status || !*moved || r->whole ? status : begin_request(r);
}

static tutti_status test_call(tutti_coll_request *r, int cancels, int *done)
{
    tutti_device_collectives *there = r->comm->transport->device_collectives;
    if (cancels) there->ops->cancel(there);
    tutti_status status = there->ops->test(there, r->call, done);
    if (*done) r->call = NULL;
    return status;
}

static tutti_status advance_request(tutti_coll_request *r, int *moved)
{
    if (r->call) return test_call(r, 0, moved);
    return r->message ? test_message(r, moved) : tutti_flight_progress(r->flight, moved);
}

static int has_ended(const tutti_coll_request *r)
{
    return !r->status && !r->message && !r->call && (r->whole || tutti_flight_done(r->flight));
}

/* Moves `oldest` past all that have ended. */
static void move_oldest(tutti_comm *c, int lane)
{
    lane_state *l = &c->lane[lane];
    while (l->oldest < l->posted && !l->live[l->oldest % c->depth]) l->oldest++;
}

static void add_in_flight(tutti_coll_request *r)
{
    tutti_comm *c = r->comm;
    r->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = r;
    c->newest = r;
    c->lane[r->lane].live[r->number % c->depth] = 1;
    r->in_flight = 1;
    wake_request(r);
}

static void remove_in_flight(tutti_coll_request *r)
{
    tutti_comm *c = r->comm;
    if (!r->in_flight) return;
    *(r->older ? &r->older->newer : &c->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &c->newest) = r->older;
    r->in_flight = 0;
    let_sleep(r);
    c->lane[r->lane].live[r->number % c->depth] = 0;
    move_oldest(c, r->lane);
}

/* After a failed post: what has started stays live until it is drained. */
static void fail_post(tutti_coll_request *r, tutti_status status)
{
    r->status = status;
    r->orphan = r->flight || r->message || r->call;
    if (r->orphan)
        add_in_flight(r);
    else
        tutti_coll_free(r);
}

tutti_status tutti_comm_prepare(tutti_comm *comm, const tutti_coll_args *args, size_t *bytes)
{
    unsigned char here[2];
    const tutti_coll_args a = normalize_args(args, here);
    tutti_cache_entry *entry;
    *bytes = 0;
    tutti_status status = get_schedule(comm, &a, &entry);
    if (status || !entry) return status;
    const tutti_flight_plan plan = plan_of(comm, &a, entry->sched);
    status = tutti_flight_prepare(&plan, bytes);
    tutti_cache_drop(entry);
    return status;
}

tutti_status tutti_coll_post(
    tutti_comm *comm, int lane, const tutti_coll_args *args, tutti_coll_request **request)
{
    tutti_status status = check_args(comm, lane, args);
    if (status) return status;
    if (!tutti_comm_has_room(comm, lane))
        return tutti_fail(TUTTI_ERR_INVAL,
            "lane %d: collective %lld comes before number %lld has ended: at most %lld may be in "
            "flight",
            lane, (long long)comm->lane[lane].posted, (long long)comm->lane[lane].oldest,
            (long long)comm->depth);
    void *block;
    status = tutti_pool_take(comm->pool, sizeof **request, &block);
    if (status) return status;
    tutti_coll_request *r = block;
    *r = (tutti_coll_request){.comm = comm, .lane = lane, .number = comm->lane[lane].posted++};
    r->args = normalize_args(args, r->here);
    status = start_request(r);
    if (status) {
        fail_post(r, status);
        return status;
    }
    if (r->done)
        move_oldest(comm, lane);
    else
        add_in_flight(r);
    *request = r;
    return TUTTI_OK;
}

/* Whether nothing advances it before its watcher is called. */
static int is_quiet(const tutti_coll_request *r)
{
    return r->flight && !r->message && !r->status && tutti_flight_is_quiet(r->flight);
}

static void add_moved(tutti_coll_request *r)
{
    r->moved = NULL;
    *r->comm->last_moved = r;
    r->comm->last_moved = &r->moved;
}

tutti_status tutti_coll_progress(tutti_comm *comm, int *moved)
{
    tutti_status first = TUTTI_OK;
    int any = 0;
    comm->first_moved = NULL;
    comm->last_moved = &comm->first_moved;
    for (tutti_coll_request *r = comm->first_awake, *behind; r; r = behind) {
        int one = 0;
        r->news = 0;
        if (!r->status) r->status = advance_request(r, &one);
        r->moves += one != 0;
        any |= one;
        r->done = has_ended(r);
        if (!first) first = r->status;
        behind = r->behind;
        if (one || r->done) add_moved(r);
        if (r->done)
            remove_in_flight(r);
        else if (!r->news && is_quiet(r))
            let_sleep(r);
    }
    if (moved) *moved = any;
    return first;
}

/* After a failure: gives up a device slot, or cancels a library's collective. Returns whether it must be called
 * again. */
static int drain_message(tutti_coll_request *r)
{
    tutti_transport *t = r->comm->transport;
    int done = 0;
    if (r->call) (void)test_call(r, 1, &done);
    if (!r->message) return r->call != NULL;
    t->ops->cancel(t, r->message);
    (void)t->ops->test(t, r->message, &done); /* a further failure no longer matters */
    if (done) r->message = NULL;
    return !done;
}

int tutti_comm_drain(tutti_comm *comm)
{
    tutti_transport *t = comm->transport;
    int left = 0;
    t->abandoned = 1;
    for (tutti_coll_request *r = comm->oldest, *newer; r; r = newer) {
        newer = r->newer;
        int busy = drain_message(r) || (r->flight && tutti_flight_drain(r->flight));
        left += busy;
        if (r->orphan && !busy) tutti_coll_free(r);
    }
    if (t->ops->sweep) t->ops->sweep(t, 0, comm->lanes);
    return !left;
}

int tutti_coll_done(const tutti_coll_request *request)
{
    return request->done;
}

tutti_coll_request *tutti_coll_first_moved(const tutti_comm *comm)
{
    return comm->first_moved;
}

tutti_coll_request *tutti_coll_next_moved(const tutti_coll_request *request)
{
    return request->moved;
}

void tutti_coll_set_label(tutti_coll_request *request, int64_t label)
{
    request->label = label;
}

int64_t tutti_coll_label(const tutti_coll_request *request)
{
    return request->label;
}

int64_t tutti_coll_moves(const tutti_coll_request *request)
{
    return request->moves;
}

static tutti_status fail_late(const tutti_coll_request *r, double timeout_s)
{
    char peers[512] = "all ranks to start it";
    if (r->flight) tutti_flight_waits_for(r->flight, peers, sizeof peers);
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "%s of %lld elements, number %lld on lane %d, did not end within %g s; waits for %s",
        tutti_coll_kind_name(r->args.kind), (long long)r->args.count, (long long)r->number, r->lane,
        timeout_s, peers);
}

tutti_status tutti_coll_wait(tutti_comm *comm, tutti_coll_request *request, double timeout_s)
{
    /* Waiting inside MPI would spin. Idle turns yield the core instead, then sleep longer and
     * longer. */
    enum { YIELDS = 64 };
    const double first_sleep_s = 1e-6, longest_sleep_s = 100e-6;
    double start_s = tutti_clock_s(), sleep_s = first_sleep_s;
    for (int idle = 0; !request->done && !request->status;) {
        int moved;
        tutti_status status = tutti_coll_progress(comm, &moved);
        if (status) return status;
        if (moved) {
            idle = 0;
            sleep_s = first_sleep_s;
        } else if (idle++ < YIELDS) {
            sched_yield();
        } else {
            tutti_clock_sleep(sleep_s);
            sleep_s = 2 * sleep_s < longest_sleep_s ? 2 * sleep_s : longest_sleep_s;
        }
        if (!request->done && tutti_clock_s() - start_s > timeout_s)
            return fail_late(request, timeout_s);
    }
    return request->status;
}

void tutti_coll_free(tutti_coll_request *request)
{
    if (!request) return;
    remove_in_flight(request);
    tutti_transport *t = request->comm->transport;
    if (request->message) t->ops->abandon(t, request->message);
    if (request->call) (void)test_call(request, 1, &(int){0});
    tutti_flight_free(request->flight);
    tutti_cache_drop(request->entry);
    tutti_pool_give(request->comm->pool, request);
}
