#define _GNU_SOURCE /* memfd_create */
#include "tests/deadlock/world_parts.h"

#include "collectives/trees/forest_text.h"
#include "dag/base/log.h"
#include "dag/graph/region.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "dag/run/inline.h"
#include "tests/deadlock/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where the rank has no element, the tensor has one that is not used. */
static int64_t room(int64_t count)
{
    return count ? count : 1;
}

/* The inputs of collectives are fed; what they compute is theirs. */
static tutti_status add_tensor(
    tutti_graph *g, const char *prefix, const program_collective *c, int64_t count, int *tensor)
{
    const tutti_role role = strcmp(prefix, "in.") ? TUTTI_ROLE_SCRATCH : TUTTI_ROLE_INPUT;
    char name[PROGRAM_NAME + 16];
    snprintf(name, sizeof name, "%s%s", prefix, c->name);
    return tutti_graph_tensor(g, name, role, c->dtype, tutti_shape_of(room(count)), tensor);
}

/* The kernel node that adds the results that this collective reads to its fed input. */
static tutti_status add_reads(world_rank *r, int k)
{
    const program_collective *c = &r->program->collective[k];
    tutti_access access[8] = {{r->cell[k].fed, TUTTI_READ}};
    tutti_sum_desc desc = {.count = c->count, .inputs = 1};
    for (int j = 0; j < k && desc.inputs < 7; j++)
        if (c->reads >> j & 1)
            access[desc.inputs++] = (tutti_access){r->cell[j].result, TUTTI_READ};
    access[desc.inputs] = (tutti_access){r->cell[k].result, TUTTI_WRITE};
    r->role[r->tasks++] = WORLD_NOT_COLLECTIVE;
    return tutti_graph_kernel(
        r->graph, c->name, &tutti_op_sum, &desc, sizeof desc, desc.inputs + 1, access, NULL);
}

/* With regions, a kernel in front of those that compute this collective's input, of whose results they need nothing: it
 * reads the result of an earlier collective. In one task with them, it would make this one wait for that. */
static tutti_status add_aside(world_rank *r, int k)
{
    const program_collective *c = r->program->collective;
    int j = k - 1, aside;
    while (j >= 0 && c[j].dtype != TUTTI_F32) j--;
    if (j < 0 || !r->world->setting->regions || !(c[k].reads || c[k].vectors)) return TUTTI_OK;
    tutti_status status = add_tensor(r->graph, "aside.", &c[k], 1, &aside);
    const tutti_access access[] = {{r->cell[j].result, TUTTI_READ}, {aside, TUTTI_WRITE}};
    const tutti_sum_desc desc = {.count = 1, .inputs = 1};
    if (status) return status;
    r->role[r->tasks++] = WORLD_NOT_COLLECTIVE;
    return tutti_graph_kernel(
        r->graph, "aside", &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
}

/* The nodes that compute the vectors, each from the one before it; these go into the mark. */
static tutti_status add_vectors(
    world_rank *r, const program_collective *c, int fed, tutti_mark *mark)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < c->vectors && !status; k++) {
        char prefix[16];
        int *vector = &mark->vector[mark->vectors++];
        snprintf(prefix, sizeof prefix, "v%d.", k);
        status = add_tensor(r->graph, prefix, c, c->count, vector);
        const tutti_access access[] = {
            {fed, TUTTI_READ}, {k ? vector[-1] : *vector, TUTTI_READ}, {*vector, TUTTI_WRITE}};
        const tutti_access first[] = {access[0], access[2]};
        const tutti_sum_desc desc = {.count = c->count, .inputs = k ? 2 : 1};
        r->role[r->tasks++] = WORLD_NOT_COLLECTIVE;
        if (!status)
            status = tutti_graph_kernel(r->graph, prefix, &tutti_op_sum, &desc, sizeof desc,
                desc.inputs + 1, k ? access : first, NULL);
    }
    return status;
}

