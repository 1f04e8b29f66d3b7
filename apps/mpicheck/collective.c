#include "apps/mpicheck/collective.h"

#include "apps/mpicheck/call.h"
#include "apps/mpicheck/finding.h"
#include "apps/mpicheck/ops.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/requests.h"
#include "apps/mpicheck/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mpicheck_buffer(const char *which, const void *buffer, int count, MPI_Datatype type)
{
    MPI_Aint bound = 0, extent = 0;
    int size = 0;
    if (buffer || count <= 0) return;
    if (PMPI_Type_size(type, &size) != MPI_SUCCESS || size == 0) return;
    /* A type with absolute addresses is used with MPI_BOTTOM, which may be a null pointer. */
    PMPI_Type_get_true_extent(type, &bound, &extent);
    if (bound > 65536 || bound < 0) return;
    mpicheck_finding(
        'E', "the %s is a null pointer, but %d elements are expected there", which, count);
    mpicheck_process_await_verdict();
}

void mpicheck_buffers(const mpicheck_used *used, const char *instead)
{
    mpicheck_clash clash;
    if (!mpicheck_used_clash_within(used, &clash)) return;
    const mpicheck_region *a = clash.a, *b = clash.b, *recv = a->writes ? a : b;
    const char *use = instead[0] != '\0' ? "; use " : "; give each memory of its own";
    if (a == b)
        mpicheck_finding('E', "elements of the receive buffer overlap");
    else if (a->writes && b->writes)
        mpicheck_finding('E', "the data of ranks %d and %d overlap in the receive buffer",
            a->peer < b->peer ? a->peer : b->peer, a->peer < b->peer ? b->peer : a->peer);
    else if (a->low == b->low)
        mpicheck_finding('E', "the send buffer is also the receive buffer%s%s", use, instead);
    else
        mpicheck_finding('E',
            "the send buffer and the receive buffer overlap from byte %llu of the latter on%s%s",
            (unsigned long long)(clash.at - recv->low), use, instead);
    mpicheck_process_await_verdict();
}

static int peers(const mpicheck_collective *call)
{
    return call->on->others > 0 ? call->on->others : call->on->size;
}

static MPI_Datatype type_of(const mpicheck_side *side, int peer)
{
    return side->types ? side->types[peer] : side->type;
}

static int count_of(const mpicheck_side *side, int peer)
{
    return side->counts ? side->counts[peer] : side->count;
}

/* Whether MPI accepts the counts and types. */
static bool side_valid(const mpicheck_side *side, int length)
{
    bool row = side->counts || side->types;
    for (int i = 0; i < (row ? length : 1); i++)
        if (count_of(side, i) < 0 || type_of(side, i) == MPI_DATATYPE_NULL) return false;
    return true;
}

/* Which sides are significant on this rank. */
static bool sends(const mpicheck_collective *call)
{
    bool root = call->root && *call->root == call->on->rank;
    if (call->shape == MPICHECK_SHAPE_NONE || call->send.buffer == MPI_IN_PLACE) return false;
    return call->shape != MPICHECK_SHAPE_SCATTER || root;
}

static bool receives(const mpicheck_collective *call)
{
    bool root = call->root && *call->root == call->on->rank;
    if (call->shape == MPICHECK_SHAPE_NONE || call->shape == MPICHECK_SHAPE_BCAST) return false;
    if (call->recv.buffer == MPI_IN_PLACE) return false;
    if (call->shape == MPICHECK_SHAPE_EXSCAN && call->on->rank == 0) return false;
    return root || (call->shape != MPICHECK_SHAPE_GATHER && call->shape != MPICHECK_SHAPE_REDUCE);
}

static bool reduces(const mpicheck_collective *call)
{
    return call->shape >= MPICHECK_SHAPE_REDUCE && call->shape <= MPICHECK_SHAPE_REDUCE_SCATTER;
}

static bool neighbors(const mpicheck_collective *call)
{
    return call->shape >= MPICHECK_SHAPE_NEIGHBORS_GATHER;
}

/* Whether MPI will accept the call; if not, MPI reports why, and nothing is announced. */
static bool valid(const mpicheck_collective *call)
{
    if (call->op && *call->op == MPI_OP_NULL) return false;
    if (call->on->others > 0 || neighbors(call)) return true;
    if (call->root && (*call->root < 0 || *call->root >= call->on->size)) return false;
    /* A reduction's data is described in `send`, also with MPI_IN_PLACE. */
    if ((sends(call) || reduces(call)) && !side_valid(&call->send, call->on->size)) return false;
    return reduces(call) || !receives(call) || side_valid(&call->recv, call->on->size);
}

/* Of `length` peers. */
static int64_t elements(const mpicheck_side *side, int length)
{
    int64_t sum = 0;
    for (int i = 0; i < length; i++) sum += count_of(side, i);
    return sum;
}

