#include "designs/verify/compare.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdlib.h>

enum { WORDS = TUTTI_CONTROL_TEXT / 8, FIRST_ROOM = 256 };

/* One lane. `ahead` holds the hashes of the rank that is ahead until the other rank's arrive. */
typedef struct stream {
    int64_t mine, left;          /* how many this rank and the left neighbour have started */
    uint64_t *ahead;             /* ring, indexed by number */
    int64_t room;                /* a power of two */
    int differed;                /* no longer compared */
    tutti_control_message batch; /* lane, how many */
} stream;

struct tutti_compare {
    tutti_control *control;
    int lanes, right;
    double batch_s, since_s; /* since_s: when the oldest unsent hash was added */
    int unsent;
    tutti_compare_differs differs;
    void *ctx;
    tutti_status status; /* of a message handler */
    stream lane[];
};

static void receive_hashes(void *ctx, const tutti_control_message *message);

tutti_status tutti_compare_open(tutti_control *control, int lanes, double batch_s,
    tutti_compare_differs differs, void *ctx, tutti_compare **compare)
{
    tutti_compare *c = calloc(1, sizeof *c + (size_t)lanes * sizeof *c->lane);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare %d lanes", lanes);
    c->control = control;
    c->lanes = lanes;
    c->right = (tutti_control_rank(control) + 1) % tutti_control_size(control);
    c->batch_s = batch_s;
    c->differs = differs;
    c->ctx = ctx;
    for (int i = 0; i < lanes; i++) {
        c->lane[i].batch = (tutti_control_message){.kind = TUTTI_CONTROL_PRINTS, .value = {i}};
        c->lane[i].room = FIRST_ROOM;
        c->lane[i].ahead = malloc(FIRST_ROOM * sizeof(uint64_t));
        if (c->lane[i].ahead) continue;
        tutti_compare_close(c);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare %d lanes", lanes);
    }
    tutti_control_handle(control, TUTTI_CONTROL_PRINTS, receive_hashes, c);
    *compare = c;
    return TUTTI_OK;
}

void tutti_compare_close(tutti_compare *compare)
{
    if (!compare) return;
    for (int i = 0; i < compare->lanes; i++) free(compare->lane[i].ahead);
    free(compare);
}

/* ---- comparing ---- */

static tutti_status double_room(stream *s, int64_t first, int64_t end)
{
    uint64_t *wider = malloc((size_t)s->room * 2 * sizeof *wider);
    if (!wider)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for %lld fingerprints", (long long)(2 * s->room));
    for (int64_t n = first; n < end; n++)
        wider[n & (2 * s->room - 1)] = s->ahead[n & (s->room - 1)];
    free(s->ahead);
    s->ahead = wider;
    s->room *= 2;
    return TUTTI_OK;
}

/* Compares the next hash of one side, which has *own so far, with that of the other side, which has `other`; keeps it
 * if the other side has not got there. */
static tutti_status compare_hash(
    tutti_compare *c, stream *s, int64_t *own, int64_t other, uint64_t hash)
{
    int64_t number = (*own)++;
    if (s->differed) return TUTTI_OK;
    if (number < other) {
        if (s->ahead[number & (s->room - 1)] == hash) return TUTTI_OK;
        s->differed = 1;
        c->differs(c->ctx, (int)(s - c->lane), number);
        return TUTTI_OK;
    }
    if (number - other == s->room) {
        tutti_status status = double_room(s, other, number);
        if (status) return status;
    }
    s->ahead[number & (s->room - 1)] = hash;
    return TUTTI_OK;
}

static void receive_hashes(void *ctx, const tutti_control_message *message)
{
    tutti_compare *c = ctx;
    int64_t i = message->value[0], count = message->value[1];
    if (i < 0 || i >= c->lanes || count > WORDS) return;
    stream *s = &c->lane[i];
    for (int64_t k = 0; k < count && !c->status; k++)
        c->status = compare_hash(c, s, &s->left, s->mine, message->word[k]);
}

/* ---- sending ---- */

static tutti_status send_batch(tutti_compare *c, stream *s)
{
    tutti_control_message *batch = &s->batch;
    if (!batch->value[1]) return TUTTI_OK;
    tutti_status status = tutti_control_send(c->control, c->right, batch);
    c->unsent -= (int)batch->value[1];
    batch->value[1] = 0;
    return status;
}

tutti_status tutti_compare_add(tutti_compare *compare, int lane, uint64_t hash)
{
    stream *s = &compare->lane[lane];
    tutti_control_message *batch = &s->batch;
    batch->word[batch->value[1]++] = hash;
    if (!compare->unsent++) compare->since_s = tutti_clock_s();
    tutti_status status = compare_hash(compare, s, &s->mine, s->left, hash);
    if (!status && batch->value[1] == WORDS) status = send_batch(compare, s);
    return status;
}

int tutti_compare_agrees(const tutti_compare *compare, int lane, int64_t number)
{
    const stream *s = &compare->lane[lane];
    return !s->differed && number < s->mine && number < s->left;
}

tutti_status tutti_compare_pass(tutti_compare *compare)
{
    if (compare->status || !compare->unsent) return compare->status;
    if (tutti_clock_s() - compare->since_s < compare->batch_s) return TUTTI_OK;
    return tutti_compare_flush(compare);
}

tutti_status tutti_compare_flush(tutti_compare *compare)
{
    tutti_status status = compare->status;
    for (int i = 0; i < compare->lanes && !status; i++)
        status = send_batch(compare, &compare->lane[i]);
    return status;
}
