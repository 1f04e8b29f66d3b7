/* Applying a graph: it is placed, and then checked by all ranks before the first step. Each rank sends a digest of what
 * it is about to submit, and the full text only if digests differ. */
#include "designs/exchange/exchange_parts.h"

#include "dag/base/log.h"
#include "designs/exchange/marks.h"

#include <stdlib.h>
#include <string.h>

/* ---- placing ---- */

/* Only the collectives of the first applied graph may follow another order. */
static tutti_status plan_order(tutti_exchange *x, tutti_graph *graph)
{
    int can = x->options.design->start->reorders;
    if (!x->options.order.on || !can) return TUTTI_OK;
    if (x->order) return tutti_order_admit(graph);
    return tutti_order_open(&x->options.order, graph, tutti_exchange_rank(x),
        tutti_exchange_size(x), tutti_comm_thread_driver(x->thread), &x->order);
}

static const tutti_members *members_for_marks(void *ctx, int group)
{
    return tutti_exchange_members(ctx, group);
}

static tutti_status edge_for_marks(void *ctx, int from, int to, int edge, int *group)
{
    return tutti_exchange_edge(ctx, from, to, edge, group);
}

/* Without communication. *checks: whether the ranks are to check the graph. */
static tutti_status place_graph(tutti_exchange *exchange, tutti_graph *graph, int *checks)
{
    const tutti_exchange_options *o = &exchange->options;
    const tutti_marks_options marks = {.design = o->design,
        .lanes = o->lanes,
        .bucket_bytes = o->bucket_bytes,
        .chunk_bytes = o->chunk_bytes,
        .members = members_for_marks,
        .edge = edge_for_marks,
        .ctx = exchange};
    int alone = tutti_exchange_size(exchange) == 1;
    /* where lanes share device slots, groups that the check would refuse hang */
    int must = o->verify != TUTTI_VERIFY_OFF || tutti_exchange_shares_slots(exchange);
    *checks = !alone && must && !o->manual;
    if (alone) return tutti_marks_alone(graph);
    tutti_status status = tutti_marks_lower(graph, &marks);
    return status ? status : plan_order(exchange, graph);
}

/* ---- checking ---- */

static tutti_status gather_all(
    tutti_exchange *x, tutti_dtype dtype, int64_t count, const void *mine, void *all)
{
    const tutti_coll_args args = {.kind = TUTTI_ALLGATHER,
        .dtype = dtype,
        .count = count,
        .out_of_place = 1,
        .send = mine,
        .recv = all};
    return tutti_exchange_call(x, "the check of the graphs", &args);
}

enum { GROUP_NAME = 256 };

/* Names the groups of a graph in a check. */
typedef struct naming {
    tutti_exchange *x;
    tutti_check *check;
} naming;

/* Its name in reports: "edge 3 from rank 0 to rank 1", or "2 {0, 3}" for a group. */
static const char *name_of(const tutti_members *members, char text[GROUP_NAME])
{
    static const char word[] = "group ";
    const char *name = tutti_members_name(members, text, GROUP_NAME);
    return strncmp(name, word, sizeof word - 1) ? name : name + sizeof word - 1;
}

/* The number, in the check, of the group of a node's collective; -1: the check does not have it. */
static int number_of(void *ctx, const tutti_node *node)
{
    const naming *n = ctx;
    int group = ((const tutti_coll_args *)node->desc)->group;
    char text[GROUP_NAME];
    if (!group) return 0;
    const char *name = name_of(tutti_exchange_members(n->x, group), text);
    for (int g = 1; g < n->check->groups; g++)
        if (!strcmp(n->check->group[g].name, name)) return g;
    return -1;
}

/* Adds the groups and edges of the graph's collectives to the check, by names that all ranks share. */
static tutti_status name_groups(naming *n, const tutti_graph *graph)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        int group = ((const tutti_coll_args *)node->desc)->group, number;
        const tutti_members *members = tutti_exchange_members(n->x, group);
        if (!members)
            return tutti_fail(TUTTI_ERR_INVAL,
                "'%s' names group %d, which this exchange does not have", node->name, group);
        if (number_of(n, node) >= 0) continue;
        char text[GROUP_NAME];
        status = tutti_check_add_group(
            n->check, name_of(members, text), members->size, members->of, &number);
        if (!status) n->check->group[number].edge = members->key < 0;
    }
    return status;
}

/* Writes what this rank submits when every section runs once, as text; the caller frees it. */
static tutti_status describe_graph(tutti_exchange *x, const tutti_graph *graph, char **text)
{
    naming n = {.x = x};
    int rank = tutti_exchange_rank(x);
    tutti_status status = tutti_check_new(tutti_exchange_size(x), &n.check);
    if (status) return status;
    status = name_groups(&n, graph);
    for (int s = 0; s < tutti_graph_sections(graph) && !status; s++)
        status = tutti_check_submit(n.check, rank, graph, s, number_of, &n);
    if (!status) status = tutti_check_text(n.check, rank, text);
    tutti_check_free(n.check);
    return status;
}

