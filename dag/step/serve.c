/* What travels between clients and servers, and what servers do with it. */
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/optim.h"
#include "dag/step/builder.h"
#include "dag/step/crossings.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- keys ---- */

static const char *suffix_of(const tutti_builder *b, const tutti_key *key)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (key->parameter == TUTTI_KEY_STATISTICS) return "stats";
    tutti_layer_parameters(&b->net->layer[key->layer], parameter);
    return parameter[key->parameter].suffix;
}

/* The stage of workers that has it. */
static int stage_of(const tutti_builder *b, const tutti_key *key)
{
    return tutti_stage_of(&b->options->placement, key->layer);
}

/* Whether a key takes part here: a worker's rank has the keys of its stage, a server meets those of all. Where weights
 * are sent, batch norms have no part. */
static int takes_part(const tutti_builder *b, const tutti_key *key, tutti_sent sent)
{
    const int here = !b->own.works || stage_of(b, key) == b->own.stage;
    return here && (sent == TUTTI_SENT_GRADIENTS || key->parameter != TUTTI_KEY_STATISTICS);
}

/* What a client has of it, and a server and nothing else the sum over clients. */
static int sum_of(const tutti_builder *b, const tutti_key *key)
{
    return key->parameter == TUTTI_KEY_STATISTICS
               ? b->statistics[key->layer]
               : tutti_builder_trained(b, key->layer, key->parameter)->gradient;
}

/* What comes back in its place. */
static int result_of(const tutti_builder *b, const tutti_key *key)
{
    return key->parameter == TUTTI_KEY_STATISTICS
               ? b->statistics[key->layer]
               : tutti_builder_trained(b, key->layer, key->parameter)->weight;
}

/* What a client sends, and where it puts what comes back. */
static int pushed_of(const tutti_builder *b, const tutti_key *key, tutti_sent sent)
{
    return sent == TUTTI_SENT_GRADIENTS ? sum_of(b, key) : result_of(b, key);
}

static int pulled_of(const tutti_builder *b, const tutti_key *key, tutti_sent sent)
{
    return sent == TUTTI_SENT_WEIGHTS
               ? tutti_builder_trained(b, key->layer, key->parameter)->near[0]
               : result_of(b, key);
}

/* ---- ranks ---- */

static int server_of(const tutti_builder *b, int k)
{
    return tutti_placement_server_rank(&b->options->placement, b->key[k].at.server);
}

static int root_of(const tutti_builder *b, int k, int client)
{
    const tutti_placement *p = &b->options->placement;
    const tutti_key *key = &b->key[k];
    return tutti_placement_rank(
        p, client * p->workers + key->number % p->workers, stage_of(b, key));
}

/* Whether this rank is the root of the key in its client. */
static int is_root(const tutti_builder *b, int k)
{
    return b->own.works && root_of(b, k, b->own.client) == b->options->placement.rank;
}

/* A key has an edge of its own from its root in each client to its server, and one back. What a rank would send to
 * itself is there already. */
static tutti_status message(tutti_builder *b, int k, tutti_verb verb, int tensor, int peer)
{
    if (peer == b->options->placement.rank) return TUTTI_OK;
    return tutti_builder_message(b, verb, tensor, peer, k);
}

/* ---- clients ---- */

static tutti_status in_client(tutti_builder *b, int k, tutti_verb verb, int tensor)
{
    const tutti_placement *p = &b->options->placement;
    const int workers = p->workers;
    const tutti_mark mark = {.verb = verb,
        .tensor = tensor,
        .group = p->own.group[TUTTI_GROUP_CLIENT],
        .root = verb == TUTTI_MARK_ALLREDUCE ? 0 : b->key[k].number % workers};
    int node;
    return workers == 1 ? TUTTI_OK : tutti_builder_add_mark(b, &mark, &node);
}

tutti_status tutti_builder_reduce_key(tutti_builder *b, int l, int p)
{
    const int k = tutti_builder_first_key(b, l, p);
    return in_client(b, k, TUTTI_MARK_REDUCE, sum_of(b, &b->key[k]));
}

tutti_status tutti_builder_sum_in_client(tutti_builder *b, int l, int p)
{
    const int k = tutti_builder_first_key(b, l, p);
    return in_client(b, k, TUTTI_MARK_ALLREDUCE, sum_of(b, &b->key[k]));
}

