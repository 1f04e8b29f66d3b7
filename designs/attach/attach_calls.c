/* The collectives of a session. */
#include "designs/attach/attach.h"

#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call. send NULL, or equal to recv: in place. Either is NULL if this rank has none. */
typedef struct request {
    tutti_session *session;
    const char *function;
    tutti_handle send, recv;
    const int64_t *counts, *recv_counts; /* recv_counts: of an alltoall */
    int counted;                         /* the call takes counts */
    int several;                         /* each element holds several values (tutti_several) */
    int priority;
    int rank, size; /* among the ranks that take part */
    tutti_coll_args args;
    const tutti_handle
        *vectors;   /* [1 + args.extras] of a call that takes several; send is the first */
    char what[160]; /* "tutti_allreduce of "fc.weight"" */
} request;

static tutti_handle main_handle(const request *r)
{
    return r->recv ? r->recv : r->send;
}

static const char *given_name(const request *r)
{
    return main_handle(r) ? tutti_names_find(r->session->names, main_handle(r)) : NULL;
}

static tutti_status begin(request *r)
{
    tutti_status status = tutti_session_enter(r->session, r->function);
    if (status) return status;
    const char *name = given_name(r);
    r->rank = r->session->rank;
    r->size = r->session->size;
    r->args.group = r->session->group;
    r->several = r->args.dtype & TUTTI_SEVERAL;
    r->args.dtype = tutti_handle_dtype(r->args.dtype);
    if (!r->session->group)
        r->priority = tutti_priorities_find(&r->session->priorities, main_handle(r));
    snprintf(r->what, sizeof r->what, name ? "%s of \"%s\"" : "%s", r->function, name);
    return TUTTI_OK;
}

static tutti_status check_operator(request *r)
{
    tutti_coll_args *a = &r->args;
    if (!tutti_coll_trait_of(a->kind)->reduces) return TUTTI_OK;
    a->user = tutti_operators_find(&r->session->whole->operators, a->op);
    if (a->user) return TUTTI_OK;
    if ((unsigned)a->op >= TUTTI_REDUCE_OPS)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: unknown operator %d (see tutti/op.h and tutti_operator)", r->what, (int)a->op);
    if ((unsigned)a->dtype < TUTTI_DTYPE_COUNT && !tutti_reduce_op_takes(a->op, a->dtype))
        return tutti_fail(TUTTI_ERR_INVAL, "%s: the operator %s does not go with %s (tutti/op.h)",
            r->what, tutti_reduce_op_name(a->op), tutti_dtype_name(a->dtype));
    return TUTTI_OK;
}

/* Checks the vectors of a call that takes several. */
static tutti_status check_vectors(const request *r)
{
    int extras = r->args.extras;
    if (extras < 0 || extras > TUTTI_MOST_EXTRAS)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: %d vectors: pass 1 to %d", r->what, extras + 1,
            1 + TUTTI_MOST_EXTRAS);
    for (int k = 0; k <= extras && (extras || r->vectors); k++)
        if (!r->vectors || !r->vectors[k])
            return tutti_fail(TUTTI_ERR_INVAL, "%s: vector %d is NULL", r->what, k);
    for (int k = 1; k <= extras; k++)
        if (r->vectors[k] == r->recv)
            return tutti_fail(TUTTI_ERR_INVAL,
                "%s: recv is also vector %d: only vector 0 can be in place", r->what, k);
    return TUTTI_OK;
}

/* The counts in the form of tutti_coll_args, those of an alltoall one after the other; the caller frees *all. */
static tutti_status take_counts(request *r, int64_t **all)
{
    int P = r->size, alltoall = r->args.kind == TUTTI_ALLTOALL;
    size_t part = (size_t)P * sizeof **all;
    *all = NULL;
    if (!r->counted) return TUTTI_OK;
    if (!r->counts || (alltoall && !r->recv_counts))
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: counts is NULL: pass one count for each rank", r->what);
    int64_t *counts = malloc(2 * part), sum = 0;
    if (!counts) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory", r->what);
    memcpy(counts, r->counts, part);
    memcpy(counts + P, alltoall ? r->recv_counts : r->counts, part);
    *all = counts;
    for (int i = 0; i < 2 * P; i++) {
        if (counts[i] < 0 || __builtin_add_overflow(i == P ? 0 : sum, counts[i], &sum))
            return tutti_fail(
                TUTTI_ERR_INVAL, "%s: the count of rank %d is %" PRId64, r->what, i % P, counts[i]);
    }
    int rank = r->rank;
    if (counts[rank] != counts[P + rank])
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: this rank sends %" PRId64 " elements to itself and receives %" PRId64, r->what,
            counts[rank], counts[P + rank]);
    r->args.counts = counts;
    r->args.count = alltoall ? 0 : sum;
    return TUTTI_OK;
}

