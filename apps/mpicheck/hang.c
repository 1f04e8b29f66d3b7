/* Deadlocks: ranks that wait for what no running rank can ever do. */
#include "apps/mpicheck/tracker.h"
#include "apps/mpicheck/now.h"

#include <stdlib.h>
#include <string.h>

/* A wait counts as endless after this many questions answered by "still waiting". */
enum { rounds_needed = 2 };
static const double question_s = 0.25, lost_answer_s = 5.0;

static mpicheck_item *read_items(mpicheck_frame *frame, int *count)
{
    int64_t n = mpicheck_frame_get(frame);
    if (n < 0 || (size_t)n > frame->length / 64) n = 0;
    mpicheck_item *row = calloc((size_t)n + 1, sizeof(*row));
    if (!row) abort();
    for (int i = 0; i < n; i++) {
        mpicheck_item *item = &row[i];
        item->kind = (mpicheck_item_kind)mpicheck_frame_get(frame);
        item->comm = (uint64_t)mpicheck_frame_get(frame);
        item->peer = (int)mpicheck_frame_get(frame);
        item->tag = (int)mpicheck_frame_get(frame);
        item->sequence = (uint64_t)mpicheck_frame_get(frame);
        item->number = (uint64_t)mpicheck_frame_get(frame);
        item->bytes = mpicheck_frame_get(frame);
        item->call = strdup(mpicheck_frame_get_text(frame));
        item->site = (int)mpicheck_frame_get(frame);
    }
    *count = (int)n;
    return row;
}

static void free_items(mpicheck_item *row, int count)
{
    for (int i = 0; i < count; i++) free((char *)row[i].call);
    free(row);
}

void mpicheck_blocked_call_free(mpicheck_blocked_call *blocked)
{
    free_items(blocked->waited, blocked->waits);
    free_items(blocked->pending, blocked->pendings);
    free(blocked->call);
    free(blocked);
}

static mpicheck_blocked_call *taken(mpicheck_rank *rank, int64_t thread)
{
    for (mpicheck_blocked_call **at = &rank->blocked_calls; *at; at = &(*at)->next) {
        mpicheck_blocked_call *blocked = *at;
        if (blocked->thread != thread) continue;
        *at = blocked->next;
        return blocked;
    }
    return NULL;
}

void mpicheck_tracker_unblocked(mpicheck_judge *judge, int rank, int64_t thread)
{
    mpicheck_blocked_call *blocked = taken(&judge->ranks[rank], thread);
    if (blocked) mpicheck_blocked_call_free(blocked);
    judge->epoch++;
}

void mpicheck_tracker_blocked(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    mpicheck_rank *r = &judge->ranks[rank];
    mpicheck_blocked_call *blocked = calloc(1, sizeof(*blocked));
    if (!blocked) abort();
    blocked->thread = mpicheck_frame_get(frame);
    r->threads = (int)mpicheck_frame_get(frame);
    blocked->probe = mpicheck_frame_get(frame);
    blocked->any = mpicheck_frame_get(frame) != 0;
    r->unpaired = !mpicheck_frame_get(frame);
    blocked->call = strdup(mpicheck_frame_get_text(frame));
    blocked->site = (int)mpicheck_frame_get(frame);
    blocked->waited = read_items(frame, &blocked->waits);
    blocked->pending = read_items(frame, &blocked->pendings);
    if (blocked->waits == 1 && blocked->waited[0].kind == MPICHECK_ITEM_FINALIZE)
        r->state = MPICHECK_RANK_FINALIZES;
    /* The same wait, reported again in answer to a question, changes nothing. */
    mpicheck_blocked_call *before = taken(r, blocked->thread);
    blocked->epoch = before ? before->epoch : ++judge->epoch;
    if (before) mpicheck_blocked_call_free(before);
    blocked->next = r->blocked_calls;
    r->blocked_calls = blocked;
}

static bool fits(const mpicheck_item *send, int sender, const mpicheck_item *recv, int receiver)
{
    return send->kind == MPICHECK_ITEM_SEND && recv->kind == MPICHECK_ITEM_RECV &&
           send->comm == recv->comm && send->peer == receiver &&
           (recv->peer == -1 || recv->peer == sender) &&
           (recv->tag == -1 || recv->tag == send->tag);
}

