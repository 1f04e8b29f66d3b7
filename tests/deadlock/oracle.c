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

static int same_parts(
    const program_setting *s, const program_collective *a, const program_collective *b)
{
    if (!a->parts || !b->parts) return a->parts == b->parts;
    return !memcmp(a->parts, b->parts, (size_t)s->group[a->group].size * sizeof *a->parts);
}

static int same(const program_setting *s, const program_collective *a, const program_collective *b)
{
    if (a->kind != b->kind || a->group != b->group) return 0;
    const tutti_coll_trait *trait = tutti_coll_trait_of(a->kind);
    if (!trait->data) return 1;
    return a->dtype == b->dtype && a->count == b->count && same_parts(s, a, b) &&
           (!trait->rooted || a->root == b->root) && (!trait->reduces || a->op == b->op);
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
        t->agree &= at >= 0 && same(s, c, collective(o, m, at));
    }
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
    if (c->kind == TUTTI_SCATTER)
        t->to = tutti_coll_part(c->parts, c->count, me, &t->from) + t->from;
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
            t->in_count = program_in_count(setting, c);
            t->out_count = program_out_count(setting, c);
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

static double combine(tutti_reduce_op op, double a, double b)
{
    return (double)values_combine(op, (int64_t)a, (int64_t)b);
}

/* Values of 1 to 15; for products 1 or 2, so that they fit into a byte. */
static void feed(const oracle *o, int r, int k, uint64_t salt)
{
    term *t = &o->term[r][k];
    uint64_t most = collective(o, r, k)->op == TUTTI_PROD ? 2 : 15;
    uint64_t key = wire_mix(t->stream ^ (uint64_t)r, salt);
    for (int64_t i = 0; i < t->in_count; i++)
        t->in[i] = t->fed[i] = (double)(1 + wire_mix(key, (uint64_t)i) % most);
}

static void add_reads(const oracle *o, int r, int k)
{
    uint64_t reads = collective(o, r, k)->reads;
    for (int j = 0; j < k && reads; j++, reads >>= 1)
        for (int64_t i = 0; (reads & 1) && i < o->term[r][k].in_count; i++)
            o->term[r][k].in[i] += o->term[r][j].out[i];
}

/* Combines the input of member `at` into rank `me`'s output; first: it is the first to contribute. */
static void take_in(
    const program_collective *c, const term *t, const double *in, int at, int me, int first)
{
    size_t n = (size_t)c->count, bytes = n * sizeof *in;
    int64_t from;
    switch (c->kind) {
    case TUTTI_ALLGATHER:
        memcpy(t->out + at * c->count, in, bytes);
        return;
    case TUTTI_GATHER:
        n = (size_t)tutti_coll_part(c->parts, c->count, at, &from);
        memcpy(t->out + from, in + from, n * sizeof *in);
        return;
    case TUTTI_SCATTER:
        n = (size_t)tutti_coll_part(c->parts, c->count, me, &from);
        if (at == c->root) memcpy(t->out + from, in + from, n * sizeof *in);
        return;
    case TUTTI_ALLTOALL:
        memcpy(t->out + at * c->count, in + me * c->count, bytes);
        return;
    case TUTTI_BROADCAST:
        if (at == c->root) memcpy(t->out, in, bytes);
        return;
    case TUTTI_BARRIER:
        return;
    default:
        break;
    }
    if (c->kind == TUTTI_SCAN && at > me) return;
    if (first) memcpy(t->out, in, bytes);
    for (size_t i = 0; !first && i < n; i++) t->out[i] = combine(c->op, t->out[i], in[i]);
}

/* Computes the output of rank r from the inputs of all members. */
static void work_out(const oracle *o, int r, int k)
{
    const program_setting *s = o->setting;
    const program_collective *c = collective(o, r, k);
    const term *t = &o->term[r][k];
    int first = 1, me = program_rank_in(s, c->group, r);
    for (int m = 0; m < s->ranks; m++) {
        if (t->partner[m] < 0) continue;
        int at = program_rank_in(s, c->group, m);
        take_in(c, t, o->term[m][t->partner[m]].in, at, me, first);
        if (c->kind != TUTTI_SCAN || at <= me) first = 0;
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
