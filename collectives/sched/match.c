#include "collectives/sched/match.h"

#include "collectives/sched/walk.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* The symbol for one value. */
typedef struct cell {
    int64_t element; /* of the vector; -1: not written yet */
    uint64_t how;    /* a hash of the expression that made it */
    int roundings;   /* the most between an input and this value */
    int exact;       /* combined, and not rounded since: only in WIDE */
} cell;

typedef struct memory {
    cell *cells;
    unsigned char *times; /* [count][vectors] how often each vector's contribution is in a cell */
} memory;

typedef struct proof {
    const tutti_sched *const *ranks;
    int P;
    int *base; /* [P+1] a rank's vectors are base[r] to base[r + 1] - 1; its extra ones come last */
    int vectors;                /* of all ranks */
    memory (*of)[TUTTI_SPACES]; /* [P] */
    tutti_status status;
} proof;

static uint64_t mix_hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b << 31 | b >> 33)) + 0x9e3779b97f4a7c15u + b;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static int64_t size_of(const tutti_sched *s, int space)
{
    const int64_t sizes[TUTTI_SPACES] = {
        [TUTTI_SPACE_IN] = s->in_count,
        [TUTTI_SPACE_EXTRA] = s->extra_count,
        [TUTTI_SPACE_OUT] = s->out_count,
        [TUTTI_SPACE_SCRATCH] = s->scratch_count,
        [TUTTI_SPACE_WIDE] = s->wide_count,
    };
    return sizes[space];
}

static void close_proof(proof *p)
{
    for (int r = 0; p->of && r < p->P; r++) {
        for (int s = 0; s < TUTTI_SPACES; s++) {
            free(p->of[r][s].cells);
            free(p->of[r][s].times);
        }
    }
    free(p->of);
    free(p->base);
}

static tutti_status open_proof(proof *p, const tutti_sched *const ranks[], int P)
{
    *p = (proof){.ranks = ranks,
        .P = P,
        .base = calloc((size_t)P + 1, sizeof *p->base),
        .of = calloc((size_t)P, sizeof *p->of)};
    int ok = p->base && p->of;
    for (int r = 0; ok && r < P; r++) p->base[r + 1] = p->base[r] + 1 + ranks[r]->shape.extras;
    if (ok) p->vectors = p->base[P];
    for (int r = 0; ok && r < P; r++) {
        for (int s = 0; ok && s < TUTTI_SPACES; s++) {
            size_t n = (size_t)size_of(ranks[r], s);
            memory *m = &p->of[r][s];
            m->cells = malloc((n + 1) * sizeof *m->cells);
            m->times = calloc(n * (size_t)p->vectors + 1, 1);
            ok = m->cells && m->times;
            for (size_t i = 0; ok && i < n; i++) m->cells[i] = (cell){.element = -1};
        }
    }
    if (ok) return TUTTI_OK;
    close_proof(p);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory to match the schedules of %d ranks", P);
}

/* Where a rank's input lies: *space and the offset in it. Returns its length. */
static int64_t input_of(const tutti_sched *s, tutti_space *space, int64_t *from)
{
    const tutti_sched_shape *shape = &s->shape;
    int64_t length = s->in_count;
    *space = TUTTI_SPACE_IN;
    *from = 0;
    if (length) return length;
    *space = TUTTI_SPACE_OUT;
    switch (shape->kind) {
    case TUTTI_BROADCAST:
    case TUTTI_MESSAGE: /* its root is 0 */
        return shape->rank == shape->root ? shape->count : 0;
    case TUTTI_SCATTER:
        return shape->in_place && shape->rank == shape->root ? s->out_count : 0;
    case TUTTI_ALLGATHER:
    case TUTTI_GATHER:
        length = tutti_sched_part(shape, shape->rank, from);
        return shape->in_place ? length : 0;
    default:
        return shape->in_place ? s->out_count : 0;
    }
}

static void give_vector(const proof *p, memory *m, int64_t from, int64_t length, int vector)
{
    for (int64_t i = 0; i < length; i++) {
        m->cells[from + i] = (cell){i, mix_hash((uint64_t)vector + 1, (uint64_t)i + 1), 0, 0};
        m->times[(from + i) * p->vectors + vector] = 1;
    }
}

static void give_input(proof *p)
{
    for (int r = 0; r < p->P; r++) {
        const tutti_sched *s = p->ranks[r];
        tutti_space space;
        int64_t from, length = input_of(s, &space, &from);
        give_vector(p, &p->of[r][space], from, length, p->base[r]);
        for (int k = 0; k < s->shape.extras; k++)
            give_vector(p, &p->of[r][TUTTI_SPACE_EXTRA], k * s->shape.count, s->shape.count,
                p->base[r] + 1 + k);
    }
}

