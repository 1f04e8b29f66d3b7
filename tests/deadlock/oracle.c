#include "tests/deadlock/oracle.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/deadlock/wire.h"
#include "tests/support/values.h"

#include <stdlib.h>
#include <string.h>

/* One collective of one rank in the current step. */
typedef struct term {
    double *fed, *in, *out;
    int64_t in_count, out_count, from, to; /* out is defined in [from, to) */
    int partner[PROGRAM_RANKS];            /* index in each member's program; -1: none */
    int agree; /* every member has it, with the same kind, type, count, root and operator */
    uint64_t stream;
} term;

struct oracle {
    const program_setting *setting;
    term *term[PROGRAM_RANKS];
    double *numbers;
    int step; /* the current one */
};

static const program_collective *collective(const oracle *o, int r, int k)
{
    return &o->setting->program[r].collective[k];
}

/* Of an alltoall, two ranks must agree about what goes from one to the other. */
static int same_parts(const program_setting *s, int rank, const program_collective *a, int other,
    const program_collective *b)
{
    if (a->parts != b->parts) return 0;
    if (a->kind != TUTTI_ALLTOALL || !a->parts)
        return !memcmp(a->part, b->part, (size_t)a->parts * sizeof *a->part);
    int P = s->group[a->group].size, me = program_rank_in(s, a->group, rank);
    int them = program_rank_in(s, a->group, other);
    return a->part[them] == b->part[P + me] && a->part[P + them] == b->part[me];
}

static int same_operator(const program_collective *a, const program_collective *b)
{
    if (!a->user || !b->user) return a->user == b->user && a->op == b->op;
    return a->op == b->op && a->user->function == b->user->function &&
           !strcmp(a->user->name, b->user->name);
}

static int same(const program_setting *s, int rank, const program_collective *a, int other,
    const program_collective *b)
{
    if (a->kind != b->kind || a->group != b->group) return 0;
    const tutti_coll_trait *trait = tutti_coll_trait_of(a->kind);
    if (!trait->data) return 1;
    return a->dtype == b->dtype && a->count == b->count && same_parts(s, rank, a, other, b) &&
           (!trait->rooted || a->root == b->root) && (!trait->reduces || same_operator(a, b));
}

static void find_partners(oracle *o, int r, int k)
{
    const program_setting *s = o->setting;
    const program_collective *c = collective(o, r, k);
    term *t = &o->term[r][k];
    t->agree = 1;
    for (int m = 0; m < s->ranks; m++) {
        t->partner[m] = -1;
        if (program_rank_in(s, c->group, m) < 0) continue;
        int at = t->partner[m] = program_find(&s->program[m], c->name, k);
        t->agree &= at >= 0 && same(s, r, c, m, collective(o, m, at));
    }
}

/* The length of part r of an input or output with all parts, and where it begins. Of an alltoall,
 * these are the input's. */
static int64_t part_of(const program_collective *c, int r, int64_t *from)
{
    return tutti_coll_part(c->parts ? c->part : NULL, c->count, r, from);
}

/* Finds the part of the output that the collective defines on this rank. */
static void find_defined(oracle *o, int r, int k)
{
    const program_setting *s = o->setting;
    const program_collective *c = collective(o, r, k);
    term *t = &o->term[r][k];
    int P = s->group[c->group].size, me = program_rank_in(s, c->group, r);
    t->from = 0;
    t->to = t->out_count;
    int only_root = c->kind == TUTTI_REDUCE || c->kind == TUTTI_GATHER;
    if (c->kind == TUTTI_BARRIER || (only_root && me != c->root)) t->to = 0;
    if (c->kind == TUTTI_SCATTER && !c->apart) t->to = part_of(c, me, &t->from) + t->from;
    if (c->kind == TUTTI_REDUCE_SCATTER) {
        tutti_coll_block(c->count, P, me, &t->from, &t->to);
        t->to += t->from;
    }
}

tutti_status oracle_new(const program_setting *setting, oracle **oracle_)
{
    oracle *o = calloc(1, sizeof *o);
    size_t numbers = 0;
    if (!o) return tutti_fail(TUTTI_ERR_NOMEM, "oracle: no memory");
    o->setting = setting;
    for (int r = 0; r < setting->ranks; r++) {
        o->term[r] = calloc((size_t)setting->program[r].n + 1, sizeof **o->term);
        for (int k = 0; o->term[r] && k < setting->program[r].n; k++) {
            term *t = &o->term[r][k];
            const program_collective *c = collective(o, r, k);
            t->in_count = program_in_count(setting, r, c);
            t->out_count = program_out_count(setting, r, c);
            t->stream = tutti_rng_stream(c->name);
            numbers += (size_t)(2 * t->in_count + t->out_count);
        }
    }
    double *next = o->numbers = calloc(numbers + 1, sizeof *next);
    for (int r = 0; r < setting->ranks; r++) {
        if (!o->term[r] || !next) {
            oracle_free(o);
            return tutti_fail(TUTTI_ERR_NOMEM, "oracle: no memory");
        }
        for (int k = 0; k < setting->program[r].n; k++) {
            term *t = &o->term[r][k];
            t->fed = next;
            t->in = t->fed + t->in_count;
            t->out = t->in + t->in_count;
            next = t->out + t->out_count;
        }
    }
    for (int r = 0; r < setting->ranks; r++) {
        for (int k = 0; k < setting->program[r].n; k++) {
            find_partners(o, r, k);
            find_defined(o, r, k);
        }
    }
    *oracle_ = o;
    return TUTTI_OK;
}

void oracle_free(oracle *o)
{
    if (!o) return;
    for (int r = 0; r < PROGRAM_RANKS; r++) free(o->term[r]);
    free(o->numbers);
    free(o);
}