/* Checks the ordering law on the texts of all ranks: rank r's starts at texts + r * bytes, NUL-terminated. */
static tutti_status judge_texts(
    tutti_exchange *x, const char *texts, int64_t bytes, int workers, tutti_verdict *verdict)
{
    tutti_check *check;
    int size = tutti_exchange_size(x);
    tutti_status status = tutti_check_new(size, &check);
    if (status) return status;
    check->shares_slots = tutti_exchange_shares_slots(x);
    check->edges_aside = tutti_comm_edges_aside(tutti_comm_thread_comm(x->thread));
    for (int r = 0; r < size && !status; r++) {
        check->rank[r].workers = workers;
        status = tutti_check_read(check, r, texts + r * bytes);
    }
    if (!status) status = tutti_check_judge(check, tutti_exchange_design(x), verdict);
    tutti_check_free(check);
    return status;
}

/* Gathers the full texts and checks them. text NULL: this rank has none, because of this status. */
static tutti_status gather_and_check(
    tutti_exchange *x, const char *text, tutti_status why, int workers, tutti_verdict *verdict)
{
    int size = tutti_exchange_size(x);
    int64_t mine = text ? (int64_t)strlen(text) + 1 : -(int64_t)why, bytes = 1;
    int64_t *lengths = calloc((size_t)size, sizeof *lengths);
    if (!lengths) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for %d ranks", size);
    tutti_status status = gather_all(x, TUTTI_I64, 1, &mine, lengths);
    if (!text && !status) status = why; /* already logged */
    for (int r = 0; r < size && !status; r++) {
        if (lengths[r] < 0)
            status = tutti_fail(
                (tutti_status)-lengths[r], "rank %d cannot run this graph: its log says why", r);
        if (lengths[r] > bytes) bytes = lengths[r];
    }
    free(lengths);
    if (status) return status;
    char *padded = calloc(1, (size_t)bytes), *texts = calloc((size_t)size, (size_t)bytes);
    if (padded && texts) {
        memcpy(padded, text, (size_t)mine);
        status = gather_all(x, TUTTI_U8, bytes, padded, texts);
        if (!status) status = judge_texts(x, texts, bytes, workers, verdict);
    } else {
        status = tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for %d ranks", size);
    }
    free(padded);
    free(texts);
    return status;
}

tutti_status tutti_exchange_check_graph(
    tutti_exchange *exchange, const tutti_graph *graph, int workers, tutti_verdict *verdict)
{
    char *text = NULL;
    tutti_status status = describe_graph(exchange, graph, &text);
    tutti_status judged = gather_and_check(exchange, text, status, workers, verdict);
    free(text);
    return status ? status : judged;
}

/* *same: whether all ranks have this digest. */
static tutti_status compare_digests(tutti_exchange *x, uint64_t digest, int *same)
{
    int size = tutti_exchange_size(x);
    uint64_t *all = calloc((size_t)size, sizeof *all);
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "check: no memory for %d ranks", size);
    tutti_status status = gather_all(x, TUTTI_I64, 1, &digest, all);
    *same = 1;
    for (int r = 0; r < size; r++) *same &= all[r] == digest;
    free(all);
    return status;
}

/* placed: the status of placing the graph here. A rank that has failed takes part, so that all ranks get the
 * error. */
static tutti_status check_graph(tutti_exchange *x, const tutti_graph *graph, tutti_status placed)
{
    char *text = NULL;
    int same = 0;
    tutti_verdict verdict = {0};
    if (tutti_exchange_size(x) == 1) return placed;
    tutti_status described = placed ? placed : describe_graph(x, graph, &text);
    tutti_status status = compare_digests(x, text ? tutti_check_digest(text) : 0, &same);
    if (!status && (!same || described)) status = gather_and_check(x, text, described, 0, &verdict);
    free(text);
    if (described || status) return described ? described : status;
    if (!verdict.clause) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "the ranks would not run the same collectives: %s. Nothing has started; every rank must "
        "build the same graph",
        verdict.text);
}

tutti_status tutti_exchange_check(tutti_exchange *exchange, const tutti_graph *graph)
{
    return check_graph(exchange, graph, TUTTI_OK);
}

tutti_status tutti_exchange_apply(tutti_exchange *exchange, tutti_graph *graph)
{
    int checks;
    tutti_status status = place_graph(exchange, graph, &checks);
    return checks ? check_graph(exchange, graph, status) : status;
}

/* ---- where it receives ---- */

static int reaches(void *ctx, int rank)
{
    const tutti_exchange *x = ctx;
    const tutti_transport *t = tutti_comm_transport(tutti_comm_thread_comm(x->thread));
    return t->ops->take_memory && (!t->host || t->far_memory || t->host[rank] == t->host[t->rank]);
}

tutti_status tutti_exchange_remote_buffers(tutti_exchange *exchange, const tutti_graph *graph,
    int on_gpu, int *count, tutti_remote_buffer **found)
{
    const tutti_transport *t = tutti_comm_transport(tutti_comm_thread_comm(exchange->thread));
    const tutti_remote_options options = {.rank = t->rank,
        .on_gpu = on_gpu,
        .small_bytes = t->small_bytes,
        .transport = t->ops->name,
        .reaches = reaches,
        .members = members_for_marks,
        .ctx = exchange};
    return tutti_remote_buffers_find(graph, &options, count, found);
}