/* Whether the other end of a message is pending at `peer`: then the message is on its way. */
static bool on_its_way(const mpicheck_judge *judge, const mpicheck_item *item, int rank, int peer)
{
    for (const mpicheck_blocked_call *blocked = judge->ranks[peer].blocked_calls; blocked;
         blocked = blocked->next)
        for (int i = 0; i < blocked->waits + blocked->pendings; i++) {
            const mpicheck_item *other =
                i < blocked->waits ? &blocked->waited[i] : &blocked->pending[i - blocked->waits];
            if (fits(item, rank, other, peer) || fits(other, peer, item, rank)) return true;
        }
    return false;
}

/* How many of the rank's receives may take a message before this one does: those that were posted earlier. */
static int64_t rivals(const mpicheck_blocked_call *blocked, const mpicheck_item *item)
{
    int64_t n = 0;
    for (int i = 0; i < blocked->pendings; i++) {
        const mpicheck_item *other = &blocked->pending[i];
        n += other->kind == MPICHECK_ITEM_RECV && other->number < item->number &&
             other->comm == item->comm &&
             (other->peer == -1 || item->peer == -1 || other->peer == item->peer) &&
             (other->tag == -1 || item->tag == -1 || other->tag == item->tag);
    }
    return n;
}

/* Whether a message for this receive was sent, and no earlier receive can take it: MPI has to deliver it, even if its
 * sender waits for something else, has freed the request or finalizes. */
static bool is_sent(mpicheck_judge *judge, int rank, const mpicheck_item *item)
{
    const mpicheck_rank *r = &judge->ranks[rank];
    if (item->kind != MPICHECK_ITEM_RECV || r->unpaired || !r->blocked_calls) return false;
    return mpicheck_tracker_sent(judge, item, rank) > rivals(r->blocked_calls, item);
}

static bool rank_alive(const mpicheck_rank *rank)
{
    int stopped = 0;
    if (rank->state != MPICHECK_RANK_RUNS) return false;
    for (const mpicheck_blocked_call *blocked = rank->blocked_calls; blocked;
         blocked = blocked->next) {
        if (blocked->alive) return true;
        stopped++;
    }
    return stopped < rank->threads;
}

static bool item_alive(mpicheck_judge *judge, int rank, const mpicheck_item *item)
{
    if (item->kind == MPICHECK_ITEM_OTHER) return true;
    if (item->kind == MPICHECK_ITEM_COLL) {
        int *missing = calloc((size_t)judge->size + 1, sizeof(int));
        if (!missing) abort();
        int count = mpicheck_tracker_missing(judge, item->comm, item->sequence, missing),
            living = 0;
        for (int i = 0; i < count; i++) living += rank_alive(&judge->ranks[missing[i]]);
        free(missing);
        return living == count;
    }
    if (is_sent(judge, rank, item)) return true;
    if (item->peer >= 0)
        return item->peer >= judge->size || rank_alive(&judge->ranks[item->peer]) ||
               on_its_way(judge, item, rank, item->peer);
    const mpicheck_tracker_comm *comm = mpicheck_tracker_comm_find(judge, item->comm);
    if (!comm) return true;
    for (int i = 0; i < comm->size + comm->others; i++) {
        int peer = comm->members[i];
        if (on_its_way(judge, item, rank, peer)) return true;
        if (peer != rank && rank_alive(&judge->ranks[peer])) return true;
    }
    /* Another thread of the same rank may send. */
    return rank_alive(&judge->ranks[rank]);
}

static bool blocked_alive(mpicheck_judge *judge, int rank, const mpicheck_blocked_call *blocked)
{
    for (int i = 0; i < blocked->waits; i++)
        if (item_alive(judge, rank, &blocked->waited[i]) == blocked->any) return blocked->any;
    return blocked->waits == 0 || !blocked->any;
}

/* Marks every blocked call that can be freed, starting with those that running ranks can free; returns how many
 * cannot. */
