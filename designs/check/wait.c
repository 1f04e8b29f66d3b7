/* The clauses about waiting: overtaking on a lane, and rings of collectives. */
#include "designs/check/parts.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what must end before what, on one rank ---- */

static int is_above(const uint64_t *above, size_t words, int n, int before)
{
    return (int)(above[(size_t)n * words + (size_t)before / 64] >> (before % 64) & 1);
}

tutti_status tutti_check_closure(const tutti_check_rank *rank, uint64_t **above, size_t *words)
{
    size_t w = (size_t)rank->colls / 64 + 1;
    uint64_t *bits = calloc((size_t)rank->colls + 1, w * sizeof *bits);
    if (!bits) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    for (int n = 0; n < rank->colls; n++)
        for (int i = 0; i < rank->coll[n].befores; i++) {
            int before = rank->coll[n].before[i];
            for (size_t k = 0; k < w; k++) bits[(size_t)n * w + k] |= bits[(size_t)before * w + k];
            bits[(size_t)n * w + (size_t)before / 64] |= (uint64_t)1 << (before % 64);
        }
    *above = bits;
    *words = w;
    return TUTTI_OK;
}

/* Whether a collective takes a device slot. */
static int takes_slot(const tutti_check *check, const tutti_check_coll *c)
{
    return check->shares_slots && !(check->edges_aside && check->group[c->group].edge);
}

/* The collective before this one on its lane, or, if both take device slots, on any; -1: none. */
static int find_previous(const tutti_check *check, int rank, int n, int any_lane)
{
    const tutti_check_coll *coll = check->rank[rank].coll, *c = &coll[n];
    any_lane = any_lane && takes_slot(check, c);
    for (int p = n - 1; p >= 0; p--)
        if (any_lane ? takes_slot(check, &coll[p])
                     : coll[p].group == c->group && coll[p].lane == c->lane)
            return p;
    return -1;
}

/* Whether both are chunks of one node: those start one after the other. */
static int is_same_node(const tutti_check_rank *rank, int before, int n)
{
    return before >= n - rank->coll[n].chunk;
}

/* If no queue keeps the order of a lane, the graph must. */
static tutti_status check_rank_order(
    const tutti_check *check, int rank, int any_lane, tutti_verdict *verdict)
{
    const tutti_check_rank *r = &check->rank[rank];
    uint64_t *above;
    size_t words;
    char lane[96];
    tutti_status status = tutti_check_closure(r, &above, &words);
    if (status) return status;
    for (int n = 0; n < r->colls && !verdict->clause; n++) {
        int before = find_previous(check, rank, n, any_lane);
        if (before < 0 || is_same_node(r, before, n) || is_above(above, words, n, before)) continue;
        tutti_check_report(verdict, TUTTI_CLAUSE_ORDER, rank, -1,
            "nothing orders '%s' and '%s' (sequence %d and %d) on %s: rank %d can start one first "
            "and another rank the other",
            r->coll[before].name, r->coll[n].name, before, n,
            any_lane ? "lanes that share device slots"
                     : tutti_check_lane_name(check, &r->coll[n], lane, sizeof lane),
            rank);
    }
    free(above);
    return TUTTI_OK;
}

tutti_status tutti_check_overtaking(const tutti_check *check, int any_lane, tutti_verdict *verdict)
{
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < check->ranks && !status && !verdict->clause; r++)
        status = check_rank_order(check, r, any_lane, verdict);
    return status;
}

/* ---- events ---- */

void tutti_check_match_free(tutti_check_match *match)
{
    for (int r = 0; r < match->check->ranks; r++) {
        if (match->event) free(match->event[r]);
        if (match->at) free(match->at[r]);
    }
    free(match->event);
    free(match->at);
    free(match->members);
}

/* The first member of a group starts every collective of the group: its collectives are the events. */
static int event_of(const tutti_check_match *m, const tutti_check_coll *c)
{
    int first = m->check->group[c->group].rank[0];
    const tutti_check_rank *rank = &m->check->rank[first];
    for (int n = 0; n < rank->colls; n++)
        if (rank->coll[n].group == c->group && rank->coll[n].lane == c->lane &&
            rank->coll[n].number == c->number)
            return m->event[first][n];
    return -1;
}

