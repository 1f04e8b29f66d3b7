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
    return root || (call->shape != MPICHECK_SHAPE_GATHER && call->shape != MPICHECK_SHAPE_REDUCE);
}

static bool reduces(const mpicheck_collective *call)
{
    return call->shape >= MPICHECK_SHAPE_REDUCE && call->shape <= MPICHECK_SHAPE_REDUCE_SCATTER;
}

/* Whether MPI will accept the call; if not, MPI reports why, and nothing is announced. */
static bool valid(const mpicheck_collective *call)
{
    if (call->op && *call->op == MPI_OP_NULL) return false;
    if (call->on->others > 0) return true;
    if (call->root && (*call->root < 0 || *call->root >= call->on->size)) return false;
    /* A reduction's data is described in `send`, also with MPI_IN_PLACE. */
    if ((sends(call) || reduces(call)) && !side_valid(&call->send, call->on->size)) return false;
    return reduces(call) || !receives(call) || side_valid(&call->recv, call->on->size);
}

static int64_t elements(const mpicheck_side *side, int length)
{
    int64_t sum = 0;
    for (int i = 0; i < length; i++) sum += count_of(side, i);
    return sum;
}

/* Faults that MPI itself may not refuse: null buffers, and one buffer for both directions. */
static void check_buffers(const mpicheck_collective *call)
{
    const mpicheck_side *recv = reduces(call) ? &call->send : &call->recv;
    if (call->on->others > 0) return;
    if (sends(call) && !call->send.counts)
        mpicheck_buffer(
            "send buffer", call->send.buffer, call->send.count, type_of(&call->send, 0));
    if (receives(call) && !recv->counts)
        mpicheck_buffer("receive buffer", call->recv.buffer, recv->count, type_of(recv, 0));
    if (sends(call) && receives(call) && call->send.buffer &&
        call->send.buffer == call->recv.buffer &&
        elements(&call->send, call->send.counts ? peers(call) : 1) > 0 &&
        elements(recv, recv->counts ? peers(call) : 1) > 0) {
        mpicheck_finding('E', "the send buffer is also the receive buffer; use MPI_IN_PLACE");
        mpicheck_process_await_verdict();
    }
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
        return;
    case MPICHECK_SHAPE_BCAST:
    case MPICHECK_SHAPE_REDUCE:
    case MPICHECK_SHAPE_ALLREDUCE:
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
    } else if (call->shape != MPICHECK_SHAPE_NONE) {
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
    check_buffers(call);
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
    int count = call->send.count;
    if (!sends(call) || call->send.counts || call->send.types || call->on->others > 0) return;
    if (call->shape == MPICHECK_SHAPE_BCAST && *call->root != call->on->rank) return;
    if (call->shape == MPICHECK_SHAPE_SCATTER || call->shape == MPICHECK_SHAPE_ALLTOALL ||
        call->shape == MPICHECK_SHAPE_REDUCE_SCATTER)
        count *= call->on->size;
    request->buffer = call->send.buffer;
    request->count = count;
    request->type = call->send.type;
    request->content = mpicheck_request_content(request->buffer, count, request->type);
}

void mpicheck_collective_made(const mpicheck_collective *call, MPI_Request request)
{
    if (!call->on) return;
    bool alone = call->on->size == 1 && call->on->others == 0;
    mpicheck_request made = {.item = {.kind = alone ? MPICHECK_ITEM_OTHER : MPICHECK_ITEM_COLL,
                                 .comm = call->on->id,
                                 .peer = -1,
                                 .sequence = call->sequence,
                                 .call = mpicheck_call_name(),
                                 .site = mpicheck_call_site()},
        .comm = call->on,
        .active = true};
    guard_buffer(call, &made);
    mpicheck_request_made(request, &made);
}