static int dead_stops(mpicheck_judge *judge)
{
    int dead = 0;
    bool changed = true;
    for (int r = 0; r < judge->size; r++)
        for (mpicheck_blocked_call *s = judge->ranks[r].blocked_calls; s; s = s->next)
            s->alive = false;
    while (changed) {
        changed = false;
        for (int r = 0; r < judge->size; r++) {
            if (judge->ranks[r].state != MPICHECK_RANK_RUNS) continue;
            for (mpicheck_blocked_call *s = judge->ranks[r].blocked_calls; s; s = s->next)
                if (!s->alive && blocked_alive(judge, r, s)) s->alive = changed = true;
        }
    }
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state == MPICHECK_RANK_RUNS)
            for (mpicheck_blocked_call *s = judge->ranks[r].blocked_calls; s; s = s->next)
                dead += !s->alive;
    return dead;
}

/* Whether all dead blocked calls have answered the last question. */
static bool answered(const mpicheck_judge *judge)
{
    for (int r = 0; r < judge->size; r++) {
        if (judge->ranks[r].state != MPICHECK_RANK_RUNS) continue;
        for (const mpicheck_blocked_call *s = judge->ranks[r].blocked_calls; s; s = s->next)
            if (!s->alive && s->probe != judge->probe) return false;
    }
    return true;
}

static void ask(mpicheck_judge *judge)
{
    mpicheck_frame frame = {0};
    judge->probe++;
    judge->asked_epoch = judge->epoch;
    judge->asked_at = mpicheck_now();
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_PROBE);
    mpicheck_frame_put(&frame, judge->probe);
    mpicheck_tracker_send_all(judge, &frame);
    mpicheck_frame_free(&frame);
}

static void describe_peer(mpicheck_report *report, mpicheck_judge *judge, const mpicheck_item *item)
{
    if (item->peer >= 0)
        mpicheck_report_add(report, "rank %d", item->peer);
    else
        mpicheck_report_add(report, "any rank");
    if (item->tag >= 0) mpicheck_report_add(report, ", tag %d", item->tag);
    mpicheck_report_add(report, ", on ");
    mpicheck_report_comm(report, judge, item->comm);
}

static void describe_item(mpicheck_report *report, mpicheck_judge *judge, int rank,
    const mpicheck_blocked_call *blocked, const mpicheck_item *item)
{
    int *missing = calloc((size_t)judge->size + 1, sizeof(int)), count;
    if (!missing) abort();
    switch (item->kind) {
    case MPICHECK_ITEM_SEND:
        mpicheck_report_add(report, "a receive by ");
        describe_peer(report, judge, item);
        break;
    case MPICHECK_ITEM_RECV:
        mpicheck_report_add(report, "a message from ");
        describe_peer(report, judge, item);
        break;
    case MPICHECK_ITEM_COLL:
        count = mpicheck_tracker_missing(judge, item->comm, item->sequence, missing);
        mpicheck_report_ranks(report, missing, count);
        mpicheck_report_add(
            report, " to start collective number %llu on ", (unsigned long long)item->sequence + 1);
        mpicheck_report_comm(report, judge, item->comm);
        break;
    default:
        mpicheck_report_add(report, "something unknown");
        break;
    }
    free(missing);
    if (strcmp(blocked->call, item->call) != 0 && item->site != 0) {
        mpicheck_report_add(report, " (%s at ", item->call);
        mpicheck_report_site(report, judge, rank, item->site);
        mpicheck_report_add(report, ")");
    }
}

static void describe_blocked(
    mpicheck_report *report, mpicheck_judge *judge, int rank, mpicheck_blocked_call *blocked)
{
    int shown = 0;
    mpicheck_report_add(report, "tutti-mpicheck:   rank %d: %s at ", rank, blocked->call);
    mpicheck_report_site(report, judge, rank, blocked->site);
    mpicheck_report_add(report, " waits for ");
    for (int i = 0; i < blocked->waits && shown < 8; i++) {
        if (item_alive(judge, rank, &blocked->waited[i])) continue;
        if (shown++ > 0) mpicheck_report_add(report, blocked->any ? " or " : " and ");
        describe_item(report, judge, rank, blocked, &blocked->waited[i]);
    }
    mpicheck_report_add(report, "\n");
}