static void match_rank(tutti_check_match *m, int rank)
{
    const tutti_check_rank *r = &m->check->rank[rank];
    for (int n = 0; n < r->colls; n++) {
        const tutti_check_coll *c = &r->coll[n];
        int first = m->check->group[c->group].rank[0] == rank;
        if (first) m->event[rank][n] = m->events++;
    }
}

static void place_rank(tutti_check_match *m, int rank)
{
    const tutti_check_rank *r = &m->check->rank[rank];
    for (int n = 0; n < r->colls; n++) {
        const tutti_check_coll *c = &r->coll[n];
        if (m->check->group[c->group].rank[0] != rank) m->event[rank][n] = event_of(m, c);
        m->at[rank][m->event[rank][n]] = n;
        m->members[m->event[rank][n]]++;
    }
}

tutti_status tutti_check_match_new(const tutti_check *check, tutti_check_match *match)
{
    tutti_check_match m = {.check = check};
    size_t ranks = (size_t)check->ranks, all = 0;
    for (int r = 0; r < check->ranks; r++) all += (size_t)check->rank[r].colls;
    m.event = calloc(ranks, sizeof *m.event);
    m.at = calloc(ranks, sizeof *m.at);
    m.members = calloc(all + 1, sizeof *m.members);
    int fine = m.event && m.at && m.members;
    for (int r = 0; r < check->ranks && fine; r++) {
        m.event[r] = calloc((size_t)check->rank[r].colls + 1, sizeof **m.event);
        m.at[r] = malloc((all + 1) * sizeof **m.at);
        fine = m.event[r] && m.at[r];
        for (size_t e = 0; e <= all && fine; e++) m.at[r][e] = -1;
    }
    if (!fine) {
        tutti_check_match_free(&m);
        return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    }
    for (int r = 0; r < check->ranks; r++) match_rank(&m, r);
    for (int r = 0; r < check->ranks; r++) place_rank(&m, r);
    *match = m;
    return TUTTI_OK;
}

/* ---- rings ---- */

/* A run in which everything starts as soon as it may, with enough workers. A later start never blocks anything, so a
 * collective that has not ended at the end of this run never ends. */
typedef struct simulation {
    const tutti_check_match *match;
    const tutti_start_rule *rule;
    int one_order;
    char **started; /* [rank][sequence] */
    int *arrived;   /* [event] ranks that have started it */
} simulation;

/* One rank's collective. */
typedef struct spot {
    int rank, sequence;
} spot;

static int has_ended(const simulation *p, int rank, int sequence)
{
    int event = p->match->event[rank][sequence];
    return p->arrived[event] == p->match->members[event];
}

/* A collective that must end first, or -1. */
static int unended_before(const simulation *p, int rank, int sequence)
{
    const tutti_check_coll *c = &p->match->check->rank[rank].coll[sequence];
    for (int i = 0; i < c->befores; i++)
        if (!has_ended(p, rank, c->before[i])) return c->before[i];
    return -1;
}

/* The start rule's view of one rank. */
typedef struct view {
    tutti_start_view base; /* first member: the view's address is its base's */
    const simulation *simulation;
    int rank;
} view;

static const tutti_check_coll *coll_at(const tutti_start_view *base, int n)
{
    const view *v = (const view *)base;
    return &v->simulation->match->check->rank[v->rank].coll[n];
}

static int view_group(const tutti_start_view *base, int n)
{
    return coll_at(base, n)->group;
}

static int view_lane(const tutti_start_view *base, int n)
{
    return coll_at(base, n)->lane;
}

static int view_takes_slot(const tutti_start_view *base, int n)
{
    return takes_slot(((const view *)base)->simulation->match->check, coll_at(base, n));
}

static int view_begins(const tutti_start_view *base, int n)
{
    return !coll_at(base, n)->index && !coll_at(base, n)->chunk;
}

static int view_ready(const tutti_start_view *base, int n)
{
    const view *v = (const view *)base;
    return unended_before(v->simulation, v->rank, n) < 0;
}

static int view_started(const tutti_start_view *base, int n)
{
    const view *v = (const view *)base;
    return v->simulation->started[v->rank][n];
}

static int view_ended(const tutti_start_view *base, int n)
{
    const view *v = (const view *)base;
    return has_ended(v->simulation, v->rank, n);
}