/* What a step's graph would mark; 0, a sum, for kinds that only programs make. */
static const tutti_verb verb_of[TUTTI_COLL_KINDS] = {
    [TUTTI_REDUCE_SCATTER] = TUTTI_MARK_REDUCE_SCATTER,
    [TUTTI_ALLGATHER] = TUTTI_MARK_ALLGATHER,
    [TUTTI_REDUCE] = TUTTI_MARK_REDUCE,
    [TUTTI_BROADCAST] = TUTTI_MARK_BROADCAST};

/* Sums in place stay marks, which the exchange turns into allreduces; the others are collectives from the start. Who is
 * alone in a group has a mark, of which the exchange makes nothing. */
static tutti_status add_collective(world_rank *r, const program_collective *c, int fed, int recv)
{
    const program_group *of = &r->world->setting->group[c->group];
    struct {
        tutti_coll_args args;
        int64_t part[2 * PROGRAM_RANKS];
    } desc = {.args = program_args(c)};
    size_t parts = (size_t)c->parts * sizeof *c->part;
    if (parts) desc.args.counts = memcpy(desc.part, c->part, parts);
    desc.args.group = r->slot[c->group];
    tutti_mark mark = {
        .verb = verb_of[c->kind], .tensor = recv, .group = of->is_edge ? 0 : r->slot[c->group]};
    int node, sums = c->kind == TUTTI_ALLREDUCE && c->op == TUTTI_SUM && !c->apart;
    tutti_status status = add_vectors(r, c, fed, &mark);
    if (!status) status = tutti_graph_mark(r->graph, &mark, &node);
    if (of->size == 1) return status;
    if (!status && !sums)
        status = tutti_graph_set_collective(r->graph, node, &desc, sizeof desc.args + parts);
    const tutti_place place = {.lane = -1, .priority = c->priority};
    return status ? status : tutti_graph_set_place(r->graph, node, place);
}

static tutti_status build_collective(world_rank *r, int k)
{
    const program_setting *s = r->world->setting;
    const program_collective *c = &r->program->collective[k];
    world_cell *x = &r->cell[k];
    int alone = s->group[c->group].size == 1, has_input = program_has_input(s, r->number, c);
    int64_t in = program_in_count(s, r->number, c), out = program_out_count(s, r->number, c);
    tutti_status status = add_tensor(r->graph, "", c, out, &x->result);
    x->fed = x->result;
    if (!status && (has_input || c->reads || c->vectors))
        status = add_tensor(r->graph, "in.", c, in, &x->fed);
    if (!status) status = add_aside(r, k);
    if (!status && c->reads) status = add_reads(r, k);
    if (!status) status = add_collective(r, c, x->fed, x->result);
    int node = tutti_graph_nodes(r->graph) - 1;
    if (!status && has_input)
        status = tutti_graph_add_access(r->graph, node, (tutti_access){x->fed, TUTTI_READ});
    for (int i = 0; i < c->afters && !status; i++)
        status = tutti_graph_add_access(
            r->graph, node, (tutti_access){r->cell[c->after[i]].result, TUTTI_READ});
    if (!alone) r->role[r->tasks++] = k;
    size_t element = tutti_dtype_bytes(c->dtype), steps = (size_t)r->program->steps;
    x->fed_bytes = (size_t)room(in) * element;
    x->result_bytes = (size_t)room(out) * element;
    x->input = calloc(steps * x->fed_bytes + 1, 1);
    x->output = malloc(steps * x->result_bytes + 1);
    if (!status && (!x->input || !x->output))
        status = tutti_fail(TUTTI_ERR_NOMEM, "world: no memory for '%s'", c->name);
    return status;
}

/* Draws any order; rank 0 sends program order if this one violates data dependencies. */
static void draw_order(void *ctx, int slots, int32_t order[])
{
    const program_setting *s = ctx;
    for (int i = 1; i < slots; i++) {
        int j = (int)((wire_mix(s->order_seed, (uint64_t)i) >> 32) % (unsigned)(i + 1));
        int32_t moved = order[j];
        order[j] = order[i];
        order[i] = moved;
    }
}

