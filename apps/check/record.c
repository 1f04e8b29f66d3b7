#include "apps/check/record.h"

#include <stdlib.h>
#include <string.h>

void tutti_record_put(tutti_frame *frame, const tutti_record *record)
{
    tutti_frame_text(frame, record->call);
    tutti_frame_text(frame, record->kind);
    tutti_frame_text(frame, record->what);
    tutti_frame_text(frame, record->op);
    tutti_frame_put(frame, (int64_t)record->comm);
    tutti_frame_put(frame, (int64_t)record->sequence);
    tutti_frame_put(frame, record->flow);
    tutti_frame_put(frame, record->root);
    tutti_frame_put(frame, record->site);
    tutti_frame_put(frame, record->blocking);
    tutti_frame_put(frame, record->outs);
    tutti_frame_put(frame, record->ins);
    for (int i = 0; i < record->outs; i++) tutti_signature_put(frame, record->out[i]);
    for (int i = 0; i < record->ins; i++) tutti_signature_put(frame, record->in[i]);
}

static char *copied(const char *text)
{
    char *copy = strdup(text);
    if (!copy) abort();
    return copy;
}

static tutti_signature *signatures(tutti_frame *frame, int count)
{
    /* Each takes 32 bytes: a longer row than the frame can hold is a torn frame. */
    if (count < 0 || (size_t)count > frame->length / 32) {
        frame->bad = true;
        count = 0;
    }
    tutti_signature *row = calloc((size_t)count + 1, sizeof(*row));
    if (!row) abort();
    for (int i = 0; i < count; i++) row[i] = tutti_signature_get(frame);
    return row;
}

tutti_record *tutti_record_get(tutti_frame *frame)
{
    tutti_record *record = calloc(1, sizeof(*record));
    if (!record) abort();
    record->call = copied(tutti_frame_get_text(frame));
    record->kind = copied(tutti_frame_get_text(frame));
    record->what = copied(tutti_frame_get_text(frame));
    record->op = copied(tutti_frame_get_text(frame));
    record->comm = (uint64_t)tutti_frame_get(frame);
    record->sequence = (uint64_t)tutti_frame_get(frame);
    record->flow = (int)tutti_frame_get(frame);
    record->root = (int)tutti_frame_get(frame);
    record->site = (int)tutti_frame_get(frame);
    record->blocking = (int)tutti_frame_get(frame);
    record->outs = (int)tutti_frame_get(frame);
    record->ins = (int)tutti_frame_get(frame);
    record->out = signatures(frame, record->outs);
    record->in = signatures(frame, record->ins);
    if (frame->bad) {
        tutti_record_free(record);
        return NULL;
    }
    return record;
}

void tutti_record_free(tutti_record *record)
{
    if (!record) return;
    free((char *)record->call);
    free((char *)record->kind);
    free((char *)record->what);
    free((char *)record->op);
    free(record->out);
    free(record->in);
    free(record);
}

/* How two signatures that should be equal differ, or NULL. */
static const char *unequal(tutti_signature a, tutti_signature b)
{
    if (tutti_signature_equal(a, b)) return NULL;
    if (a.basic != 0 && a.basic == b.basic) return "the count";
    if (a.elements == 0 || b.elements == 0) return "the count";
    return a.elements == b.elements ? "the type" : "the type and the count";
}

/* The flow from member i, which sends, to member j, which receives. */
static const char *pair(const tutti_record *a, int i, const tutti_record *b, int j)
{
    if (a->outs == 0 || b->ins == 0) return NULL;
    if ((a->outs > 1 && a->outs <= j) || (b->ins > 1 && b->ins <= i)) return NULL;
    return unequal(a->out[a->outs > 1 ? j : 0], b->in[b->ins > 1 ? i : 0]);
}

static const char *same(const tutti_record *a, const tutti_record *b)
{
    if (a->outs != b->outs) return NULL;
    for (int k = 0; k < a->outs; k++) {
        const char *what = unequal(a->out[k], b->out[k]);
        if (what) return what;
    }
    return NULL;
}

static const char *data_differs(const tutti_record *a, int i, const tutti_record *b, int j)
{
    const char *what = NULL;
    switch (a->flow) {
    case TUTTI_FLOW_SAME:
        return i == j ? NULL : same(a, b);
    case TUTTI_FLOW_TO_ROOT:
        if (j == a->root) what = pair(a, i, b, j);
        if (!what && i == a->root) what = pair(b, j, a, i);
        return what;
    case TUTTI_FLOW_FROM_ROOT:
        if (i == a->root) what = pair(a, i, b, j);
        if (!what && j == a->root) what = pair(b, j, a, i);
        return what;
    case TUTTI_FLOW_ALL:
        what = pair(a, i, b, j);
        return what ? what : pair(b, j, a, i);
    default:
        return NULL;
    }
}

const char *tutti_record_differs(
    const tutti_record *a, int i, const tutti_record *b, int j, int inter)
{
    if (strcmp(a->kind, b->kind) != 0) return "the kind of collective";
    if (a->blocking != b->blocking) return "whether the call is blocking";
    if (strcmp(a->op, b->op) != 0) return "the operator";
    if (inter) return NULL;
    if (a->root != b->root) return "the root";
    return data_differs(a, i, b, j);
}
