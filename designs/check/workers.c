/* The clause `workers`: can collectives that hold their workers occupy all workers of every rank? Decided by
 * exploring the states while they are few, else by the bound. */
#include "designs/check/parts.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- by exploration ---- */

/* A state is the set of collectives that have started: `width` bits per rank. It determines which have ended; the
 * order of past starts does not matter. */
enum { STATE_BITS = 64, TABLE = 1 << 18, MOST_STATES = TABLE / 2 };

typedef struct explorer {
    const tutti_check_match *match;
    int width;
    uint64_t *seen; /* hash table; ~0: free */
    uint64_t *stack;
    int states, depth;
} explorer;

static int has_started(const explorer *x, uint64_t state, int rank, int sequence)
{
    return (int)(state >> (rank * x->width + sequence) & 1);
}

static int has_ended(const explorer *x, uint64_t state, int event)
{
    for (int r = 0; r < x->match->check->ranks; r++) {
        int at = x->match->at[r][event];
        if (at >= 0 && !has_started(x, state, r, at)) return 0;
    }
    return 1;
}

static int is_held(const explorer *x, uint64_t state, int rank, int sequence)
{
    return x->match->check->rank[rank].coll[sequence].holds &&
           has_started(x, state, rank, sequence) &&
           !has_ended(x, state, x->match->event[rank][sequence]);
}

static int workers_held(const explorer *x, uint64_t state, int rank)
{
    int held = 0;
    for (int n = 0; n < x->match->check->rank[rank].colls; n++) held += is_held(x, state, rank, n);
    return held;
}

static int may_start(const explorer *x, uint64_t state, int rank, int sequence)
{
    const tutti_check_coll *c = &x->match->check->rank[rank].coll[sequence];
    if (has_started(x, state, rank, sequence)) return 0;
    for (int i = 0; i < c->befores; i++)
        if (!has_ended(x, state, x->match->event[rank][c->before[i]])) return 0;
    return 1;
}

/* Records a new state and puts it on the stack. */
static void visit_state(explorer *x, uint64_t state)
{
    uint64_t slot = state * 0x9e3779b97f4a7c15u >> 46;
    for (; x->seen[slot] != ~(uint64_t)0; slot = (slot + 1) % TABLE)
        if (x->seen[slot] == state) return;
    x->seen[slot] = state;
    x->stack[x->depth++] = state;
    x->states++;
}

/* Visits every successor of a state; returns how many starts are possible. */
static int visit_next(explorer *x, uint64_t state)
{
    const tutti_check *check = x->match->check;
    int moves = 0;
    for (int r = 0; r < check->ranks; r++) {
        int workers = check->rank[r].workers;
        if (workers && workers_held(x, state, r) >= workers) continue;
        for (int n = 0; n < check->rank[r].colls && x->states < MOST_STATES; n++) {
            if (!may_start(x, state, r, n)) continue;
            visit_state(x, state | (uint64_t)1 << (r * x->width + n));
            moves++;
        }
    }
    return moves;
}

static int everything_ended(const explorer *x, uint64_t state)
{
    for (int e = 0; e < x->match->events; e++)
        if (!has_ended(x, state, e)) return 0;
    return 1;
}

static void report_state(const explorer *x, uint64_t state, tutti_verdict *verdict)
{
    const tutti_check *check = x->match->check;
    char text[800] = "";
    size_t used = 0;
    for (int r = 0; r < check->ranks; r++) {
        if (used < sizeof text - 1)
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%srank %d waits in", r ? ", " : "", r);
        for (int n = 0; n < check->rank[r].colls; n++)
            if (is_held(x, state, r, n) && used < sizeof text - 1)
                used += (size_t)snprintf(
                    text + used, sizeof text - used, " '%s'", check->rank[r].coll[n].name);
    }
    tutti_check_report(verdict, TUTTI_CLAUSE_WORKERS, 0, 1,
        "all workers can be taken by collectives that wait for each other: %s", text);
}

/* Returns 1 if every state was visited, or a deadlock was found. */
static int explore_states(explorer *x, tutti_verdict *verdict)
{
    memset(x->seen, 0xff, TABLE * sizeof *x->seen);
    visit_state(x, 0);
    while (x->depth && x->states < MOST_STATES) {
        uint64_t state = x->stack[--x->depth];
        if (visit_next(x, state) || everything_ended(x, state)) continue;
        report_state(x, state, verdict);
        return 1;
    }
    return x->states < MOST_STATES;
}

/* *known: whether exploration gave an answer. */
static tutti_status check_by_exploring(
    const tutti_check_match *match, int most_colls, int *known, tutti_verdict *verdict)
{
    *known = 0;
    if (most_colls * match->check->ranks >= STATE_BITS) return TUTTI_OK;
    explorer x = {.match = match, .width = most_colls};
    x.seen = malloc(TABLE * sizeof *x.seen);
    x.stack = malloc(TABLE * sizeof *x.stack);
    int fine = x.seen && x.stack;
    if (fine) *known = explore_states(&x, verdict);
    free(x.seen);
    free(x.stack);
    return fine ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
}