/* Counts the elements of a handle's data; wanted below 0: any number. */
static tutti_status count_elements(
    const request *r, tutti_handle data, int reads, int64_t wanted, int64_t *count)
{
    int moves = !tutti_coll_trait_of(r->args.kind)->reduces;
    const tutti_handle_use use = {r->what, (tutti_dtype)(r->args.dtype | r->several), reads, moves};
    tutti_status status = tutti_handle_count(data, &use, count);
    if (status || wanted < 0 || wanted == *count) return status;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: %s has %" PRId64 " elements, not %" PRId64, r->what,
        data == r->recv ? "recv" : "send", *count, wanted);
}

/* Without counts, every rank's length follows from a handle, which holds one part or all parts. */
static tutti_status derive_count(request *r, tutti_handle data, int all_parts)
{
    int64_t elements;
    int size = r->size;
    tutti_status status = count_elements(r, data, 0, -1, &elements);
    if (status) return status;
    if (all_parts && elements % size)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: %" PRId64 " elements do not divide into equal parts for %d ranks", r->what,
            elements, size);
    r->args.count = all_parts ? elements / size : elements;
    return TUTTI_OK;
}

/* Checks which handles this rank has, and their numbers of elements. */
static tutti_status check_handles(request *r)
{
    tutti_coll_args *a = &r->args;
    int rank = r->rank, size = r->size, in_place = !a->out_of_place;
    int has_recv = tutti_coll_has_recv(a, rank), has_send = tutti_coll_has_send(a, rank);
    if ((has_recv && !r->recv) || (has_send && !r->send))
        return tutti_fail(TUTTI_ERR_INVAL, "%s: %s is NULL", r->what,
            in_place               ? "the handle"
            : has_recv && !r->recv ? "recv"
                                   : "send");
    if (!has_recv) r->recv = NULL;
    if (!has_send) r->send = NULL;
    int parts = tutti_coll_trait_of(a->kind)->parts;
    int from_send = a->kind == TUTTI_ALLGATHER || a->kind == TUTTI_GATHER;
    int one_part = !in_place && a->kind != TUTTI_ALLTOALL;
    tutti_status status = TUTTI_OK;
    if (!r->counted)
        status = derive_count(r, from_send && !in_place ? r->send : r->recv, parts && !one_part);
    int reads = tutti_coll_reads_recv(a, rank);
    int64_t ignored;
    if (!status && has_recv)
        status = count_elements(r, r->recv, reads, tutti_coll_recv_count(a, rank, size), &ignored);
    if (!status && has_send)
        status = count_elements(r, r->send, 1, tutti_coll_send_count(a, rank, size), &ignored);
    for (int k = 1; k <= a->extras && !status; k++)
        status = count_elements(r, r->vectors[k], 1, a->count, &ignored);
    return status;
}

/* The node's descriptor: arguments, followed by counts. */
static tutti_status submit(request *r)
{
    tutti_coll_args *a = &r->args;
    /* A barrier leaves the value as it is: to write alone would discard it where it is in another memory. */
    int handles = 0, reads = a->kind == TUTTI_BARRIER || tutti_coll_reads_recv(a, r->rank);
    int message = a->kind == TUTTI_MESSAGE;
    size_t counts = (size_t)tutti_coll_counts(a, r->size) * sizeof *a->counts;
    tutti_handle handle[2 + TUTTI_MOST_EXTRAS];
    tutti_mode mode[2 + TUTTI_MOST_EXTRAS];
    if (r->recv) {
        handle[handles] = r->recv;
        mode[handles++] = !reads ? TUTTI_WRITE : message ? TUTTI_READ : TUTTI_READWRITE;
    }
    if (r->send) {
        handle[handles] = r->send;
        mode[handles++] = TUTTI_READ;
    }
    for (int k = 1; k <= a->extras; k++) {
        handle[handles] = r->vectors[k];
        mode[handles++] = TUTTI_READ;
    }
    char *desc = malloc(sizeof *a + counts);
    if (!desc) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory", r->what);
    memcpy(desc, a, sizeof *a);
    if (counts) memcpy(desc + sizeof *a, a->counts, counts);
    const char *name = given_name(r);
    const tutti_insert_node node = {.name = name ? name : tutti_coll_kind_name(a->kind),
        .desc = desc,
        .desc_bytes = sizeof *a + counts,
        .priority = r->priority,
        .brief = message && !tutti_exchange_design(r->session->exchange)->start->at_once,
        .chain = a->group};
    tutti_status status = tutti_insert_collective(r->session->insert, &node, handles, handle, mode);
    free(desc);
    return status;
}