static tutti_status push_key(tutti_builder *b, int k, tutti_sent sent)
{
    int portion;
    tutti_status status =
        tutti_builder_take_portion(b, &b->key[k], pushed_of(b, &b->key[k], sent), &portion);
    return status == TUTTI_OK ? message(b, k, TUTTI_MARK_SEND, portion, server_of(b, k)) : status;
}

static tutti_status pull_key(tutti_builder *b, int k, tutti_sent sent)
{
    int portion;
    tutti_status status =
        tutti_builder_portion(b, &b->key[k], pulled_of(b, &b->key[k], sent), &portion);
    return status == TUTTI_OK ? message(b, k, TUTTI_MARK_RECV, portion, server_of(b, k)) : status;
}

/* Behind all messages, so that broadcasts can be fused. */
static tutti_status spread(tutti_builder *b, tutti_sent sent)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++)
        if (takes_part(b, &b->key[k], sent) && is_root(b, k))
            status = tutti_builder_put_portion(b, &b->key[k], pulled_of(b, &b->key[k], sent));
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++)
        if (takes_part(b, &b->key[k], sent) && b->key[k].portion == 0)
            status = in_client(b, k, TUTTI_MARK_BROADCAST, pulled_of(b, &b->key[k], sent));
    return status;
}

tutti_status tutti_builder_declare_centres(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++) {
        const tutti_key *key = &b->key[k];
        if (!takes_part(b, key, TUTTI_SENT_WEIGHTS) || key->portion) continue;
        tutti_trained *t = tutti_builder_trained(b, key->layer, key->parameter);
        const tutti_tensor *weight = tutti_graph_get_tensor(b->graph, t->weight);
        status = tutti_builder_tensor(b, "centre.", b->net->layer[key->layer].name,
            suffix_of(b, key), -1, TUTTI_ROLE_SCRATCH, weight->dtype, weight->shape, &t->near[0]);
    }
    return status;
}

/* to += share * (from - to) */
static tutti_status approach(tutti_builder *b, int to, int from, double share)
{
    const tutti_tensor *moved = tutti_graph_get_tensor(b->graph, to);
    const tutti_average_desc desc = {.count = tutti_shape_count(&moved->shape), .decay = 1 - share};
    const tutti_access access[] = {tutti_reads(from), tutti_updates(to)};
    char name[TUTTI_SITE_NAME + 16];
    snprintf(name, sizeof name, "%s.%s", moved->name, tutti_op_average.name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_average, &desc, sizeof desc, 2, access, NULL);
}

tutti_status tutti_builder_approach_centres(tutti_builder *b, double alpha)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++) {
        const tutti_key *key = &b->key[k];
        if (!takes_part(b, key, TUTTI_SENT_WEIGHTS) || key->portion) continue;
        const tutti_trained *t = tutti_builder_trained(b, key->layer, key->parameter);
        status = approach(b, t->weight, t->near[0], alpha);
        if (status == TUTTI_OK)
            status =
                tutti_builder_refresh_copy(b, key->layer, key->parameter, suffix_of(b, key), 0);
    }
    return status;
}

/* ---- servers ---- */

/* A tensor as another, "<that><suffix>". */
static tutti_status declare_like(tutti_builder *b, int like, const char *suffix, int *tensor)
{
    const tutti_tensor *of = tutti_graph_get_tensor(b->graph, like);
    char name[TUTTI_SITE_NAME + 32];
    snprintf(name, sizeof name, "%s%s", of->name, suffix);
    *tensor = tutti_graph_find(b->graph, name); /* another section may have it */
    if (*tensor >= 0) return TUTTI_OK;
    return tutti_graph_tensor(b->graph, name, TUTTI_ROLE_SCRATCH, of->dtype, of->shape, tensor);
}

/* The tensor into which a client's part of a sum comes: "<sum>.client<number>"; of a single client the sum; of this
 * rank's own what is there. */
static tutti_status declare_part(tutti_builder *b, int k, int client, int *part)
{
    char suffix[32];
    int own;
    tutti_status status = tutti_builder_portion(b, &b->key[k], sum_of(b, &b->key[k]), &own);
    *part = own;
    if (status != TUTTI_OK || b->options->placement.clients == 1) return status;
    if (root_of(b, k, client) == b->options->placement.rank) return TUTTI_OK;
    snprintf(suffix, sizeof suffix, ".client%d", client);
    return declare_like(b, own, suffix, part);
}

