#include "tests/deadlock/explore.h"

#include "collectives/choose.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/deadlock/dice.h"
#include "tests/support/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that float32 holds exactly, with room for one more sum over all ranks. */
static const double exact_up_to = 1 << 20;

/* The length of what rank `from` sends rank `to` in a random alltoall: many are 0. */
static int64_t pair_length(const program_setting *s, int k, int from, int to)
{
    uint64_t drawn = wire_mix(wire_mix(s->order_seed, (uint64_t)k), (uint64_t)(from * 64 + to));
    return drawn & 3 ? (int64_t)(drawn >> 8 & 7) : 0;
}

/* Rank r's lengths: what it sends to each, then what it receives. */
static void take_pairs(const program_setting *s, int r, int k, program_collective *c)
{
    for (int q = 0; q < s->ranks; q++) {
        c->part[q] = pair_length(s, k, r, q);
        c->part[s->ranks + q] = pair_length(s, k, q, r);
    }
}

/* Every rank gets a copy of rank 0's program. */
static tutti_status copy_to_all(program_setting *s)
{
    const program *first = &s->program[0];
    for (int r = 1; r < s->ranks; r++) {
        program *p = &s->program[r];
        *p = (program){.n = first->n, .steps = first->steps};
        p->collective = calloc((size_t)first->n, sizeof *p->collective);
        if (!p->collective) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
        memcpy(p->collective, first->collective, (size_t)first->n * sizeof *p->collective);
        for (int k = 0; k < p->n; k++)
            if (p->collective[k].kind == TUTTI_ALLTOALL && p->collective[k].parts)
                take_pairs(s, r, k, &p->collective[k]);
    }
    return TUTTI_OK;
}

static tutti_status begin(program_setting *s, int n, int steps)
{
    program_all(s);
    s->program[0] = (program){.n = n, .steps = steps};
    s->program[0].collective = calloc((size_t)n, sizeof *s->program[0].collective);
    if (!s->program[0].collective) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
    for (int k = 0; k < n; k++) {
        program_collective *c = &s->program[0].collective[k];
        snprintf(c->name, sizeof c->name, "%c%d", 'a' + k % 26, k);
    }
    return TUTTI_OK;
}

tutti_status explore_sums(
    const tutti_design *design, int ranks, int k, int steps, int equal, program_setting *setting)
{
    program_setting s = {
        .design = design, .ranks = ranks, .workers = 1, .lanes = 1, .eager_bytes = 4096};
    tutti_status status = begin(&s, k, steps);
    for (int i = 0; i < k && !status; i++) s.program[0].collective[i].count = equal ? 2 : 2 + i;
    if (!status) status = copy_to_all(&s);
    if (status)
        program_clear(&s);
    else
        *setting = s;
    return status;
}

/* Draws which earlier collectives are added to the input of k: only those whose full result every rank has, and
 * only as many as keep numbers exact. */
static void draw_reads(
    dice *d, const program_setting *s, program_collective c[], double most[], int k)
{
    double bound = 15;
    int inputs = 0;
    for (int j = 0; j < k && inputs < 6; j++) {
        int full = c[j].kind == TUTTI_ALLREDUCE || c[j].kind == TUTTI_BROADCAST;
        int plain = c[j].op != TUTTI_PROD && !c[j].user;
        if (!full || c[j].dtype != TUTTI_F32 || !plain || dice_below(d, 3)) continue;
        if (s->ranks * (bound + most[j]) > exact_up_to) continue;
        if (inputs && c[j].count != c[k].count) continue;
        c[k].count = c[j].count;
        c[k].reads |= (uint64_t)1 << j;
        bound += most[j];
        inputs++;
    }
    most[k] = s->ranks * bound;
}