static tutti_status insert(request r)
{
    int64_t *counts = NULL;
    tutti_status status = begin(&r);
    if (status) return status;
    int in_place = r.send == r.recv || !tutti_coll_trait_of(r.args.kind)->sends;
    if (in_place) r.send = NULL;
    r.args.out_of_place = !in_place;
    status = check_operator(&r);
    if (!status) status = check_vectors(&r);
    if (!status && (r.args.root < 0 || r.args.root >= r.size))
        status =
            tutti_fail(TUTTI_ERR_INVAL, "%s: root %d of %d ranks", r.what, r.args.root, r.size);
    if (!status && in_place && r.counted && r.args.kind == TUTTI_ALLTOALL)
        status = tutti_fail(TUTTI_ERR_INVAL, "%s: send and recv are the same handle", r.what);
    if (!status) status = take_counts(&r, &counts);
    if (!status) status = check_handles(&r);
    if (!status) status = submit(&r);
    free(counts);
    return status;
}

tutti_status tutti_allreduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op)
{
    return insert((request){session, "tutti_allreduce", data, data,
        .args = {.kind = TUTTI_ALLREDUCE, .dtype = dtype, .op = op}});
}

tutti_status tutti_allreduce_to(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op)
{
    return insert((request){session, "tutti_allreduce_to", send, recv,
        .args = {.kind = TUTTI_ALLREDUCE, .dtype = dtype, .op = op}});
}

tutti_status tutti_allreduce_vectors(tutti_session *session, int vectors, const tutti_handle send[],
    tutti_handle recv, tutti_dtype dtype, tutti_reduce_op op)
{
    int first = send && vectors > 0;
    return insert(
        (request){session, "tutti_allreduce_vectors", first ? send[0] : NULL, recv, .vectors = send,
            .args = {.kind = TUTTI_ALLREDUCE, .dtype = dtype, .op = op, .extras = vectors - 1}});
}

tutti_status tutti_broadcast(tutti_session *session, tutti_handle data, tutti_dtype dtype, int root)
{
    return insert((request){session, "tutti_broadcast", data, data,
        .args = {.kind = TUTTI_BROADCAST, .dtype = dtype, .root = root}});
}

tutti_status tutti_reduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op, int root)
{
    return insert((request){session, "tutti_reduce", data, data,
        .args = {.kind = TUTTI_REDUCE, .dtype = dtype, .op = op, .root = root}});
}

tutti_status tutti_reduce_to(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op, int root)
{
    return insert((request){session, "tutti_reduce_to", send, recv,
        .args = {.kind = TUTTI_REDUCE, .dtype = dtype, .op = op, .root = root}});
}

tutti_status tutti_reduce_scatter(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op)
{
    return insert((request){session, "tutti_reduce_scatter", data, data,
        .args = {.kind = TUTTI_REDUCE_SCATTER, .dtype = dtype, .op = op}});
}

tutti_status tutti_reduce_scatter_to(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op)
{
    return insert((request){session, "tutti_reduce_scatter_to", send, recv,
        .args = {.kind = TUTTI_REDUCE_SCATTER, .dtype = dtype, .op = op}});
}

tutti_status tutti_scan(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op)
{
    return insert((request){
        session, "tutti_scan", send, recv, .args = {.kind = TUTTI_SCAN, .dtype = dtype, .op = op}});
}

tutti_status tutti_allgather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype)
{
    return insert((request){
        session, "tutti_allgather", send, recv, .args = {.kind = TUTTI_ALLGATHER, .dtype = dtype}});
}