/* All ranks make all groups, in one order; a rank has the edges that it is on. */
static tutti_status open_groups(world_rank *r)
{
    const program_setting *s = r->world->setting;
    tutti_status status = TUTTI_OK;
    for (int g = 1; g < s->groups && !status; g++) {
        const program_group *of = &s->group[g];
        if (!of->is_edge)
            status = tutti_exchange_group(r->exchange, of->size, of->rank, &r->slot[g]);
        else if (program_rank_in(s, g, r->number) >= 0)
            status =
                tutti_exchange_edge(r->exchange, of->rank[0], of->rank[1], of->edge, &r->slot[g]);
    }
    return status;
}

static tutti_status open_exchange(world_rank *r)
{
    world *w = r->world;
    const program_setting *s = w->setting;
    tutti_transport *transport;
    int control = (s->verify != TUTTI_VERIFY_OFF || s->priorities.on) && s->ranks > 1;
    int messages = s->groups > 1;
    tutti_status status =
        wire_transport(&w->wire, w->loop, r->number, s->lanes + control + messages, &transport);
    if (status) return status;
    r->end = transport;
    const tutti_exchange_options options = {.design = s->design,
        .lanes = s->lanes,
        .algorithm = s->trees ? w->algorithm : s->algorithm,
        .depth = s->depth,
        .unsafe = 1,
        .verify = s->verify,
        .chunk_bytes = r->program->chunk_bytes ? r->program->chunk_bytes : s->chunk_bytes,
        .order = {.on = s->ordered, .at = 1, .make = draw_order, .ctx = (void *)s},
        .priorities = s->priorities,
        .messages = messages,
        .manual = 1};
    status = tutti_exchange_open_over(transport, &options, &r->exchange);
    return status ? status : open_groups(r);
}

/* Longer than any step. */
static const double whole_s = 1e9;

/* Tasks are numbered as they are submitted: of a region, only its first node is one. */
static tutti_status drop_joined(world_rank *r)
{
    const int feeds = r->program->n, workers = r->world->setting->workers;
    const tutti_region_rule rule = {whole_s, workers > 1 ? workers : 1};
    double *node_s = calloc((size_t)tutti_graph_nodes(r->graph) + 1, sizeof *node_s);
    if (!node_s) return tutti_fail(TUTTI_ERR_NOMEM, "world: no memory");
    tutti_regions regions;
    tutti_status status = tutti_regions_find(r->graph, node_s, &rule, &regions);
    free(node_s);
    if (status) return status;
    int from = feeds, to = feeds;
    for (int n = 0; n < tutti_graph_nodes(r->graph); n++) {
        if (!tutti_node_runs(tutti_graph_get_node(r->graph, n))) continue;
        const int region = regions.of[n];
        if (region < 0 || regions.region[region].node[0] == n) r->role[to++] = r->role[from];
        from++;
    }
    r->world->joined += from - to;
    while (from < r->tasks) r->role[to++] = r->role[from++];
    r->tasks = to;
    tutti_regions_free(&regions);
    return TUTTI_OK;
}

static tutti_status open_rank(world_rank *r)
{
    const program_setting *s = r->world->setting;
    const program *p = r->program;
    size_t n = (size_t)p->n;
    tutti_status status = open_exchange(r);
    r->cell = calloc(n + 1, sizeof *r->cell);
    r->role = calloc((5 + PROGRAM_VECTORS) * n + 1, sizeof *r->role);
    if (!status && (!r->cell || !r->role))
        status = tutti_fail(TUTTI_ERR_NOMEM, "world: no memory for rank %d", r->number);
    if (!status) status = tutti_graph_new(&r->graph);
    if (status) return status;
    while (r->tasks < p->n) r->role[r->tasks++] = WORLD_NOT_COLLECTIVE; /* feeds */
    for (int k = 0; k < p->n && !status; k++) status = build_collective(r, k);
    for (int k = 0; k < p->n; k++) r->role[r->tasks++] = WORLD_NOT_COLLECTIVE; /* fetches */
    if (!status) status = tutti_exchange_apply(r->exchange, r->graph);
    r->task = calloc((size_t)world_tasks(r) + 1, sizeof *r->task);
    if (!status && !r->task)
        status = tutti_fail(TUTTI_ERR_NOMEM, "world: no memory for rank %d", r->number);
    if (!status && s->regions) status = drop_joined(r);
    const tutti_run_options options = {
        .workers = s->workers, .region_s = s->regions ? whole_s : 0, .hooks = world_hooks(r)};
    return status ? status : tutti_runner_inline.open(r->graph, &options, &r->run);
}