/* Null buffers, which MPI itself may not refuse. */
static void check_null(const mpicheck_collective *call)
{
    const mpicheck_side *recv = reduces(call) ? &call->send : &call->recv;
    if (call->on->others > 0 || neighbors(call)) return;
    if (sends(call) && !call->send.counts)
        mpicheck_buffer(
            "send buffer", call->send.buffer, call->send.count, type_of(&call->send, 0));
    if (receives(call) && !recv->counts)
        mpicheck_buffer("receive buffer", call->recv.buffer, recv->count, type_of(recv, 0));
}

/* ---- the memory that a call uses ---- */

/* The neighbours of this rank that it receives from, or those that it sends to; the caller frees them. */
static int *neighbors_of(MPI_Comm comm, bool outgoing, int *count)
{
    int kind = MPI_UNDEFINED, rank, out = 0, weighted;
    *count = 0;
    PMPI_Topo_test(comm, &kind);
    PMPI_Comm_rank(comm, &rank);
    if (kind == MPI_CART) PMPI_Cartdim_get(comm, count);
    if (kind == MPI_CART) *count *= 2;
    if (kind == MPI_GRAPH) PMPI_Graph_neighbors_count(comm, rank, count);
    if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, count, &out, &weighted);
    size_t most = (size_t)(*count + out) + 1;
    int *all = calloc(2 * most, sizeof(int)), *to = all + *count, *weights = all + most;
    if (!all) abort();
    for (int i = 0; kind == MPI_CART && i < *count; i += 2)
        PMPI_Cart_shift(comm, i / 2, 1, &all[i], &all[i + 1]);
    if (kind == MPI_GRAPH) PMPI_Graph_neighbors(comm, rank, *count, all);
    if (kind == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors(comm, *count, all, weights, out, to, weights + *count);
    if (kind == MPI_DIST_GRAPH && outgoing) {
        memmove(all, to, sizeof(int) * (size_t)out);
        *count = out;
    }
    return all;
}

/* The data of `length` peers, whose ranks are in `row` (NULL: 0, 1, ...). */
static void use_side(
    mpicheck_used *used, const mpicheck_side *side, int length, const int *row, bool writes)
{
    if (!side->counts && !row) {
        int64_t all = (int64_t)side->count * length;
        mpicheck_used_add(used, side->buffer, 0, all, side->type, -1, writes);
        return;
    }
    for (int i = 0; i < length; i++) {
        MPI_Datatype type = type_of(side, i);
        MPI_Aint bound, extent = 0;
        if (type == MPI_DATATYPE_NULL || (row && row[i] == MPI_PROC_NULL)) continue;
        PMPI_Type_get_extent(type, &bound, &extent);
        int64_t at = side->bytes     ? side->bytes[i]
                     : side->offsets ? side->offsets[i]
                     : side->places  ? side->places[i] * (int64_t)extent
                                     : (int64_t)i * side->count * extent;
        mpicheck_used_add(
            used, side->buffer, at, count_of(side, i), type, row ? row[i] : i, writes);
    }
}

static void use_one(mpicheck_used *used, const mpicheck_side *side, int64_t count, bool writes)
{
    mpicheck_used_add(used, side->buffer, 0, count, side->type, -1, writes);
}

/* A reduction's counts and type are in `send`. */
static void use_reduction(mpicheck_used *used, const mpicheck_collective *call, bool out, bool in)
{
    int size = call->on->size;
    int64_t all = call->send.count, part = all;
    mpicheck_side recv = {.buffer = call->recv.buffer, .type = call->send.type};
    if (call->shape == MPICHECK_SHAPE_REDUCE_SCATTER) {
        all = elements(&call->send, size);
        part = count_of(&call->send, call->on->rank);
    }
    if (call->send.buffer == MPI_IN_PLACE) use_one(used, &recv, all, true);
    if (out) use_one(used, &call->send, all, false);
    if (in && call->send.buffer != MPI_IN_PLACE) use_one(used, &recv, part, true);
}

static void use_neighbors(mpicheck_used *used, const mpicheck_collective *call)
{
    int outs, ins, *to = neighbors_of(call->comm, true, &outs);
    int *from = neighbors_of(call->comm, false, &ins);
    if (call->shape == MPICHECK_SHAPE_NEIGHBORS_GATHER)
        use_one(used, &call->send, outs > 0 ? call->send.count : 0, false);
    else
        use_side(used, &call->send, outs, to, false);
    use_side(used, &call->recv, ins, from, true);
    free(to);
    free(from);
}

