/* Deadlocks: ranks that wait for what no running rank can ever do. */
#include "apps/check/court.h"
#include "apps/check/now.h"

#include <stdlib.h>
#include <string.h>

/* A wait that looks endless is believed after so many questions that were answered "still". */
enum { rounds_needed = 2 };
static const double question_s = 0.25, lost_answer_s = 5.0;

static tutti_item *read_items(tutti_frame *frame, int *count)
{
    int64_t n = tutti_frame_get(frame);
    if (n < 0 || (size_t)n > frame->length / 64) n = 0;
    tutti_item *row = calloc((size_t)n + 1, sizeof(*row));
    if (!row) abort();
    for (int i = 0; i < n; i++) {
        tutti_item *item = &row[i];
        item->kind = (tutti_item_kind)tutti_frame_get(frame);
        item->comm = (uint64_t)tutti_frame_get(frame);
        item->peer = (int)tutti_frame_get(frame);
        item->tag = (int)tutti_frame_get(frame);
        item->sequence = (uint64_t)tutti_frame_get(frame);
        item->bytes = tutti_frame_get(frame);
        item->call = strdup(tutti_frame_get_text(frame));
        item->site = (int)tutti_frame_get(frame);
    }
    *count = (int)n;
    return row;
}

static void free_items(tutti_item *row, int count)
{
    for (int i = 0; i < count; i++) free((char *)row[i].call);
    free(row);
}

void tutti_court_stop_free(tutti_stop *stop)
{
    free_items(stop->waited, stop->waits);
    free_items(stop->pending, stop->pendings);
    free(stop->call);
    free(stop);
}

static tutti_stop *taken(tutti_rank *rank, int64_t thread)
{
    for (tutti_stop **at = &rank->stops; *at; at = &(*at)->next) {
        tutti_stop *stop = *at;
        if (stop->thread != thread) continue;
        *at = stop->next;
        return stop;
    }
    return NULL;
}

void tutti_court_unblocked(tutti_judge *judge, int rank, int64_t thread)
{
    tutti_stop *stop = taken(&judge->ranks[rank], thread);
    if (stop) tutti_court_stop_free(stop);
    judge->epoch++;
}

void tutti_court_blocked(tutti_judge *judge, int rank, tutti_frame *frame)
{
    tutti_rank *r = &judge->ranks[rank];
    tutti_stop *stop = calloc(1, sizeof(*stop));
    if (!stop) abort();
    stop->thread = tutti_frame_get(frame);
    r->threads = (int)tutti_frame_get(frame);
    stop->probe = tutti_frame_get(frame);
    stop->any = tutti_frame_get(frame) != 0;
    stop->call = strdup(tutti_frame_get_text(frame));
    stop->site = (int)tutti_frame_get(frame);
    stop->waited = read_items(frame, &stop->waits);
    stop->pending = read_items(frame, &stop->pendings);
    if (stop->waits == 1 && stop->waited[0].kind == TUTTI_ITEM_FINALIZE)
        r->state = TUTTI_RANK_FINALIZES;
    /* The same wait, said again in answer to a question, changes nothing. */
    tutti_stop *before = taken(r, stop->thread);
    stop->epoch = before ? before->epoch : ++judge->epoch;
    if (before) tutti_court_stop_free(before);
    stop->next = r->stops;
    r->stops = stop;
}

static bool fits(const tutti_item *send, int sender, const tutti_item *recv, int receiver)
{
    return send->kind == TUTTI_ITEM_SEND && recv->kind == TUTTI_ITEM_RECV &&
           send->comm == recv->comm && send->peer == receiver &&
           (recv->peer == -1 || recv->peer == sender) &&
           (recv->tag == -1 || recv->tag == send->tag);
}

/* Whether the other side of a message is pending at `peer`: then it is on its way. */
static bool on_its_way(const tutti_judge *judge, const tutti_item *item, int rank, int peer)
{
    for (const tutti_stop *stop = judge->ranks[peer].stops; stop; stop = stop->next)
        for (int i = 0; i < stop->waits + stop->pendings; i++) {
            const tutti_item *other =
                i < stop->waits ? &stop->waited[i] : &stop->pending[i - stop->waits];
            if (fits(item, rank, other, peer) || fits(other, peer, item, rank)) return true;
        }
    return false;
}