tutti_status tutti_allgatherv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[])
{
    return insert((request){session, "tutti_allgatherv", send, recv, counts, .counted = 1,
        .args = {.kind = TUTTI_ALLGATHER, .dtype = dtype}});
}

tutti_status tutti_gather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype, int root)
{
    return insert((request){session, "tutti_gather", send, recv,
        .args = {.kind = TUTTI_GATHER, .dtype = dtype, .root = root}});
}

tutti_status tutti_gatherv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[], int root)
{
    return insert((request){session, "tutti_gatherv", send, recv, counts, .counted = 1,
        .args = {.kind = TUTTI_GATHER, .dtype = dtype, .root = root}});
}

tutti_status tutti_scatter(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype, int root)
{
    return insert((request){session, "tutti_scatter", send, recv,
        .args = {.kind = TUTTI_SCATTER, .dtype = dtype, .root = root}});
}

tutti_status tutti_scatterv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[], int root)
{
    return insert((request){session, "tutti_scatterv", send, recv, counts, .counted = 1,
        .args = {.kind = TUTTI_SCATTER, .dtype = dtype, .root = root}});
}

tutti_status tutti_alltoall(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype)
{
    return insert((request){
        session, "tutti_alltoall", send, recv, .args = {.kind = TUTTI_ALLTOALL, .dtype = dtype}});
}

tutti_status tutti_alltoallv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t send_counts[], const int64_t recv_counts[])
{
    return insert((request){session, "tutti_alltoallv", send, recv, send_counts, recv_counts, 1,
        .args = {.kind = TUTTI_ALLTOALL, .dtype = dtype}});
}

tutti_status tutti_barrier(tutti_session *session, tutti_handle data)
{
    request r = {.session = session,
        .function = "tutti_barrier",
        .recv = data,
        .args = {.kind = TUTTI_BARRIER}};
    tutti_status status = begin(&r);
    const tutti_handle_use use = {r.what, TUTTI_U8, 1, 1};
    int64_t ignored;
    if (!status && data) status = tutti_handle_count(data, &use, &ignored);
    return status ? status : submit(&r);
}

/* ---- messages ---- */

static tutti_status check_edge(const tutti_session *s, const char *what, int from, int to, int edge)
{
    int edges = tutti_exchange_edges(s->exchange);
    if (from == to)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: rank %d and itself: a message goes to another rank", what, from);
    if (edges && (edge < 0 || edge >= edges))
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: edge %d: must be from 0 to %d", what, edge, edges - 1);
    if (from < 0 || from >= s->size || to < 0 || to >= s->size)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: rank %d of %d ranks", what,
            from < 0 || from >= s->size ? from : to, s->size);
    return TUTTI_OK;
}

tutti_status tutti_session_check_edge(
    const tutti_session *session, const char *function, int peer, int edge)
{
    return check_edge(session, function, session->rank, peer, edge);
}

/* The edge from one rank of the session or group to another. */
static tutti_status find_edge(request *r, int from, int to, int edge)
{
    const tutti_session *s = r->session;
    const tutti_members *members = tutti_exchange_members(s->exchange, s->group);
    tutti_status status = check_edge(s, r->what, from, to, edge);
    if (status) return status;
    if (members->of) {
        from = members->of[from];
        to = members->of[to];
    }
    status = tutti_exchange_edge(s->exchange, from, to, edge, &r->args.group);
    r->rank = tutti_exchange_rank(s->exchange) == to;
    r->size = 2;
    return status;
}

static tutti_status prepare_message(request *r, int peer, int sends, int edge)
{
    tutti_status status = begin(r);
    if (status) return status;
    int self = r->session->rank;
    r->args.kind = TUTTI_MESSAGE;
    r->priority = 0;
    status = find_edge(r, sends ? self : peer, sends ? peer : self, edge);
    return status ? status : check_handles(r);
}

tutti_status tutti_session_message(tutti_session *session, const char *function, tutti_handle data,
    tutti_dtype dtype, int peer, int sends, int edge)
{
    request r = {session, function, .recv = data, .args = {.dtype = dtype}};
    tutti_status status = prepare_message(&r, peer, sends, edge);
    return status ? status : submit(&r);
}

tutti_status tutti_send(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, int to, int edge)
{
    return tutti_session_message(session, "tutti_send", data, dtype, to, 1, edge);
}

