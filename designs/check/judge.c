/* The verdict, and the clauses that compare lanes. */
#include "designs/check/parts.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lanes agree: missing, order, and the fields of the fingerprint ---- */

/* How many collectives of this name a rank starts in a group. */
static int count_occurrences(const tutti_check_rank *rank, const tutti_check_coll *like)
{
    int found = 0;
    for (int n = 0; n < rank->colls; n++)
        found += rank->coll[n].group == like->group && !strcmp(rank->coll[n].name, like->name);
    return found;
}

/* Reports if `rank` starts this collective of `starter` less often than the starter does; returns whether it did. */
static int report_missing(const tutti_check *check, int rank, int starter,
    const tutti_check_coll *coll, tutti_verdict *verdict)
{
    char lane[96];
    int has = count_occurrences(&check->rank[rank], coll);
    int wants = count_occurrences(&check->rank[starter], coll);
    if (has >= wants) return 0;
    tutti_check_lane_name(check, coll, lane, sizeof lane);
    int sequence = (int)(coll - check->rank[starter].coll);
    if (has)
        tutti_check_report(verdict, TUTTI_CLAUSE_MISSING, rank, starter,
            "rank %d starts '%s' %d times, rank %d %d times (there first out of step as sequence "
            "%d, number %" PRId64 " on %s)",
            rank, coll->name, has, starter, wants, sequence, coll->number, lane);
    else
        tutti_check_report(verdict, TUTTI_CLAUSE_MISSING, rank, starter,
            "rank %d never starts '%s', which is sequence %d, number %" PRId64 " on %s, on rank %d",
            rank, coll->name, sequence, coll->number, lane, starter);
    return 1;
}

static const char *dtype_of(const tutti_check_coll *c)
{
    return tutti_dtype_name(c->dtype);
}

/* The operator of a reduction as text: "sum", or "user-defined operator 2". */
static const char *operator_of(const tutti_check_coll *c, char *text, size_t size)
{
    if (c->own)
        snprintf(text, size, "user-defined operator %d", (int)(c->op - TUTTI_USER_OP) + 1);
    else
        snprintf(text, size, "operator %s", tutti_reduce_op_name(c->op));
    return text;
}

static void compare_operators(const char *where, int rank, const tutti_check_coll *a, int other,
    const tutti_check_coll *b, tutti_verdict *verdict)
{
    char mine[40], theirs[40];
    if (a->op != b->op)
        tutti_check_report(verdict, TUTTI_CLAUSE_OPERATOR, rank, other,
            "%s has the %s on rank %d and the %s on rank %d", where,
            operator_of(a, mine, sizeof mine), rank, operator_of(b, theirs, sizeof theirs), other);
    else if (a->own != b->own)
        tutti_check_report(verdict, TUTTI_CLAUSE_OPERATOR, rank, other,
            "%s has the %s, which differs between rank %d and rank %d: every rank must make the "
            "same "
            "operators in the same order",
            where, operator_of(a, mine, sizeof mine), rank, other);
}