/* Lengths of parts, on all ranks the same except for an alltoall; many are 0. */
static void draw_parts(dice *d, const program_setting *s, program_collective *c, int k)
{
    int pairs = c->kind == TUTTI_ALLTOALL;
    c->parts = pairs ? 2 * s->ranks : s->ranks;
    c->count = 0;
    if (pairs) {
        c->apart = 1;
        take_pairs(s, 0, k, c);
    }
    for (int r = 0; r < s->ranks && !pairs; r++)
        c->count += c->part[r] = dice_below(d, 3) ? dice_below(d, 9) : 0;
}

/* What a kind allows beside its plain form: out of place, parts of given lengths, the program's own
 * operators (whose results of 16 bits a bf16 would round). */
static void draw_form(dice *d, const program_setting *s, program_collective *c, int k)
{
    const tutti_coll_trait *trait = tutti_coll_trait_of(c->kind);
    c->apart = trait->sends && dice_below(d, c->kind == TUTTI_ALLREDUCE ? 4 : 2) == 0;
    if (trait->parts && dice_below(d, 2)) draw_parts(d, s, c, k);
    if (!trait->reduces || c->dtype == TUTTI_BF16 || dice_below(d, 5)) return;
    int own = dice_below(d, VALUES_RECORD); /* those that take any vectors */
    c->user = &values_operators[own];
    c->op = (tutti_reduce_op)(TUTTI_USER_OP + own);
}

static void draw_collective(
    dice *d, dice *form, const program_setting *s, program_collective c[], double most[], int k)
{
    static const tutti_coll_kind rare[] = {TUTTI_BROADCAST, TUTTI_REDUCE, TUTTI_ALLGATHER,
        TUTTI_REDUCE_SCATTER, TUTTI_BARRIER, TUTTI_GATHER, TUTTI_SCATTER, TUTTI_ALLTOALL,
        TUTTI_SCAN};
    /* Neighbours of equal size and kind can be confused. */
    c[k].count = dice_below(d, 12) ? 1 + dice_below(d, 12) : 1 + dice_below(d, 400);
    if (k && dice_below(d, 3) == 0 && c[k - 1].count) c[k].count = c[k - 1].count;
    if (dice_below(d, 3) == 0) c[k].kind = rare[dice_below(d, sizeof rare / sizeof *rare)];
    if (k && dice_below(d, 4) == 0) c[k].kind = c[k - 1].kind;
    if (dice_below(d, 4) == 0) c[k].op = (tutti_reduce_op)dice_below(d, TUTTI_REDUCE_OPS);
    if (dice_below(d, 6) == 0) c[k].dtype = (tutti_dtype)dice_below(d, TUTTI_DTYPE_COUNT);
    if (dice_below(d, 12) == 0) c[k].dtype = TUTTI_BF16;
    while (!tutti_reduce_op_takes(c[k].op, c[k].dtype))
        c[k].op = (tutti_reduce_op)dice_below(d, TUTTI_REDUCE_OPS);
    if (tutti_coll_trait_of(c[k].kind)->rooted) c[k].root = dice_below(d, s->ranks);
    draw_form(form, s, &c[k], k);
    most[k] = 15.0 * s->ranks;
    /* Sequential starts collectives only when all of a step are ready: there none may read another. */
    int plain = c[k].op != TUTTI_PROD && !c[k].user && !c[k].apart;
    int reads = c[k].kind == TUTTI_ALLREDUCE && c[k].dtype == TUTTI_F32 && plain &&
                !s->design->start->main_drives && dice_below(d, 2);
    if (reads) draw_reads(d, s, c, most, k);
}

/* A design that keeps the law. */
static const tutti_design *draw_design(dice *d)
{
    const tutti_design *safe[16];
    int designs = 0;
    for (int i = 0; tutti_designs[i]; i++)
        if (!tutti_designs[i]->unsafe) safe[designs++] = tutti_designs[i];
    return safe[dice_below(d, designs)];
}