/* The sum of a key over several clients is beside a worker's own part. */
static tutti_status declare_total(tutti_builder *b, int k, int *total)
{
    int own;
    tutti_status status = tutti_builder_portion(b, &b->key[k], sum_of(b, &b->key[k]), &own);
    *total = own;
    if (status != TUTTI_OK || b->options->placement.clients == 1 || !b->own.works) return status;
    return declare_like(b, own, ".total", total);
}

/* Clients are added in their order, whichever comes first. */
static tutti_status add_clients(tutti_builder *b, int k)
{
    const int clients = b->options->placement.clients;
    tutti_access *access = calloc((size_t)clients + 1, sizeof *access);
    int total, node;
    if (!access)
        return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for the parts of %d clients", clients);
    tutti_status status = declare_total(b, k, &total);
    for (int c = 0; c < clients && status == TUTTI_OK; c++) {
        int part;
        status = declare_part(b, k, c, &part);
        if (status == TUTTI_OK) status = message(b, k, TUTTI_MARK_RECV, part, root_of(b, k, c));
        if (status == TUTTI_OK) access[c] = tutti_reads(part);
    }
    access[clients] = tutti_writes(total);
    if (status == TUTTI_OK && clients > 1) {
        const tutti_tensor *sum = tutti_graph_get_tensor(b->graph, total);
        const tutti_sum_desc desc = {.count = tutti_shape_count(&sum->shape), .inputs = clients};
        char name[TUTTI_SITE_NAME + 32];
        snprintf(name, sizeof name, "%s.sum_clients", sum->name);
        status = tutti_graph_kernel(
            b->graph, name, &tutti_op_sum, &desc, sizeof desc, clients + 1, access, &node);
        if (status == TUTTI_OK) tutti_builder_raise_priority(b, node);
    }
    free(access);
    return status;
}

/* On a worker that is its client's root, the sum of statistics takes the place of its own part. */
static tutti_status put_total(tutti_builder *b, int k, int total)
{
    const int own = sum_of(b, &b->key[k]);
    const tutti_sum_desc desc = {.count = b->key[k].at.count, .inputs = 1};
    const tutti_access access[] = {tutti_reads(total), tutti_writes(own)};
    char name[TUTTI_SITE_NAME + 32];
    if (total == own || !is_root(b, k)) return TUTTI_OK;
    snprintf(name, sizeof name, "%s.put", tutti_graph_get_tensor(b->graph, total)->name);
    return tutti_graph_kernel(b->graph, name, &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
}

/* The update of a parameter, or of a portion of it, which is what clients then get. */
static tutti_status update(tutti_builder *b, int k, int total, int *updated)
{
    const tutti_key *key = &b->key[k];
    const int first_node = tutti_graph_nodes(b->graph);
    tutti_trained t = *tutti_builder_trained(b, key->layer, key->parameter);
    char name[TUTTI_SITE_NAME];
    tutti_status status = tutti_builder_take_portion(b, key, t.weight, &t.weight);
    if (status != TUTTI_OK) return status;
    t.gradient = total;
    t.count = key->at.count;
    snprintf(name, sizeof name, "%s.%s", b->net->layer[key->layer].name, suffix_of(b, key));
    status = tutti_builder_append_update(b, name, &t);
    for (int n = first_node; n < tutti_graph_nodes(b->graph); n++)
        tutti_builder_raise_priority(b, n);
    *updated = t.weight;
    return status;
}

static tutti_status answer(tutti_builder *b, int k, int result)
{
    tutti_status status = TUTTI_OK;
    for (int c = 0; c < b->options->placement.clients && status == TUTTI_OK; c++)
        status = message(b, k, TUTTI_MARK_SEND, result, root_of(b, k, c));
    return status;
}

static tutti_status serve_key(tutti_builder *b, int k, tutti_sent sent)
{
    const tutti_key *key = &b->key[k];
    int result = result_of(b, key), total;
    if (sent != TUTTI_SENT_GRADIENTS) return answer(b, k, result);
    tutti_status status = declare_total(b, k, &total);
    if (status == TUTTI_OK && key->parameter == TUTTI_KEY_STATISTICS) {
        status = answer(b, k, total);
        return status == TUTTI_OK ? put_total(b, k, total) : status;
    }
    if (status == TUTTI_OK) status = update(b, k, total, &result);
    return status == TUTTI_OK ? answer(b, k, result) : status;
}

/* ---- both ---- */

tutti_status tutti_builder_push_keys(tutti_builder *b, tutti_sent sent)
{
    tutti_status status = TUTTI_OK;
    for (int k = b->keys - 1; k >= 0 && status == TUTTI_OK; k--) {
        if (!takes_part(b, &b->key[k], sent)) continue;
        if (is_root(b, k)) status = push_key(b, k, sent);
        if (status == TUTTI_OK && tutti_builder_serves_key(b, k)) status = add_clients(b, k);
    }
    return status;
}

tutti_status tutti_builder_pull_keys(tutti_builder *b, tutti_sent sent)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++) {
        if (!takes_part(b, &b->key[k], sent)) continue;
        if (tutti_builder_serves_key(b, k)) status = serve_key(b, k, sent);
        if (status == TUTTI_OK && is_root(b, k)) status = pull_key(b, k, sent);
    }
    return status == TUTTI_OK && b->own.works ? spread(b, sent) : status;
}