/* A rank that a dead rank waits for; -1: none is known. */
static int waits_for(mpicheck_judge *judge, int rank)
{
    const mpicheck_blocked_call *blocked = judge->ranks[rank].blocked_calls;
    int *missing = calloc((size_t)judge->size + 1, sizeof(int)), found = -1;
    if (!missing) abort();
    if (judge->ranks[rank].state != MPICHECK_RANK_RUNS) blocked = NULL;
    for (int i = 0; blocked && i < blocked->waits && found < 0; i++) {
        const mpicheck_item *item = &blocked->waited[i];
        if (blocked->alive || item_alive(judge, rank, item)) continue;
        if (item->kind != MPICHECK_ITEM_COLL)
            found = item->peer;
        else if (mpicheck_tracker_missing(judge, item->comm, item->sequence, missing) > 0)
            found = missing[0];
    }
    free(missing);
    return found;
}

static void describe_cycle(mpicheck_report *report, mpicheck_judge *judge)
{
    int *step = calloc((size_t)judge->size, sizeof(int)), at = -1, steps = 1;
    if (!step) abort();
    for (int r = 0; r < judge->size && at < 0; r++) {
        int here = r;
        memset(step, 0, sizeof(int) * (size_t)judge->size);
        for (steps = 1; here >= 0 && step[here] == 0; here = waits_for(judge, here))
            step[here] = steps++;
        at = here;
    }
    free(step);
    if (at < 0) return;
    mpicheck_report_add(report, "tutti-mpicheck:   cycle: rank %d", at);
    for (int next = waits_for(judge, at);; next = waits_for(judge, next)) {
        mpicheck_report_add(report, " -> rank %d", next);
        if (next == at) break;
    }
    mpicheck_report_add(report, "\n");
}

static void describe_absent(
    mpicheck_report *report, mpicheck_judge *judge, mpicheck_rank_state state, const char *sentence)
{
    int *ranks = calloc((size_t)judge->size + 1, sizeof(int)), count = 0;
    if (!ranks) abort();
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state == state) ranks[count++] = r;
    if (count > 0) {
        mpicheck_report_add(report, "tutti-mpicheck:   ");
        mpicheck_report_ranks(report, ranks, count);
        mpicheck_report_add(report, "%s", sentence);
        const mpicheck_blocked_call *blocked = judge->ranks[ranks[0]].blocked_calls;
        if (state == MPICHECK_RANK_FINALIZES && blocked) {
            mpicheck_report_add(report, " at ");
            mpicheck_report_site(report, judge, ranks[0], blocked->site);
        }
        mpicheck_report_add(report, "\n");
    }
    free(ranks);
}

static void report_deadlock(mpicheck_judge *judge)
{
    mpicheck_report report = {0};
    mpicheck_report_add(&report, "tutti-mpicheck: error: deadlock: these calls can never return\n");
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state == MPICHECK_RANK_RUNS)
            for (mpicheck_blocked_call *s = judge->ranks[r].blocked_calls; s; s = s->next)
                if (!s->alive) describe_blocked(&report, judge, r, s);
    describe_absent(&report, judge, MPICHECK_RANK_FINALIZES, ": has called MPI_Finalize");
    describe_absent(&report, judge, MPICHECK_RANK_GONE, ": has ended");
    describe_cycle(&report, judge);
    mpicheck_report_error(judge, &report);
}

void mpicheck_tracker_hang_tick(mpicheck_judge *judge)
{
    double now = mpicheck_now();
    if (judge->ended) return;
    bool asked = judge->probe > 0 && judge->asked_epoch == judge->epoch;
    if (asked && now - judge->asked_at < question_s) return;
    if (dead_stops(judge) == 0) {
        judge->rounds = 0;
        return;
    }
    if (!asked) {
        judge->rounds = 0;
        ask(judge);
    } else if (answered(judge)) {
        if (++judge->rounds >= rounds_needed)
            report_deadlock(judge);
        else
            ask(judge);
    } else if (now - judge->asked_at > lost_answer_s) {
        ask(judge);
    }
}
