#include "collectives/check_args.h"
#include "collectives/comm_parts.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <sched.h>

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
    if (r->in_flight) tutti_flight_prefetch_steps(r->flight);
    if (r->awake || !r->in_flight) return;
    r->awake = 1;
    r->behind = NULL;
    r->before = c->last_awake;
    *(c->last_awake ? &c->last_awake->behind : &c->first_awake) = r;
    c->last_awake = r;
}

static void prefetch_request(void *request)
{
    tutti_flight_prefetch(((const tutti_coll_request *)request)->flight);
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
    plan.tag = tutti_comm_tag(c, r->number, a->identity);
    r->watcher = (tutti_watcher){wake_request, r, prefetch_request};
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
    int tag = tutti_comm_tag(c, r->number, r->args.identity);
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
    tutti_comm_lane *l = &c->lane[lane];
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
    const tutti_coll_args a = tutti_coll_normalize_args(args, here);
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
    if (lane < 0 || lane >= comm->lanes)
        return tutti_fail(TUTTI_ERR_INVAL, "lane %d of a communicator with %d", lane, comm->lanes);
    tutti_status status = tutti_coll_check_args(comm->transport, args);
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
    r->args = tutti_coll_normalize_args(args, r->here);
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
    if (t->ops->sweep && comm->aside) t->ops->sweep(t, comm->aside, 1);
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