/* In some settings without an agreed order: of no collective, of all, or from one on; a window of one or of all. */
static void draw_priorities(uint64_t seed, program_setting *s)
{
    dice d = {.seed = wire_mix(seed, 23)};
    if (s->ordered || dice_below(&d, 2)) return;
    s->priorities.on = 1;
    s->priorities.window = dice_below(&d, 3) ? 1 + dice_below(&d, 64) : INT64_MAX;
    int from = dice_below(&d, s->program[0].n + 1), kinds = 1 + dice_below(&d, 4);
    for (int k = from; k < s->program[0].n; k++)
        s->program[0].collective[k].priority = dice_below(&d, kinds + 1) - 1;
}

/* A group of some ranks in any order, or an edge; one that is there already is not made again. */
static int draw_group(dice *d, program_setting *s)
{
    program_group of = {.is_edge = dice_below(d, 2)};
    for (int left = s->ranks; left; left--) { /* a permutation */
        int r = dice_below(d, left), seen = 0, rank = 0;
        for (;; rank++) {
            int taken = 0;
            for (int i = 0; i < of.size; i++) taken |= of.rank[i] == rank;
            if (!taken && seen++ == r) break;
        }
        of.rank[of.size++] = rank;
    }
    of.size = of.is_edge ? 2 : 1 + dice_below(d, s->ranks);
    of.edge = of.is_edge ? dice_below(d, 2) : 0;
    for (int g = 1; g < s->groups && of.is_edge; g++) {
        const program_group *e = &s->group[g];
        if (e->is_edge && e->edge == of.edge && e->rank[0] == of.rank[0] &&
            e->rank[1] == of.rank[1])
            return g;
    }
    s->group[s->groups] = of;
    return s->groups++;
}

static void draw_part(dice *d, const program_setting *s, int k, program_collective *c)
{
    const program_group *of = &s->group[c->group];
    snprintf(c->name, sizeof c->name, "m%d", k);
    c->count = dice_below(d, 4) ? 1 + dice_below(d, 12) : 1 + dice_below(d, 400);
    c->kind = of->is_edge             ? TUTTI_MESSAGE
              : dice_below(d, 3) == 0 ? TUTTI_BROADCAST
                                      : TUTTI_ALLREDUCE;
    if (c->kind == TUTTI_BROADCAST) c->root = dice_below(d, of->size);
}

/* Appends to each rank's program its collectives of groups and edges, those of one group in one order, the groups
 * mixed in an order of the rank's own, but in one where lanes share device slots. Some wait for a collective of all
 * ranks. */
static tutti_status mix_parts(
    dice *d, const program_setting *s, int r, const program_collective made[], int n, program *p)
{
    int common = p->n;
    char done[32] = {0};
    program_collective *more = realloc(p->collective, (size_t)(p->n + n) * sizeof *p->collective);
    if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
    p->collective = more;
    for (int left = n; left; left--) {
        int k = s->device_slots ? 0 : dice_below(d, n);
        while (done[k]) k = (k + 1) % n;
        for (int i = 0; i < k; i++)
            if (!done[i] && made[i].group == made[k].group) k = i;
        done[k] = 1;
        if (program_rank_in(s, made[k].group, r) < 0) continue;
        p->collective[p->n] = made[k];
        if (common && dice_below(d, 3) == 0)
            p->collective[p->n].after[p->collective[p->n].afters++] = dice_below(d, common);
        p->n++;
    }
    return TUTTI_OK;
}

/* In some settings ranks have several vectors of plain sums, each rank its own number of them. */
static void draw_vectors(uint64_t seed, program_setting *s)
{
    dice d = {.seed = wire_mix(seed, 16)};
    if (s->ranks < 2 || dice_below(&d, 2)) return;
    for (int r = 0; r < s->ranks; r++)
        for (int k = 0; k < s->program[r].n; k++) {
            program_collective *c = &s->program[r].collective[k];
            const int plain = c->kind == TUTTI_ALLREDUCE && c->op == TUTTI_SUM && !c->user &&
                              c->dtype == TUTTI_F32 && !c->apart && !c->reads;
            if (plain && s->group[c->group].size > 1)
                c->vectors = dice_below(&d, PROGRAM_VECTORS + 1);
        }
}