/* ---- by the bound ---- */

/* Whether some rank starts both. */
static int share_a_rank(const tutti_check_match *m, int a, int b)
{
    for (int r = 0; r < m->check->ranks; r++)
        if (m->at[r][a] >= 0 && m->at[r][b] >= 0) return 1;
    return 0;
}

/* follows[a * events + b]: on every rank that starts both, a ends before b can start. */
static tutti_status common_order(const tutti_check_match *m, char *follows)
{
    size_t events = (size_t)m->events;
    for (size_t pair = 0; pair < events * events; pair++)
        follows[pair] = (char)share_a_rank(m, (int)(pair / events), (int)(pair % events));
    for (int r = 0; r < m->check->ranks; r++) {
        uint64_t *above;
        size_t words;
        tutti_status status = tutti_check_closure(&m->check->rank[r], &above, &words);
        if (status) return status;
        for (int a = 0; a < m->events; a++)
            for (int b = 0; b < m->events; b++) {
                int at = m->at[r][a], bt = m->at[r][b];
                if (at < 0 || bt < 0) continue;
                uint64_t word = above[(size_t)bt * words + (size_t)at / 64];
                follows[(size_t)a * events + (size_t)b] &= (char)(word >> (at % 64) & 1);
            }
        free(above);
    }
    return TUTTI_OK;
}

/* Kuhn's augmenting paths: whether `a` finds a partner that follows it. */
static int augment_matching(const char *follows, int events, int a, int *partner, char *tried)
{
    for (int b = 0; b < events; b++) {
        if (!follows[(size_t)a * (size_t)events + (size_t)b] || tried[b]) continue;
        tried[b] = 1;
        if (partner[b] >= 0 && !augment_matching(follows, events, partner[b], partner, tried))
            continue;
        partner[b] = a;
        return 1;
    }
    return 0;
}

/* The size of the largest set of mutually unordered holding events: by Dilworth's theorem, the number of these events
 * minus the size of a maximum matching. -1: no memory. */
static int find_widest(const tutti_check_match *m, const char *holds, char *follows)
{
    int events = m->events, count = 0;
    int *partner = malloc(((size_t)events + 1) * sizeof *partner);
    char *tried = malloc((size_t)events + 1);
    for (int a = 0; a < events && partner && tried; a++) {
        partner[a] = -1;
        for (int b = 0; b < events; b++)
            if (!holds[a] || !holds[b] || a == b)
                follows[(size_t)a * (size_t)events + (size_t)b] = 0;
        count += holds[a];
    }
    for (int a = 0; a < events && partner && tried; a++) {
        memset(tried, 0, (size_t)events);
        count -= augment_matching(follows, events, a, partner, tried);
    }
    if (!partner || !tried) count = -1;
    free(partner);
    free(tried);
    return count;
}

static void judge_bound(const tutti_check *check, int K, int W, tutti_verdict *verdict)
{
    int P = 0;
    for (int g = 0; g < check->groups; g++)
        if (check->group[g].size > P) P = check->group[g].size;
    if (W * P > K * (P - 1)) return;
    tutti_check_report(verdict, TUTTI_CLAUSE_WORKERS, 0, 1,
        "up to %d unordered collectives hold a worker each, on %d ranks with %d workers: more than "
        "K(P-1)/P = %d(%d-1)/%d workers are needed, at least %d",
        K, P, W, K, P, P, K * (P - 1) / P + 1);
}

static tutti_status check_by_bound(const tutti_check_match *m, int workers, tutti_verdict *verdict)
{
    size_t events = (size_t)m->events;
    char *follows = malloc(events * events + 1), *holds = calloc(events + 1, 1);
    tutti_status status = TUTTI_OK;
    int K = -1;
    if (follows && holds) {
        for (int r = 0; r < m->check->ranks; r++)
            for (int n = 0; n < m->check->rank[r].colls; n++)
                holds[m->event[r][n]] |= (char)m->check->rank[r].coll[n].holds;
        status = common_order(m, follows);
        if (!status) K = find_widest(m, holds, follows);
    }
    free(follows);
    free(holds);
    if (status) return status;
    if (K < 0) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory");
    judge_bound(m->check, K, workers, verdict);
    return TUTTI_OK;
}

tutti_status tutti_check_workers(const tutti_check_match *match, tutti_verdict *verdict)
{
    const tutti_check *check = match->check;
    int holds = 0, fewest = 0, most_colls = 0, known;
    for (int r = 0; r < check->ranks; r++) {
        const tutti_check_rank *rank = &check->rank[r];
        for (int n = 0; n < rank->colls; n++) holds |= rank->coll[n].holds;
        if (rank->workers && (!fewest || rank->workers < fewest)) fewest = rank->workers;
        if (rank->colls > most_colls) most_colls = rank->colls;
    }
    if (!holds || !fewest) return TUTTI_OK;
    tutti_status status = check_by_exploring(match, most_colls, &known, verdict);
    if (status || known) return status;
    return check_by_bound(match, fewest, verdict);
}