static void use_memory(mpicheck_used *used, const mpicheck_collective *call)
{
    bool out = sends(call), in = receives(call), reads = out;
    int length = peers(call);
    if (call->root && call->on->others > 0) {
        bool inwards = call->shape == MPICHECK_SHAPE_GATHER || call->shape == MPICHECK_SHAPE_REDUCE;
        bool root = *call->root == MPI_ROOT, other = *call->root >= 0;
        out = inwards ? other : root;
        in = inwards ? root : other;
    }
    switch (call->shape) {
    case MPICHECK_SHAPE_NONE:
        return;
    case MPICHECK_SHAPE_BCAST:
        reads = call->on->others > 0 ? out : *call->root == call->on->rank;
        if (reads || in || call->on->others == 0)
            use_one(used, &call->send, call->send.count, !reads);
        return;
    case MPICHECK_SHAPE_REDUCE:
    case MPICHECK_SHAPE_ALLREDUCE:
    case MPICHECK_SHAPE_EXSCAN:
    case MPICHECK_SHAPE_REDUCE_SCATTER:
        use_reduction(used, call, out, in);
        return;
    case MPICHECK_SHAPE_GATHER:
    case MPICHECK_SHAPE_ALLGATHER:
        if (out) use_one(used, &call->send, call->send.count, false);
        if (in) use_side(used, &call->recv, length, NULL, true);
        return;
    case MPICHECK_SHAPE_SCATTER:
        if (out) use_side(used, &call->send, length, NULL, false);
        if (in) use_one(used, &call->recv, call->recv.count, true);
        return;
    case MPICHECK_SHAPE_ALLTOALL:
        if (out) use_side(used, &call->send, length, NULL, false);
        if (in) use_side(used, &call->recv, length, NULL, true);
        return;
    case MPICHECK_SHAPE_NEIGHBORS_GATHER:
    case MPICHECK_SHAPE_NEIGHBORS:
        use_neighbors(used, call);
        return;
    }
}

/* Memory that is read and written at once, by this call or by it and another. */
static void check_memory(mpicheck_collective *call)
{
    bool in_place = call->on->others == 0 && !neighbors(call);
    use_memory(&call->used, call);
    mpicheck_buffers(&call->used, in_place ? "MPI_IN_PLACE" : "");
    mpicheck_request_check(&call->used);
    if (call->blocking) mpicheck_used_free(&call->used);
}

/* Signatures of a side: one, or one per peer. */
static mpicheck_signature *signatures(const mpicheck_side *side, int length, int *count)
{
    *count = side->counts || side->types ? length : 1;
    mpicheck_signature *row = calloc((size_t)*count + 1, sizeof(*row));
    if (!row) abort();
    for (int i = 0; i < *count; i++)
        row[i] = mpicheck_signature_of(count_of(side, i), type_of(side, i));
    return row;
}

static void fill_data(const mpicheck_collective *call, mpicheck_record *record)
{
    int size = call->on->size, rank = call->on->rank;
    bool root = call->root && *call->root == rank;
    if (call->on->others > 0) return;
    switch (call->shape) {
    case MPICHECK_SHAPE_NONE:
    case MPICHECK_SHAPE_NEIGHBORS_GATHER:
    case MPICHECK_SHAPE_NEIGHBORS:
        return;
    case MPICHECK_SHAPE_BCAST:
    case MPICHECK_SHAPE_REDUCE:
    case MPICHECK_SHAPE_ALLREDUCE:
    case MPICHECK_SHAPE_EXSCAN:
    case MPICHECK_SHAPE_REDUCE_SCATTER:
        record->flow = MPICHECK_FLOW_SAME;
        record->out = signatures(&call->send, size, &record->outs);
        return;
    case MPICHECK_SHAPE_GATHER:
        record->flow = MPICHECK_FLOW_TO_ROOT;
        if (sends(call)) record->out = signatures(&call->send, size, &record->outs);
        if (root) record->in = signatures(&call->recv, size, &record->ins);
        return;
    case MPICHECK_SHAPE_SCATTER:
        record->flow = MPICHECK_FLOW_FROM_ROOT;
        if (root) record->out = signatures(&call->send, size, &record->outs);
        if (receives(call)) record->in = signatures(&call->recv, size, &record->ins);
        return;
    case MPICHECK_SHAPE_ALLGATHER:
        record->flow = MPICHECK_FLOW_ALL;
        record->in = signatures(&call->recv, size, &record->ins);
        if (sends(call)) {
            record->out = signatures(&call->send, size, &record->outs);
        } else {
            mpicheck_side own = {.count = count_of(&call->recv, rank), .type = call->recv.type};
            record->out = signatures(&own, size, &record->outs);
        }
        return;
    case MPICHECK_SHAPE_ALLTOALL:
        record->flow = MPICHECK_FLOW_ALL;
        record->in = signatures(&call->recv, size, &record->ins);
        record->out = signatures(sends(call) ? &call->send : &call->recv, size, &record->outs);
        return;
    }
}