static bool rank_alive(const tutti_rank *rank)
{
    int stopped = 0;
    if (rank->state != TUTTI_RANK_RUNS) return false;
    for (const tutti_stop *stop = rank->stops; stop; stop = stop->next) {
        if (stop->alive) return true;
        stopped++;
    }
    return stopped < rank->threads;
}

static bool item_alive(tutti_judge *judge, int rank, const tutti_item *item)
{
    if (item->kind == TUTTI_ITEM_OTHER) return true;
    if (item->kind == TUTTI_ITEM_COLL) {
        int *missing = calloc((size_t)judge->size + 1, sizeof(int));
        if (!missing) abort();
        int count = tutti_court_missing(judge, item->comm, item->sequence, missing), living = 0;
        for (int i = 0; i < count; i++) living += rank_alive(&judge->ranks[missing[i]]);
        free(missing);
        return living == count;
    }
    if (item->peer >= 0)
        return item->peer >= judge->size || rank_alive(&judge->ranks[item->peer]) ||
               on_its_way(judge, item, rank, item->peer);
    const tutti_court_comm *comm = tutti_court_comm_find(judge, item->comm);
    if (!comm) return true;
    for (int i = 0; i < comm->size + comm->others; i++) {
        int peer = comm->members[i];
        if (on_its_way(judge, item, rank, peer)) return true;
        if (peer != rank && rank_alive(&judge->ranks[peer])) return true;
    }
    /* Another thread of the rank itself may send. */
    return rank_alive(&judge->ranks[rank]);
}

static bool stop_alive(tutti_judge *judge, int rank, const tutti_stop *stop)
{
    for (int i = 0; i < stop->waits; i++)
        if (item_alive(judge, rank, &stop->waited[i]) == stop->any) return stop->any;
    return stop->waits == 0 || !stop->any;
}

/* Marks every stop that can be freed, from those that running ranks can free on; how many cannot. */
static int dead_stops(tutti_judge *judge)
{
    int dead = 0;
    bool changed = true;
    for (int r = 0; r < judge->size; r++)
        for (tutti_stop *s = judge->ranks[r].stops; s; s = s->next) s->alive = false;
    while (changed) {
        changed = false;
        for (int r = 0; r < judge->size; r++) {
            if (judge->ranks[r].state != TUTTI_RANK_RUNS) continue;
            for (tutti_stop *s = judge->ranks[r].stops; s; s = s->next)
                if (!s->alive && stop_alive(judge, r, s)) s->alive = changed = true;
        }
    }
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state == TUTTI_RANK_RUNS)
            for (tutti_stop *s = judge->ranks[r].stops; s; s = s->next) dead += !s->alive;
    return dead;
}

/* Whether all dead stops have answered the last question. */
static bool answered(const tutti_judge *judge)
{
    for (int r = 0; r < judge->size; r++) {
        if (judge->ranks[r].state != TUTTI_RANK_RUNS) continue;
        for (const tutti_stop *s = judge->ranks[r].stops; s; s = s->next)
            if (!s->alive && s->probe != judge->probe) return false;
    }
    return true;
}

static void ask(tutti_judge *judge)
{
    tutti_frame frame = {0};
    judge->probe++;
    judge->asked_epoch = judge->epoch;
    judge->asked_at = tutti_now();
    tutti_frame_begin(&frame, TUTTI_FRAME_PROBE);
    tutti_frame_put(&frame, judge->probe);
    tutti_court_send_all(judge, &frame);
    tutti_frame_free(&frame);
}

static void describe_peer(tutti_report *report, tutti_judge *judge, const tutti_item *item)
{
    if (item->peer >= 0)
        tutti_report_add(report, "rank %d", item->peer);
    else
        tutti_report_add(report, "any rank");
    if (item->tag >= 0) tutti_report_add(report, ", tag %d", item->tag);
    tutti_report_add(report, ", on ");
    tutti_report_comm(report, judge, item->comm);
}