/* ---- centres on servers ---- */

/* From the sum over clients to their mean, which the centre approaches. */
static tutti_status move_centre(tutti_builder *b, const tutti_key *key, double share)
{
    const int sum = sum_of(b, key), clients = b->options->placement.clients;
    tutti_status status = clients > 1 ? tutti_builder_divide(b, sum, clients) : TUTTI_OK;
    return status == TUTTI_OK ? approach(b, result_of(b, key), sum, share) : status;
}

tutti_status tutti_builder_move_centres(tutti_builder *b, double share)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++)
        if (takes_part(b, &b->key[k], TUTTI_SENT_WEIGHTS) && tutti_builder_serves_key(b, k))
            status = move_centre(b, &b->key[k], share);
    return status;
}

/* ---- a server's graph ---- */

static tutti_status declare_key(tutti_builder *b, const tutti_key *key)
{
    const tutti_layer *layer = &b->net->layer[key->layer];
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (key->parameter == TUTTI_KEY_STATISTICS)
        return tutti_builder_tensor(b, "", layer->name, "stats", -1, TUTTI_ROLE_SCRATCH,
            TUTTI_STATISTICS_DTYPE, tutti_shape_of(2, layer->out[0].C), &b->statistics[key->layer]);
    tutti_layer_parameters(layer, parameter);
    tutti_status status =
        tutti_builder_declare_trained(b, key->layer, key->parameter, &parameter[key->parameter]);
    const tutti_trained *t = tutti_builder_trained(b, key->layer, key->parameter);
    if (status != TUTTI_OK || key->portions == 1) return status;
    status = tutti_graph_cut(b->graph, t->weight, key->at.first, key->at.count);
    return status == TUTTI_OK ? tutti_graph_cut(b->graph, t->gradient, key->at.first, key->at.count)
                              : status;
}

tutti_status tutti_builder_declare_keys(tutti_builder *b)
{
    tutti_status status = tutti_builder_declare_numbers(b);
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++)
        if (tutti_builder_serves_key(b, k)) status = declare_key(b, &b->key[k]);
    return status;
}

/* A section of a worker that concerns no server, which has it, too, without nodes. */
static tutti_status leave_empty(tutti_builder *b, const char *name, int *section)
{
    return tutti_graph_section(b->graph, name, section);
}

tutti_status tutti_builder_serve(tutti_builder *b)
{
    tutti_step *step = b->step;
    const struct {
        const char *name;
        int *section, present;
    } rows[] = {{"gather_first", &step->gather_first, step->accumulate > 1},
        {"gather_more", &step->gather_more, step->accumulate > 2}, {"eval", &step->eval, 1},
        {"eval_again", &step->eval_again, 1},
        {"eval_average", &step->eval_average, b->options->average_decay > 0},
        {"eval_average_again", &step->eval_average_again, b->options->average_decay > 0}};
    tutti_status status = tutti_builder_mix_replicas(b);
    if (status == TUTTI_OK) status = tutti_graph_section(b->graph, "train", &step->train);
    if (status == TUTTI_OK) status = step->strategy->update(b);
    if (status == TUTTI_OK && step->strategy->alone)
        status = tutti_graph_section(b->graph, "average", &step->average);
    if (status == TUTTI_OK && step->strategy->alone) status = step->strategy->average(b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == TUTTI_OK; i++)
        if (rows[i].present) status = leave_empty(b, rows[i].name, rows[i].section);
    return status;
}