tutti_status tutti_recv(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, int from, int edge)
{
    return tutti_session_message(session, "tutti_recv", data, dtype, from, 0, edge);
}

tutti_status tutti_sendrecv(tutti_session *session, tutti_handle send, int to, tutti_handle recv,
    int from, tutti_dtype dtype, int edge)
{
    request out = {session, "tutti_sendrecv", .recv = send, .args = {.dtype = dtype}};
    request in = {session, "tutti_sendrecv", .recv = recv, .args = {.dtype = dtype}};
    tutti_status status = prepare_message(&out, to, 1, edge);
    if (!status) status = prepare_message(&in, from, 0, edge);
    if (!status && send == recv)
        status = tutti_fail(TUTTI_ERR_INVAL, "tutti_sendrecv: send and recv are the same handle: "
                                             "what is received needs another one");
    if (!status) status = submit(&out);
    return status ? status : submit(&in);
}

static tutti_status add_operator(
    const char *call, tutti_session *session, const tutti_user_op *own, tutti_reduce_op *op)
{
    tutti_status status = tutti_session_enter_whole(session, call);
    if (status) return status;
    if (!own->name || !*own->name || !own->function || !op)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: %s is NULL%s", call,
            !own->function ? "function"
            : !op          ? "op"
                           : "name",
            own->name && !*own->name ? " or empty" : "");
    return tutti_operators_add(&session->operators, own, op);
}

tutti_status tutti_operator(tutti_session *session, const char *name, tutti_op_function function,
    void *ctx, int commutes, tutti_reduce_op *op)
{
    const tutti_user_op own = {name, function, ctx, .commutes = commutes != 0};
    return add_operator("tutti_operator", session, &own, op);
}

tutti_status tutti_operator_whole(tutti_session *session, const char *name,
    tutti_op_function function, void *ctx, int commutes, tutti_reduce_op *op)
{
    const tutti_user_op own = {name, function, ctx, .commutes = commutes != 0, .whole = 1};
    return add_operator("tutti_operator_whole", session, &own, op);
}

/* ---- waiting ---- */

static tutti_status check_timeout(const char *function, double timeout_s)
{
    if (timeout_s >= 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "%s: timeout_s is %g: must be 0 or more seconds (INFINITY: no limit)", function, timeout_s);
}

/* The end of a wait. A wait with timeout_s 0 returns TIMEOUT and reports nothing. */
static tutti_status end_wait(tutti_session *session, const char *function, unsigned errors,
    double timeout_s, tutti_status status)
{
    if (status == TUTTI_ERR_TIMEOUT && timeout_s == 0) return status;
    if (status) tutti_exchange_explain(session->exchange, status);
    return tutti_session_leave(function, errors, status);
}

tutti_status tutti_wait(tutti_session *session, double timeout_s)
{
    static const char function[] = "tutti_wait";
    tutti_status status = tutti_session_enter(session, function);
    if (!status) status = check_timeout(function, timeout_s);
    if (status) return status;
    unsigned errors = tutti_error_count();
    tutti_trace *spans = tutti_recording_spans(session->whole->recording);
    double begun_s = timeout_s > 0 ? tutti_trace_now(spans) : 0;
    status = tutti_insert_wait(session->insert, timeout_s);
    tutti_trace_main(spans, TUTTI_SPAN_WAIT, function, begun_s);
    return end_wait(session, function, errors, timeout_s, status);
}

tutti_status tutti_wait_for(tutti_session *session, tutti_handle data, double timeout_s)
{
    static const char function[] = "tutti_wait_for";
    tutti_status status = tutti_session_enter(session, function);
    if (!status && !data) status = tutti_fail(TUTTI_ERR_INVAL, "%s: the handle is NULL", function);
    if (!status) status = check_timeout(function, timeout_s);
    if (status) return status;
    unsigned errors = tutti_error_count();
    tutti_trace *spans = tutti_recording_spans(session->whole->recording);
    double begun_s = timeout_s > 0 ? tutti_trace_now(spans) : 0;
    status = tutti_insert_wait_for(session->insert, data, timeout_s);
    tutti_trace_main(spans, TUTTI_SPAN_WAIT, function, begun_s);
    return end_wait(session, function, errors, timeout_s, status);
}