static void describe_item(tutti_report *report, tutti_judge *judge, int rank,
    const tutti_stop *stop, const tutti_item *item)
{
    int *missing = calloc((size_t)judge->size + 1, sizeof(int)), count;
    if (!missing) abort();
    switch (item->kind) {
    case TUTTI_ITEM_SEND:
        tutti_report_add(report, "a receive by ");
        describe_peer(report, judge, item);
        break;
    case TUTTI_ITEM_RECV:
        tutti_report_add(report, "a message from ");
        describe_peer(report, judge, item);
        break;
    case TUTTI_ITEM_COLL:
        count = tutti_court_missing(judge, item->comm, item->sequence, missing);
        tutti_report_ranks(report, missing, count);
        tutti_report_add(
            report, " to start collective number %llu on ", (unsigned long long)item->sequence + 1);
        tutti_report_comm(report, judge, item->comm);
        break;
    default:
        tutti_report_add(report, "something unknown");
        break;
    }
    free(missing);
    if (strcmp(stop->call, item->call) != 0 && item->site != 0) {
        tutti_report_add(report, " (%s at ", item->call);
        tutti_report_site(report, judge, rank, item->site);
        tutti_report_add(report, ")");
    }
}

static void describe_stop(tutti_report *report, tutti_judge *judge, int rank, tutti_stop *stop)
{
    int shown = 0;
    tutti_report_add(report, "tutti-check:   rank %d: %s at ", rank, stop->call);
    tutti_report_site(report, judge, rank, stop->site);
    tutti_report_add(report, " waits for ");
    for (int i = 0; i < stop->waits && shown < 8; i++) {
        if (item_alive(judge, rank, &stop->waited[i])) continue;
        if (shown++ > 0) tutti_report_add(report, stop->any ? " or " : " and ");
        describe_item(report, judge, rank, stop, &stop->waited[i]);
    }
    tutti_report_add(report, "\n");
}

/* The rank that a dead rank waits for, when that can be said of one; -1: several or none. */
static int waits_for(tutti_judge *judge, int rank)
{
    const tutti_stop *stop = judge->ranks[rank].stops;
    int *missing = calloc((size_t)judge->size + 1, sizeof(int)), found = -1;
    if (!missing) abort();
    if (judge->ranks[rank].state != TUTTI_RANK_RUNS) stop = NULL;
    for (int i = 0; stop && i < stop->waits && found < 0; i++) {
        const tutti_item *item = &stop->waited[i];
        if (stop->alive || item_alive(judge, rank, item)) continue;
        if (item->kind != TUTTI_ITEM_COLL)
            found = item->peer;
        else if (tutti_court_missing(judge, item->comm, item->sequence, missing) > 0)
            found = missing[0];
    }
    free(missing);
    return found;
}

static void describe_cycle(tutti_report *report, tutti_judge *judge)
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
    tutti_report_add(report, "tutti-check:   cycle: rank %d", at);
    for (int next = waits_for(judge, at);; next = waits_for(judge, next)) {
        tutti_report_add(report, " -> rank %d", next);
        if (next == at) break;
    }
    tutti_report_add(report, "\n");
}

static void describe_absent(
    tutti_report *report, tutti_judge *judge, tutti_rank_state state, const char *sentence)
{
    int *ranks = calloc((size_t)judge->size + 1, sizeof(int)), count = 0;
    if (!ranks) abort();
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state == state) ranks[count++] = r;
    if (count > 0) {
        tutti_report_add(report, "tutti-check:   ");
        tutti_report_ranks(report, ranks, count);
        tutti_report_add(report, "%s", sentence);
        const tutti_stop *stop = judge->ranks[ranks[0]].stops;
        if (state == TUTTI_RANK_FINALIZES && stop) {
            tutti_report_add(report, " at ");
            tutti_report_site(report, judge, ranks[0], stop->site);
        }
        tutti_report_add(report, "\n");
    }
    free(ranks);
}

static void report_deadlock(tutti_judge *judge)
{
    tutti_report report = {0};
    tutti_report_add(&report, "tutti-check: error: deadlock: these calls can never return\n");
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state == TUTTI_RANK_RUNS)
            for (tutti_stop *s = judge->ranks[r].stops; s; s = s->next)
                if (!s->alive) describe_stop(&report, judge, r, s);
    describe_absent(&report, judge, TUTTI_RANK_FINALIZES, ": has called MPI_Finalize");
    describe_absent(&report, judge, TUTTI_RANK_GONE, ": has ended");
    describe_cycle(&report, judge);
    tutti_report_error(judge, &report);
}

void tutti_court_hang_tick(tutti_judge *judge)
{
    double now = tutti_now();
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