static tutti_status report_mismatch(proof *p, int rank, int64_t i, const char *what)
{
    if (!p->status)
        p->status = tutti_fail(TUTTI_ERR_MISMATCH, "%s on %d ranks: rank %d, element %lld: %s",
            tutti_coll_kind_name(p->ranks[rank]->shape.kind), p->P, rank, (long long)i, what);
    return p->status;
}

/* A value that is in the elements' type, and was combined before, has been rounded. */
static void round_cell(cell *value)
{
    if (!value->exact) return;
    value->exact = 0;
    value->roundings++;
    value->how = mix_hash(value->how, 1);
}

static void assign_cells(proof *p, int to, tutti_spot dst, int from, tutti_spot src, int64_t count)
{
    memory *d = &p->of[to][dst.space], *s = &p->of[from][src.space];
    size_t vectors = (size_t)p->vectors;
    for (int64_t i = 0; i < count; i++)
        if (s->cells[src.offset + i].element < 0)
            report_mismatch(p, from, src.offset + i, "is read before anything was written there");
    memcpy(d->cells + dst.offset, s->cells + src.offset, (size_t)count * sizeof(cell));
    memcpy(d->times + (size_t)dst.offset * vectors, s->times + (size_t)src.offset * vectors,
        (size_t)count * vectors);
    for (int64_t i = 0; i < count && dst.space != TUTTI_SPACE_WIDE; i++)
        round_cell(&d->cells[dst.offset + i]);
}

/* Whether all vectors in `one` come before all vectors in `other`. */
static int is_before(const unsigned char *one, const unsigned char *other, int vectors)
{
    int last = -1, first = vectors;
    for (int v = 0; v < vectors; v++) {
        if (one[v]) last = v;
        if (other[vectors - 1 - v]) first = vectors - 1 - v;
    }
    return last < first;
}

static void combine_cells(proof *p, int rank, const tutti_sched_step *step)
{
    memory *d = &p->of[rank][step->dst.space], *s = &p->of[rank][step->src.space];
    int wide = step->dst.space == TUTTI_SPACE_WIDE;
    if (step->src.space == TUTTI_SPACE_WIDE || (wide && step->src_first))
        report_mismatch(p, rank, step->dst.offset, "is combined as no accumulator can be");
    for (int64_t i = 0; i < step->count; i++) {
        cell *into = &d->cells[step->dst.offset + i];
        const cell *with = &s->cells[step->src.offset + i];
        unsigned char *into_times = d->times + (step->dst.offset + i) * p->vectors;
        const unsigned char *with_times = s->times + (step->src.offset + i) * p->vectors;
        if (into->element < 0 || into->element != with->element)
            report_mismatch(
                p, rank, step->dst.offset + i, "is combined with another element or with nothing");
        const unsigned char *left = step->src_first ? with_times : into_times;
        const unsigned char *right = step->src_first ? into_times : with_times;
        if (p->ranks[rank]->shape.ordered && !is_before(left, right, p->vectors))
            report_mismatch(
                p, rank, step->dst.offset + i, "is combined against the order of ranks");
        into->how =
            step->src_first ? mix_hash(with->how, into->how) : mix_hash(into->how, with->how);
        if (with->roundings > into->roundings) into->roundings = with->roundings;
        into->exact = 1;
        if (!wide) round_cell(into);
        for (int v = 0; v < p->vectors; v++) {
            int sum = into_times[v] + with_times[v];
            into_times[v] = (unsigned char)(sum < 255 ? sum : 255);
        }
    }
}

/* A message. */
static void pass_message(proof *p, const tutti_sched_event *e, const tutti_sched_step *send)
{
    tutti_spot dst = p->ranks[e->peer]->step[e->peer_step].dst;
    if (send->src.space == TUTTI_SPACE_WIDE)
        report_mismatch(p, e->rank, send->src.offset, "is sent wide");
    if (dst.space == TUTTI_SPACE_WIDE) report_mismatch(p, e->peer, dst.offset, "is received wide");
    assign_cells(p, e->peer, dst, e->rank, send->src, send->count);
}

static void visit_event(void *ctx, const tutti_sched_event *e)
{
    proof *p = ctx;
    const tutti_sched_step *step = &p->ranks[e->rank]->step[e->step];
    if (e->peer >= 0)
        pass_message(p, e, step);
    else if (step->kind == TUTTI_STEP_COPY)
        assign_cells(p, e->rank, step->dst, e->rank, step->src, step->count);
    else
        combine_cells(p, e->rank, step);
}

/* What OUT[i] of a rank must be: an element with the contributions of ranks first to last. */
typedef struct promise {
    int made;
    int64_t element;
    int first, last;
} promise;