/* Compares two collectives with the same place and name. */
static void compare_fields(const tutti_check *check, int rank, const tutti_check_coll *a, int other,
    const tutti_check_coll *b, tutti_verdict *verdict)
{
    char where[256], lane[96];
    const tutti_coll_trait *trait = tutti_coll_trait_of(a->kind);
    snprintf(where, sizeof where, "'%.100s' (number %" PRId64 " on %s)", a->name, a->number,
        tutti_check_lane_name(check, a, lane, sizeof lane));
    if (a->kind != b->kind)
        tutti_check_report(verdict, TUTTI_CLAUSE_KIND, rank, other,
            "%s is %s on rank %d and %s on rank %d", where, tutti_coll_kind_name(a->kind), rank,
            tutti_coll_kind_name(b->kind), other);
    else if (a->priority != b->priority)
        tutti_check_report(verdict, TUTTI_CLAUSE_PRIORITY, rank, other,
            "%s has the priority %d on rank %d and %d on rank %d", where, a->priority, rank,
            b->priority, other);
    else if (!trait->data)
        return;
    else if (a->dtype != b->dtype)
        tutti_check_report(verdict, TUTTI_CLAUSE_TYPE, rank, other,
            "%s has elements of type %s on rank %d and %s on rank %d", where, dtype_of(a), rank,
            dtype_of(b), other);
    else if (a->count != b->count)
        tutti_check_report(verdict, TUTTI_CLAUSE_COUNT, rank, other,
            "%s has %" PRId64 " elements on rank %d and %" PRId64 " on rank %d", where, a->count,
            rank, b->count, other);
    else if (a->counts != b->counts)
        tutti_check_report(verdict, TUTTI_CLAUSE_COUNT, rank, other,
            "%s has parts of different lengths on rank %d and rank %d", where, rank, other);
    else if (trait->rooted && a->root != b->root)
        tutti_check_report(verdict, TUTTI_CLAUSE_ROOT, rank, other,
            "%s has root %d on rank %d and root %d on rank %d", where, a->root, rank, b->root,
            other);
    else if (trait->reduces)
        compare_operators(where, rank, a, other, b, verdict);
}

/* Compares what two ranks have at the same place of a lane; either may be NULL, not both. */
static void compare_place(const tutti_check *check, int rank, const tutti_check_coll *a, int other,
    const tutti_check_coll *b, tutti_verdict *verdict)
{
    char lane[96];
    if (a && b && !strcmp(a->name, b->name)) {
        compare_fields(check, rank, a, other, b, verdict);
        return;
    }
    if (a && report_missing(check, other, rank, a, verdict)) return;
    if (b && report_missing(check, rank, other, b, verdict)) return;
    const tutti_check_coll *there = a ? a : b;
    tutti_check_lane_name(check, there, lane, sizeof lane);
    tutti_check_report(verdict, TUTTI_CLAUSE_ORDER, rank, other,
        "number %" PRId64 " on %s is '%s' on rank %d and '%s' on rank %d", there->number, lane,
        a ? a->name : "nothing", rank, b ? b->name : "nothing", other);
}

/* The collective of a rank with the lane and number of `like`, or NULL. */
static const tutti_check_coll *on_lane(const tutti_check_rank *rank, const tutti_check_coll *like)
{
    for (int n = 0; n < rank->colls; n++) {
        const tutti_check_coll *c = &rank->coll[n];
        if (c->group == like->group && c->lane == like->lane && c->number == like->number) return c;
    }
    return NULL;
}

/* Compares every collective of `rank` in the group with the one of `other` in its place. */
static void compare_ranks(
    const tutti_check *check, int group, int rank, int other, tutti_verdict *verdict)
{
    const tutti_check_rank *mine = &check->rank[rank], *theirs = &check->rank[other];
    for (int n = 0; n < mine->colls && !verdict->clause; n++) {
        const tutti_check_coll *a = &mine->coll[n];
        if (a->group != group) continue;
        /* Ranks that agree have the partner at the same sequence number. */
        const tutti_check_coll *b = n < theirs->colls ? &theirs->coll[n] : NULL;
        if (!b || b->group != group || b->lane != a->lane || b->number != a->number)
            b = on_lane(theirs, a);
        compare_place(check, rank, a, other, b, verdict);
    }
}

static void check_lanes(const tutti_check *check, tutti_verdict *verdict)
{
    for (int g = 0; g < check->groups; g++) {
        const tutti_check_group *group = &check->group[g];
        for (int m = 1; m < group->size && !verdict->clause; m++) {
            compare_ranks(check, g, group->rank[0], group->rank[m], verdict);
            if (!verdict->clause) compare_ranks(check, g, group->rank[m], group->rank[0], verdict);
        }
    }
}

/* ---- lengths of parts in an alltoall ---- */

/* Compares the lengths of what member `m` of a group sends in this collective with what the others
 * expect. */