static double combine(const program_collective *c, double a, double b)
{
    return (double)values_combine_with(c->op, c->user, (int64_t)a, (int64_t)b);
}

/* Values of 1 to 15; for products 1 or 2, so that they fit into a byte; for the program's own
 * operators of 16 bits. A rank's vectors add up to so many times what is fed. */
static void feed(const oracle *o, int r, int k, uint64_t salt)
{
    term *t = &o->term[r][k];
    const program_collective *c = collective(o, r, k);
    uint64_t most = c->user ? UINT16_MAX : c->op == TUTTI_PROD ? 2 : 15;
    uint64_t key = wire_mix(t->stream ^ (uint64_t)r, salt);
    int times = c->vectors ? c->vectors * (c->vectors + 1) / 2 : 1;
    double *fed = t->fed, *in = t->in;
    for (int64_t i = 0, n = t->in_count; i < n; i++) {
        fed[i] = (double)(int64_t)(1 + ((wire_mix(key, (uint64_t)i) >> 32) * most >> 32));
        in[i] = times * fed[i];
    }
}

static void add_reads(const oracle *o, int r, int k)
{
    uint64_t reads = collective(o, r, k)->reads;
    for (int j = 0; j < k && reads; j++, reads >>= 1)
        for (int64_t i = 0; (reads & 1) && i < o->term[r][k].in_count; i++)
            o->term[r][k].in[i] += o->term[r][j].out[i];
}

/* Where in the output of member `me` part `at` begins, which member `at` sends; its length. */
static int64_t arriving(const program_setting *s, const program_collective *c, int at, int64_t *to)
{
    int pairs = c->kind == TUTTI_ALLTOALL && c->parts;
    const int64_t *counts = c->parts ? c->part + (pairs ? s->group[c->group].size : 0) : NULL;
    return tutti_coll_part(counts, c->count, at, to);
}

/* Moves what member `me` gets from member `at` of a kind with parts. `theirs`: the sender's. */
static void take_part(const program_setting *s, const program_collective *c, const term *t,
    const program_collective *theirs, const double *in, int at, int me)
{
    int64_t to, from, length = arriving(s, c, at, &to);
    part_of(theirs, at, &from); /* of an input that is part of an output with all parts */
    if (theirs->apart) from = 0;
    if (c->kind == TUTTI_ALLTOALL) part_of(theirs, me, &from);
    if (c->kind == TUTTI_GATHER && me != c->root) return;
    if (c->kind == TUTTI_SCATTER) {
        if (at != c->root) return;
        length = part_of(theirs, me, &from);
        to = c->apart ? 0 : from;
    }
    memcpy(t->out + to, in + from, (size_t)length * sizeof *in);
}

/* Combines the input of member `at` into rank `me`'s output; first: it is the first to contribute. */
static void take_in(
    const program_collective *c, const term *t, const double *in, int at, int me, int first)
{
    size_t n = (size_t)c->count, bytes = n * sizeof *in;
    if (c->kind == TUTTI_BARRIER || (c->kind == TUTTI_SCAN && at > me)) return;
    if (c->kind == TUTTI_BROADCAST || c->kind == TUTTI_MESSAGE) {
        if (at == c->root) memcpy(t->out, in, bytes);
        return;
    }
    if (first) memcpy(t->out, in, bytes);
    for (size_t i = 0; !first && i < n; i++) t->out[i] = combine(c, t->out[i], in[i]);
}

/* Computes the output of rank r from the inputs of all members. */
static void work_out(const oracle *o, int r, int k)
{
    const program_setting *s = o->setting;
    const program_collective *c = collective(o, r, k);
    const term *t = &o->term[r][k];
    int me = program_rank_in(s, c->group, r), P = s->group[c->group].size;
    for (int at = 0; at < P; at++) {
        int m = s->group[c->group].rank[at];
        const double *in = o->term[m][t->partner[m]].in;
        if (tutti_coll_trait_of(c->kind)->parts)
            take_part(s, c, t, collective(o, m, t->partner[m]), in, at, me);
        else
            take_in(c, t, in, at, me, at == 0);
    }
}

void oracle_step(oracle *o, int step, uint64_t salt)
{
    const program_setting *s = o->setting;
    int most = 0;
    o->step = step;
    for (int r = 0; r < s->ranks; r++) {
        if (s->program[r].n > most) most = s->program[r].n;
        for (int k = 0; k < s->program[r].n; k++) feed(o, r, k, salt * 64 + (uint64_t)step);
    }
    for (int k = 0; k < most; k++) {
        for (int r = 0; r < s->ranks; r++)
            if (k < s->program[r].n) add_reads(o, r, k);
        for (int r = 0; r < s->ranks; r++)
            if (k < s->program[r].n && o->term[r][k].agree) work_out(o, r, k);
    }
}

void oracle_input(const oracle *o, int rank, int k, void *data)
{
    const term *t = &o->term[rank][k];
    tutti_dtype dtype = collective(o, rank, k)->dtype;
    for (int64_t i = 0; i < t->in_count; i++) values_store(dtype, data, i, (int64_t)t->fed[i]);
}

static int all_take_part(const oracle *o, const term *t)
{
    for (int m = 0; m < o->setting->ranks; m++)
        if (t->partner[m] >= 0 && o->setting->program[m].steps <= o->step) return 0;
    return t->agree;
}

const char *oracle_compare(const oracle *o, int rank, int k, const void *data)
{
    const program_collective *c = collective(o, rank, k);
    const term *t = &o->term[rank][k];
    if (!all_take_part(o, t)) return "ended although the ranks' programs disagree about it";
    for (int64_t i = t->from; i < t->to; i++)
        if (!values_are(c->dtype, data, i, (int64_t)t->out[i])) return "is a wrong sum";
    return NULL;
}