/* What a collective that has not started waits for, on its own rank; -1: nothing. */
static int waits_for(const simulation *p, int rank, int sequence)
{
    int before = unended_before(p, rank, sequence);
    if (before >= 0) return before;
    const view v = {.base = {.count = p->match->check->rank[rank].colls,
                        .group = view_group,
                        .lane = view_lane,
                        .begins = view_begins,
                        .ready = view_ready,
                        .started = view_started,
                        .ended = view_ended,
                        .one_order = p->one_order,
                        .takes_slot = view_takes_slot},
        .simulation = p,
        .rank = rank};
    return tutti_start_held_back(p->rule, &v.base, sequence);
}

/* Starts all that may start, until nothing else does. */
static void run_freely(simulation *p)
{
    const tutti_check *check = p->match->check;
    for (int moved = 1; moved;) {
        moved = 0;
        for (int r = 0; r < check->ranks; r++)
            for (int n = 0; n < check->rank[r].colls; n++) {
                if (p->started[r][n] || waits_for(p, r, n) >= 0) continue;
                p->started[r][n] = 1;
                p->arrived[p->match->event[r][n]]++;
                moved = 1;
            }
    }
}

/* Steps from a collective that has not ended to one that it waits for, on this rank or another. */
static spot next_spot(const simulation *p, spot s)
{
    if (!p->started[s.rank][s.sequence]) return (spot){s.rank, waits_for(p, s.rank, s.sequence)};
    int event = p->match->event[s.rank][s.sequence];
    for (int r = 0; r < p->match->check->ranks; r++) {
        int at = p->match->at[r][event];
        if (at >= 0 && !p->started[r][at]) return (spot){r, at};
    }
    return s;
}

/* The first collective that never ends, or sequence -1. */
static spot first_stuck(const simulation *p)
{
    for (int r = 0; r < p->match->check->ranks; r++)
        for (int n = 0; n < p->match->check->rank[r].colls; n++)
            if (!has_ended(p, r, n)) return (spot){r, n};
    return (spot){-1, -1};
}

static void report_ring(const simulation *p, spot s, tutti_verdict *verdict)
{
    enum { MOST_SHOWN = 12 };
    const tutti_check *check = p->match->check;
    char text[900] = "";
    size_t used = 0;
    int walked = 0;
    /* After this many steps, s is in the ring. */
    for (int e = 0; e < p->match->events * check->ranks; e++) s = next_spot(p, s);
    spot start = s;
    int other = -1;
    do {
        spot next = next_spot(p, s);
        const char *name = check->rank[s.rank].coll[s.sequence].name;
        const char *awaited = check->rank[next.rank].coll[next.sequence].name;
        if (used < sizeof text - 1 && next.rank == s.rank)
            used += (size_t)snprintf(text + used, sizeof text - used,
                "%srank %d's '%s' (sequence %d) waits for its '%s'", walked ? "; " : "", s.rank,
                name, s.sequence, awaited);
        else if (used < sizeof text - 1)
            used += (size_t)snprintf(text + used, sizeof text - used,
                "%s'%s' waits for rank %d to start it", walked ? "; " : "", name, next.rank);
        if (next.rank != start.rank && other < 0) other = next.rank;
        s = next;
        walked++;
    } while ((s.rank != start.rank || s.sequence != start.sequence) && walked < MOST_SHOWN);
    tutti_check_report(verdict, TUTTI_CLAUSE_CYCLE, start.rank, other, "%s", text);
}

tutti_status tutti_check_cycle(const tutti_check_match *match, const tutti_start_rule *rule,
    int one_order, tutti_verdict *verdict)
{
    const tutti_check *check = match->check;
    simulation p = {.match = match, .rule = rule, .one_order = one_order};
    p.started = calloc((size_t)check->ranks, sizeof *p.started);
    p.arrived = calloc((size_t)match->events + 1, sizeof *p.arrived);
    int fine = p.started && p.arrived;
    for (int r = 0; r < check->ranks && fine; r++)
        fine = (p.started[r] = calloc((size_t)check->rank[r].colls + 1, 1)) != NULL;
    if (fine) {
        run_freely(&p);
        spot stuck = first_stuck(&p);
        if (stuck.sequence >= 0) report_ring(&p, stuck, verdict);
    }
    for (int r = 0; p.started && r < check->ranks; r++) free(p.started[r]);
    free(p.started);
    free(p.arrived);
    return fine ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
}