/* Ranks join a tree in any order, under any that is in it. */
static void draw_tree(dice *d, int P, tutti_tree *tree)
{
    int joined[PROGRAM_RANKS], parent[PROGRAM_RANKS];
    for (int n = 0; n < P; n++) {
        int at = dice_below(d, n + 1);
        joined[n] = n;
        joined[n] = joined[at];
        joined[at] = n;
    }
    for (int n = 0; n < P; n++) parent[joined[n]] = n ? joined[dice_below(d, n)] : -1;
    memcpy(tree->parent, parent, (size_t)P * sizeof *parent);
    tree->weight = 1e9 * (1 + dice_below(d, 3));
}

static tutti_status write_forest(world *w, const tutti_forest *forest)
{
    w->trees = memfd_create("trees", MFD_CLOEXEC);
    int copy = w->trees < 0 ? -1 : dup(w->trees);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    if (!file) return tutti_fail(TUTTI_ERR_IO, "world: no file for its trees");
    tutti_status status = tutti_forest_print(forest, 1, file);
    if (fclose(file) && !status) status = tutti_fail(TUTTI_ERR_IO, "world: no file for its trees");
    snprintf(w->algorithm, sizeof w->algorithm, "forest:/proc/self/fd/%d", w->trees);
    return status;
}

static tutti_status draw_trees(world *w)
{
    dice d = {.seed = w->setting->trees};
    tutti_forest *forest;
    tutti_status status = tutti_forest_new(w->setting->ranks, 1 + dice_below(&d, 3), &forest);
    if (status) return status;
    for (int t = 0; t < forest->trees; t++) draw_tree(&d, forest->P, &forest->tree[t]);
    status = write_forest(w, forest);
    tutti_forest_free(forest);
    return status;
}

tutti_status world_open(const program_setting *setting, world **opened)
{
    world *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "world: no memory");
    w->setting = setting;
    w->trees = -1;
    const tutti_loop_options loop = {.eager_bytes = setting->eager_bytes,
        .device_slots = setting->device_slots,
        .edges_aside = setting->edges_aside,
        .hosts = setting->hosts};
    tutti_status status = oracle_new(setting, &w->oracle);
    if (!status && setting->trees) status = draw_trees(w);
    if (!status) status = tutti_loop_world_new(setting->ranks, &loop, &w->loop);
    for (int r = 0; r < setting->ranks && !status; r++) {
        w->rank[r] = (world_rank){.world = w, .number = r, .program = &setting->program[r]};
        status = open_rank(&w->rank[r]);
    }
    if (status)
        world_close(w);
    else
        *opened = w;
    return status;
}

static void close_rank(world_rank *r)
{
    tutti_runner_inline.close(r->run);
    tutti_exchange_close(r->exchange);
    tutti_graph_free(r->graph);
    for (int k = 0; r->cell && k < r->program->n; k++) {
        free(r->cell[k].input);
        free(r->cell[k].output);
    }
    free(r->cell);
    free(r->role);
    free(r->task);
}

static void say_nothing(void *ctx, tutti_log_level level, const char *sentence)
{
    (void)ctx;
    (void)level;
    (void)sentence;
}

/* A schedule that was left half-way, because its state has been seen or nothing moves, ends by failures of our making:
 * what ranks say of these says nothing of the case. */
void world_close(world *w)
{
    if (!w) return;
    const int half_way = !world_ended(w);
    if (half_way) tutti_log_to(say_nothing, NULL);
    if (half_way) world_end_all(w);
    for (int r = 0; r < w->setting->ranks; r++) close_rank(&w->rank[r]);
    if (half_way) tutti_log_to(NULL, NULL);
    tutti_loop_world_free(w->loop);
    if (w->trees >= 0) close(w->trees);
    oracle_free(w->oracle);
    free(w);
}