/* The part in which element i lies; *at: where in it. */
static int part_of(const int64_t *counts, int64_t count, int64_t i, int64_t *at)
{
    int r = 0;
    int64_t offset, length;
    while ((length = tutti_coll_part(counts, count, r, &offset)) <= i - offset) r++;
    *at = i - offset;
    return r;
}

static promise promise_of(const proof *p, int rank, int64_t i)
{
    const tutti_sched_shape *shape = &p->ranks[rank]->shape, *sender;
    int64_t offset, length, at;
    int from;
    promise all = {1, i, 0, shape->P - 1}, none = {0, 0, 0, 0};
    switch (shape->kind) {
    case TUTTI_BROADCAST:
    case TUTTI_MESSAGE:
        return (promise){1, i, shape->root, shape->root};
    case TUTTI_REDUCE:
        return rank == shape->root ? all : none;
    case TUTTI_GATHER:
        if (rank != shape->root) return none;
        /* fallthrough */
    case TUTTI_ALLGATHER:
        from = part_of(shape->counts, shape->count, i, &at);
        return (promise){1, at, from, from};
    case TUTTI_REDUCE_SCATTER:
        tutti_coll_block(shape->count, shape->P, rank, &offset, &length);
        return i >= offset && i < offset + length ? all : none;
    case TUTTI_SCATTER:
        length = tutti_sched_part(shape, rank, &offset);
        at = shape->in_place ? i - offset : i;
        return (promise){at >= 0 && at < length, offset + at, shape->root, shape->root};
    case TUTTI_ALLTOALL:
        from = part_of(shape->counts ? shape->counts + p->P : NULL, shape->count, i, &at);
        sender = &p->ranks[from]->shape;
        tutti_sched_part(sender, rank, &offset);
        return (promise){1, offset + at, from, from};
    case TUTTI_SCAN:
        return (promise){1, i, 0, rank};
    default:
        return all;
    }
}

static void check_element(proof *p, int rank, int64_t i)
{
    const tutti_sched_shape *shape = &p->ranks[rank]->shape;
    const memory *out = &p->of[rank][TUTTI_SPACE_OUT];
    promise wanted = promise_of(p, rank, i);
    if (!wanted.made) return;
    if (out->cells[i].element != wanted.element) report_mismatch(p, rank, i, "is another element");
    int first = p->base[wanted.first], last = p->base[wanted.last + 1] - 1;
    for (int v = 0; v < p->vectors; v++) {
        int times = out->times[i * p->vectors + v], due = v >= first && v <= last;
        if (shape->kind == TUTTI_BARRIER ? times < due : times != due)
            report_mismatch(p, rank, i, "lacks a contribution, or has one more than once");
    }
    int most =
        shape->wide + (p->vectors > p->P); /* a rank's own sum is rounded before it is sent */
    if (shape->wide && out->cells[i].roundings > most)
        report_mismatch(p, rank, i,
            most > 2   ? "is rounded more than three times"
            : most > 1 ? "is rounded more than twice"
                       : "is rounded more than once");
    int same = shape->kind == TUTTI_ALLREDUCE;
    if (same && out->cells[i].how != p->of[0][TUTTI_SPACE_OUT].cells[i].how)
        report_mismatch(p, rank, i, "is combined in another way than on rank 0");
}

/* Proves one order of events. *how: a hash of how all promised elements were combined. */
static tutti_status prove_order(
    const tutti_sched *const ranks[], int P, uint64_t seed, uint64_t *how)
{
    proof p;
    tutti_status status = open_proof(&p, ranks, P);
    if (status) return status;
    give_input(&p);
    status = tutti_sched_walk(ranks, P, seed, visit_event, &p);
    *how = 0;
    for (int r = 0; !status && r < P; r++) {
        for (int64_t i = 0; i < ranks[r]->out_count; i++) {
            check_element(&p, r, i);
            if (promise_of(&p, r, i).made)
                *how = mix_hash(*how, p.of[r][TUTTI_SPACE_OUT].cells[i].how);
        }
    }
    if (!status) status = p.status;
    close_proof(&p);
    return status;
}

tutti_status tutti_sched_match(const tutti_sched *const ranks[], int P)
{
    enum { ORDERS = 4 };
    uint64_t first = 0, how;
    for (uint64_t seed = 0; seed < ORDERS; seed++) {
        tutti_status status = prove_order(ranks, P, seed, &how);
        if (status) return status;
        if (!seed) first = how;
        if (how != first)
            return tutti_fail(TUTTI_ERR_MISMATCH,
                "%s on %d ranks: the result depends on the order of events (seed %d)",
                tutti_coll_kind_name(ranks[0]->shape.kind), P, (int)seed);
    }
    return TUTTI_OK;
}