/* In some settings without an agreed order. */
static tutti_status draw_groups(uint64_t seed, program_setting *s)
{
    enum { MOST = 8 };
    dice d = {.seed = wire_mix(seed, 10)};
    program_collective made[MOST] = {{.count = 0}};
    tutti_status status = TUTTI_OK;
    if (s->ordered || s->ranks < 2 || !dice_below(&d, 4)) return TUTTI_OK;
    int n = 1 + dice_below(&d, MOST);
    for (int k = 0; k < n; k++) {
        int again = s->groups > 1 && dice_below(&d, 2);
        made[k].group = again ? 1 + dice_below(&d, s->groups - 1) : draw_group(&d, s);
        draw_part(&d, s, k, &made[k]);
    }
    for (int r = 0; r < s->ranks && !status; r++)
        status = mix_parts(&d, s, r, made, n, &s->program[r]);
    return status;
}

/* In some settings without an agreed order; where messages take device slots, no order of all collectives would do. */
static tutti_status draw_pipeline(uint64_t seed, program_setting *s)
{
    dice d = {.seed = wire_mix(seed, 11)};
    if (s->ordered || s->ranks < 2 || dice_below(&d, 3)) return TUTTI_OK;
    if (s->device_slots && !s->edges_aside) return TUTTI_OK;
    return explore_add_pipeline(wire_mix(seed, 12), s);
}

/* In some settings; with an agreed order only over all ranks. */
static tutti_status draw_strategy(uint64_t seed, program_setting *s)
{
    dice d = {.seed = wire_mix(seed, 13)};
    if (s->ranks < 2 || s->device_slots || dice_below(&d, 3)) return TUTTI_OK;
    return explore_add_strategy(wire_mix(seed, 14), s);
}

/* In a quarter of the settings lanes share 1 to 3 device slots. */
static int draw_slots(uint64_t seed)
{
    dice d = {.seed = wire_mix(seed, 15)};
    return dice_below(&d, 4) ? 0 : 1 + dice_below(&d, 3);
}

/* In half of those, edges take none. */
static int draw_edges_aside(uint64_t seed)
{
    dice d = {.seed = wire_mix(seed, 22)};
    return dice_below(&d, 2);
}

/* In half of the settings kernels are joined to regions. */
static int draw_regions(uint64_t seed)
{
    dice d = {.seed = wire_mix(seed, 17)};
    return dice_below(&d, 2);
}

/* In an eighth of the settings, a seed of random spanning trees; else 0. */
static uint64_t draw_forest(uint64_t seed)
{
    dice d = {.seed = wire_mix(seed, 19)};
    return dice_below(&d, 8) ? 0 : wire_mix(seed, 20) | 1;
}

/* In half of the settings ranks are on 1 to 3 hosts. */
static int draw_hosts(uint64_t seed)
{
    dice d = {.seed = wire_mix(seed, 21)};
    return dice_below(&d, 2) ? 0 : 1 + dice_below(&d, 3);
}

/* In a quarter of the settings one of the algorithms with trees; else NULL. */
static const char *draw_tree(uint64_t seed)
{
    static const char *const trees[] = {
        "pipelined-chain", "k-nomial:3", "chain-binomial:2", "chain-chain:2", "scatter-ring",
        "hierarchical"};
    dice d = {.seed = wire_mix(seed, 18)};
    return dice_below(&d, 4) ? NULL : trees[dice_below(&d, sizeof trees / sizeof *trees)];
}