static void describe_side(
    char *text, size_t size, const char *verb, const mpicheck_side *side, int length)
{
    size_t at = strlen(text);
    if (at > 0 && at + 2 < size) at += (size_t)snprintf(text + at, size - at, ", ");
    if (side->buffer == MPI_IN_PLACE) {
        snprintf(text + at, size - at, "%sMPI_IN_PLACE", verb);
        return;
    }
    char data[96] = "a type each";
    if (!side->types)
        mpicheck_signature_print(
            data, sizeof(data), side->counts ? elements(side, length) : side->count, side->type);
    snprintf(text + at, size - at, "%s%s%s", verb, data, side->counts ? " in all" : "");
}

/* The arguments as text, for the report. */
static void describe(char *text, size_t size, const mpicheck_collective *call, const char *op)
{
    text[0] = '\0';
    if (reduces(call) || call->shape == MPICHECK_SHAPE_BCAST) {
        mpicheck_side data = call->send;
        data.buffer = NULL;
        describe_side(text, size, "", &data, peers(call));
    } else if (call->shape != MPICHECK_SHAPE_NONE && !neighbors(call)) {
        if (sends(call) || call->send.buffer == MPI_IN_PLACE)
            describe_side(text, size, "sends ", &call->send, peers(call));
        if (receives(call)) describe_side(text, size, "receives ", &call->recv, peers(call));
    }
    size_t at = strlen(text);
    const char *comma = at > 0 ? ", " : "";
    if (op[0] != '\0') {
        snprintf(text + at, size - at, "%s%s", comma, op);
        at = strlen(text);
        comma = ", ";
    }
    if (call->root && *call->root >= 0)
        snprintf(text + at, size - at, "%sroot %d", comma, *call->root);
}

static void announce(const mpicheck_collective *call)
{
    char op[128] = "", what[400];
    if (call->op) mpicheck_collective_op(op, sizeof(op), *call->op);
    describe(what, sizeof(what), call, op);
    mpicheck_record record = {
        .call = mpicheck_call_name(),
        .kind = call->kind,
        .what = what,
        .op = op,
        .comm = call->on->id,
        .sequence = call->sequence,
        .root = call->root ? *call->root : -1,
        .site = mpicheck_call_site(),
        .blocking = call->blocking,
    };
    fill_data(call, &record);
    mpicheck_record_put(mpicheck_process_open(MPICHECK_FRAME_COLL), &record);
    mpicheck_process_post();
    free(record.out);
    free(record.in);
}

void mpicheck_collective_begin(mpicheck_collective *call)
{
    if (!call->on) call->on = mpicheck_comm_find(call->comm);
    if (!call->on || !valid(call)) {
        call->on = NULL;
        return;
    }
    check_null(call);
    check_memory(call);
    call->sequence = call->on->sequence++;
    if (call->on->size == 1 && call->on->others == 0) return;
    announce(call);
    if (!call->blocking) return;
    mpicheck_wait wait = mpicheck_wait_for((mpicheck_item){.kind = MPICHECK_ITEM_COLL,
        .comm = call->on->id,
        .sequence = call->sequence,
        .peer = -1,
        .call = mpicheck_call_name(),
        .site = mpicheck_call_site()});
    while (call->on->granted <= call->sequence) mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
}

/* Guards the buffer that a nonblocking collective reads, if it is one piece. */
static void guard_buffer(const mpicheck_collective *call, mpicheck_request *request)
{
    int64_t count = call->send.count;
    if (!sends(call) || call->send.counts || call->on->others > 0 || neighbors(call)) return;
    if (call->shape == MPICHECK_SHAPE_BCAST && *call->root != call->on->rank) return;
    if (call->shape == MPICHECK_SHAPE_SCATTER || call->shape == MPICHECK_SHAPE_ALLTOALL ||
        call->shape == MPICHECK_SHAPE_REDUCE_SCATTER)
        count *= call->on->size;
    request->buffer = call->send.buffer;
    request->count = count;
    request->type = call->send.type;
    request->content = mpicheck_request_content(request->buffer, count, request->type);
}

void mpicheck_collective_made(mpicheck_collective *call, int rc, const MPI_Request *request)
{
    if (!call->on) return;
    if (rc != MPI_SUCCESS) {
        mpicheck_used_free(&call->used);
        return;
    }
    bool alone = call->on->size == 1 && call->on->others == 0;
    mpicheck_request made = {.item = {.kind = alone ? MPICHECK_ITEM_OTHER : MPICHECK_ITEM_COLL,
                                 .comm = call->on->id,
                                 .peer = -1,
                                 .sequence = call->sequence,
                                 .call = mpicheck_call_name(),
                                 .site = mpicheck_call_site()},
        .comm = call->on,
        .used = call->used,
        .active = true};
    guard_buffer(call, &made);
    mpicheck_request_made(*request, &made);
}