static void compare_pairs(const tutti_check *check, const tutti_check_group *group, int m,
    const tutti_check_coll *coll, tutti_verdict *verdict)
{
    char lane[96];
    int P = group->size, rank = group->rank[m];
    for (int q = 0; q < P && !verdict->clause; q++) {
        int other = group->rank[q];
        const tutti_check_coll *theirs = on_lane(&check->rank[other], coll);
        if (!theirs || !theirs->lengths || coll->length[q] == theirs->length[P + m]) continue;
        tutti_check_report(verdict, TUTTI_CLAUSE_COUNT, rank, other,
            "'%.100s' (number %" PRId64 " on %s): the part that rank %d sends rank %d has the "
            "length %" PRId64 ", but rank %d expects %" PRId64,
            coll->name, coll->number, tutti_check_lane_name(check, coll, lane, sizeof lane), rank,
            other, coll->length[q], other, theirs->length[P + m]);
    }
}

static void check_pairs(const tutti_check *check, tutti_verdict *verdict)
{
    for (int g = 0; g < check->groups; g++) {
        const tutti_check_group *group = &check->group[g];
        for (int m = 0; m < group->size; m++) {
            const tutti_check_rank *rank = &check->rank[group->rank[m]];
            for (int n = 0; n < rank->colls && !verdict->clause; n++)
                if (rank->coll[n].group == g && rank->coll[n].lengths)
                    compare_pairs(check, group, m, &rank->coll[n], verdict);
        }
    }
}

/* ---- tokens ---- */

static void check_tokens(const tutti_check *check, tutti_verdict *verdict)
{
    for (int r = 0; r < check->ranks; r++)
        for (int n = 0; n < check->rank[r].colls; n++)
            if (check->rank[r].coll[n].lost && !verdict->clause)
                tutti_check_report(verdict, TUTTI_CLAUSE_TOKEN, r, -1,
                    "rank %d never receives the end of '%s' (sequence %d): its successors there "
                    "never "
                    "run",
                    r, check->rank[r].coll[n].name, n);
}

/* ---- all clauses ---- */

/* The clauses about what waits for what. */
static tutti_status judge_waits(
    const tutti_check *check, const tutti_design *design, tutti_verdict *verdict)
{
    int one_order = check->shares_slots && !design->unsafe;
    tutti_check_match match;
    tutti_status status = tutti_check_match_new(check, &match);
    if (status) return status;
    status = tutti_check_cycle(&match, design->start, one_order, verdict);
    if (!status && !verdict->clause) status = tutti_check_workers(&match, verdict);
    tutti_check_match_free(&match);
    return status;
}

/* The clause `workers` assumes that a worker is held from the start to the end of a collective that it starts itself,
 * and that everything that waits for a chain waits for that end. */
static tutti_status check_held(const tutti_check *check, const tutti_design *design)
{
    if (tutti_design_may_hold(design)) return TUTTI_OK;
    for (int r = 0; r < check->ranks; r++)
        for (int n = 0; n < check->rank[r].colls; n++)
            if (check->rank[r].coll[n].holds)
                return tutti_fail(TUTTI_ERR_INVAL,
                    "check: in design %s '%s' holds a worker that does not start it, or that has "
                    "passed on a chain: the checker cannot decide whether the ordering law holds",
                    design->name, check->rank[r].coll[n].name);
    return TUTTI_OK;
}

tutti_status tutti_check_judge(
    const tutti_check *check, const tutti_design *design, tutti_verdict *verdict)
{
    tutti_verdict v = {.rank = -1, .other = -1, .text = "none: the ordering law holds"};
    tutti_status status = tutti_design_check(design);
    if (!status) status = check_held(check, design);
    if (status) return status;
    check_lanes(check, &v);
    if (!v.clause) check_pairs(check, &v);
    /* here only the graph keeps the order of a lane, or of all lanes */
    int any_lane = check->shares_slots && design->unsafe;
    if (!v.clause && design->start->at_once) status = tutti_check_overtaking(check, any_lane, &v);
    if (!v.clause) check_tokens(check, &v);
    if (!v.clause && !status) status = judge_waits(check, design, &v);
    if (!status) *verdict = v;
    return status;
}