tutti_status explore_draw(uint64_t seed, program_setting *setting)
{
    enum { MOST = 8, MOST_RANKS = 8 };
    static const char *const algorithms[] = {
        "auto", "ring", "recursive-doubling", "tree", "rsag", "direct"};
    dice d = {.seed = seed}, form = {.seed = wire_mix(seed, 9)};
    program_setting s = {.design = draw_design(&d)};
    double most[MOST];
    s.ranks = 1 + dice_below(&d, MOST_RANKS);
    s.workers = 1 + dice_below(&d, 4);
    s.lanes = s.design->many_lanes ? 1 + dice_below(&d, 4) : 1;
    s.algorithm = algorithms[dice_below(&d, sizeof algorithms / sizeof *algorithms)];
    if (draw_tree(seed)) s.algorithm = draw_tree(seed);
    if (s.ranks > 1) s.trees = draw_forest(seed);
    s.hosts = draw_hosts(seed);
    int verify = dice_below(&d, 4);
    s.verify = verify == 0 ? TUTTI_VERIFY_FULL : verify == 1 ? TUTTI_VERIFY_ON : TUTTI_VERIFY_OFF;
    s.eager_bytes = dice_below(&d, 2) ? 4096 : (size_t)dice_below(&d, 64);
    s.order_seed = wire_mix(seed, 7);
    s.device_slots = draw_slots(seed);
    s.edges_aside = s.device_slots && draw_edges_aside(seed);
    s.regions = draw_regions(seed);
    tutti_status status = begin(&s, 1 + dice_below(&d, 6), 1 + dice_below(&d, 3));
    s.chunk_bytes = dice_below(&d, 2) ? 0 : 8 + dice_below(&d, 40);
    s.ordered = dice_below(&d, 2);
    s.depth = (int)(wire_mix(seed, 8) & 3);
    draw_priorities(seed, &s);
    for (int k = 0; k < s.program[0].n && !status; k++)
        draw_collective(&d, &form, &s, s.program[0].collective, most, k);
    if (!status) status = copy_to_all(&s);
    if (!status) status = draw_groups(seed, &s);
    if (!status) status = draw_pipeline(seed, &s);
    if (!status) status = draw_strategy(seed, &s);
    if (!status) draw_vectors(seed, &s);
    if (status)
        program_clear(&s);
    else
        *setting = s;
    return status;
}

int explore_ledger(explore_result *result, world_verdict verdict)
{
    int64_t *const count[] = {[WORLD_RIGHT] = &result->right,
        [WORLD_HANG] = &result->hangs,
        [WORLD_WRONG] = &result->wrong,
        [WORLD_MISMATCH] = &result->mismatches,
        [WORLD_ERROR] = &result->errors};
    int is_first = verdict != WORLD_RIGHT && !result->first_bad;
    result->schedules++;
    ++*count[verdict];
    if (is_first) result->first_bad = verdict;
    return is_first;
}

void explore_print(const char *title, const explore_result *r, double began_s)
{
    printf("%s: %lld schedules, %lld hangs, %lld wrong, %lld mismatches, %lld errors", title,
        (long long)r->schedules, (long long)r->hangs, (long long)r->wrong, (long long)r->mismatches,
        (long long)r->errors);
    if (r->states) printf(", %lld states%s", (long long)r->states, r->cut ? " (cut)" : "");
    printf(", %.1f s\n", tutti_clock_s() - began_s);
}

char *explore_describe(const program_setting *s, char *text, size_t size)
{
    const char *algorithm = s->algorithm ? s->algorithm : "auto";
    const char *slash = strrchr(algorithm, '/'); /* of a file of trees */
    if (slash) algorithm = slash + 1;
    if (s->trees) algorithm = "random trees";
    snprintf(text, size,
        "%s, %d ranks, %d hosts, %d workers, %d lanes of depth %d, %d device slots%s, %s, %d "
        "collectives, %d "
        "steps, "
        "verify %s, chunks of %lld bytes, %s order%s, %d groups and edges%s",
        s->design->name, s->ranks, s->hosts ? s->hosts : 1, s->workers, s->lanes, s->depth,
        s->device_slots, s->edges_aside ? " (edges aside)" : "", algorithm, s->program[0].n,
        s->program[0].steps, tutti_verify_mode_name(s->verify), (long long)s->chunk_bytes,
        s->ordered ? "agreed" : "program", s->priorities.on ? ", priorities" : "", s->groups - 1,
        s->regions ? ", regions" : "");
    return text;
}
