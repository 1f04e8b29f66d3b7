#include "apps/mpicheck/record.h"

#include <stdlib.h>
#include <string.h>

void mpicheck_record_put(mpicheck_frame *frame, const mpicheck_record *record)
{
    mpicheck_frame_text(frame, record->call);
    mpicheck_frame_text(frame, record->kind);
    mpicheck_frame_text(frame, record->what);
    mpicheck_frame_text(frame, record->op);
    mpicheck_frame_put(frame, (int64_t)record->comm);
    mpicheck_frame_put(frame, (int64_t)record->sequence);
    mpicheck_frame_put(frame, record->flow);
    mpicheck_frame_put(frame, record->root);
    mpicheck_frame_put(frame, record->site);
    mpicheck_frame_put(frame, record->blocking);
    mpicheck_frame_put(frame, record->outs);
    mpicheck_frame_put(frame, record->ins);
    for (int i = 0; i < record->outs; i++) mpicheck_signature_put(frame, record->out[i]);
    for (int i = 0; i < record->ins; i++) mpicheck_signature_put(frame, record->in[i]);
}

static char *copied(const char *text)
{
    char *copy = strdup(text);
    if (!copy) abort();
    return copy;
}

static mpicheck_signature *signatures(mpicheck_frame *frame, int count)
{
    /* Each takes 32 bytes: a count that exceeds the frame means a damaged frame. */
    if (count < 0 || (size_t)count > frame->length / 32) {
        frame->bad = true;
        count = 0;
    }
    mpicheck_signature *row = calloc((size_t)count + 1, sizeof(*row));
    if (!row) abort();
    for (int i = 0; i < count; i++) row[i] = mpicheck_signature_get(frame);
    return row;
}

mpicheck_record *mpicheck_record_get(mpicheck_frame *frame)
{
    mpicheck_record *record = calloc(1, sizeof(*record));
    if (!record) abort();
    record->call = copied(mpicheck_frame_get_text(frame));
    record->kind = copied(mpicheck_frame_get_text(frame));
    record->what = copied(mpicheck_frame_get_text(frame));
    record->op = copied(mpicheck_frame_get_text(frame));
    record->comm = (uint64_t)mpicheck_frame_get(frame);
    record->sequence = (uint64_t)mpicheck_frame_get(frame);
    record->flow = (int)mpicheck_frame_get(frame);
    record->root = (int)mpicheck_frame_get(frame);
    record->site = (int)mpicheck_frame_get(frame);
    record->blocking = (int)mpicheck_frame_get(frame);
    record->outs = (int)mpicheck_frame_get(frame);
    record->ins = (int)mpicheck_frame_get(frame);
    record->out = signatures(frame, record->outs);
    record->in = signatures(frame, record->ins);
    if (frame->bad) {
        mpicheck_record_free(record);
        return NULL;
    }
    return record;
}

void mpicheck_record_free(mpicheck_record *record)
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
static const char *unequal(mpicheck_signature a, mpicheck_signature b)
{
    if (mpicheck_signature_equal(a, b)) return NULL;
    if (a.basic != 0 && a.basic == b.basic) return "the count";
    if (a.elements == 0 || b.elements == 0) return "the count";
    return a.elements == b.elements ? "the type" : "the type and the count";
}

/* The flow from member i, which sends, to member j, which receives. */
static const char *pair(const mpicheck_record *a, int i, const mpicheck_record *b, int j)
{
    if (a->outs == 0 || b->ins == 0) return NULL;
    if ((a->outs > 1 && a->outs <= j) || (b->ins > 1 && b->ins <= i)) return NULL;
    return unequal(a->out[a->outs > 1 ? j : 0], b->in[b->ins > 1 ? i : 0]);
}

static const char *same(const mpicheck_record *a, const mpicheck_record *b)
{
    if (a->outs != b->outs) return NULL;
    for (int k = 0; k < a->outs; k++) {
        const char *what = unequal(a->out[k], b->out[k]);
        if (what) return what;
    }
    return NULL;
}

static const char *data_differs(const mpicheck_record *a, int i, const mpicheck_record *b, int j)
{
    const char *what = NULL;
    switch (a->flow) {
    case MPICHECK_FLOW_SAME:
        return i == j ? NULL : same(a, b);
    case MPICHECK_FLOW_TO_ROOT:
        if (j == a->root) what = pair(a, i, b, j);
        if (!what && i == a->root) what = pair(b, j, a, i);
        return what;
    case MPICHECK_FLOW_FROM_ROOT:
        if (i == a->root) what = pair(a, i, b, j);
        if (!what && j == a->root) what = pair(b, j, a, i);
        return what;
    case MPICHECK_FLOW_ALL:
        what = pair(a, i, b, j);
        return what ? what : pair(b, j, a, i);
    default:
        return NULL;
    }
}

/* Operators that the program made are named by module and offset (ops.c). In other programs of the run the same one has
 * another name, and only whether it commutes can be compared. */
static int op_differs(const char *a, const char *b)
{
    static const char made[] = "operator ";
    const char *end_a = strrchr(a, '+'), *end_b = strrchr(b, '+');
    if (!strcmp(a, b)) return 0;
    if (strncmp(a, made, sizeof made - 1) || strncmp(b, made, sizeof made - 1) || !end_a || !end_b)
        return 1;
    if (end_a - a == end_b - b && !memcmp(a, b, (size_t)(end_a - a))) return 1;
    return !strchr(end_a, ' ') != !strchr(end_b, ' ');
}

const char *mpicheck_record_differs(
    const mpicheck_record *a, int i, const mpicheck_record *b, int j, int inter)
{
    if (strcmp(a->kind, b->kind) != 0) return "the kind of collective";
    if (a->blocking != b->blocking) return "whether the call is blocking";
    if (op_differs(a->op, b->op)) return "the operator";
    if (inter) return NULL;
    if (a->root != b->root) return "the root";
    return data_differs(a, i, b, j);
}
