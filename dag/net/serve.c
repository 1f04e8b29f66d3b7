/* What travels between clients and servers, and what servers do with it. */
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/net/builder.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- keys ---- */

tutti_status tutti_builder_deal_keys(tutti_builder *b)
{
    const tutti_service *s = &b->options->service;
    if (!s->servers) return TUTTI_OK;
    b->keys = tutti_service_keys(b->net, NULL);
    if (s->servers > b->keys)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %d servers, but only %d keys, of which each needs one: use fewer servers",
            s->servers, b->keys);
    b->key = calloc((size_t)b->keys, sizeof *b->key);
    if (!b->key) return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for %d keys", b->keys);
    tutti_service_keys(b->net, b->key);
    tutti_service_deal(s->servers, b->keys, b->key);
    return TUTTI_OK;
}

static int number_of(const tutti_builder *b, int l, int p)
{
    int k = 0;
    while (b->key[k].layer != l || b->key[k].parameter != p) k++;
    return k;
}

int tutti_builder_serves_key(const tutti_builder *b, int k)
{
    const tutti_service *s = &b->options->service;
    return s->serves && b->key[k].server == s->server;
}

static const char *suffix_of(const tutti_builder *b, const tutti_key *key)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (key->parameter == TUTTI_KEY_STATISTICS) return "stats";
    tutti_layer_parameters(&b->net->layer[key->layer], parameter);
    return parameter[key->parameter].suffix;
}

/* What is added up, and what comes back. */
static int sum_of(const tutti_builder *b, const tutti_key *key)
{
    return key->parameter == TUTTI_KEY_STATISTICS
               ? b->statistics[key->layer]
               : tutti_builder_trained(b, key->layer, key->parameter)->gradient;
}

static int result_of(const tutti_builder *b, const tutti_key *key)
{
    return key->parameter == TUTTI_KEY_STATISTICS
               ? b->statistics[key->layer]
               : tutti_builder_trained(b, key->layer, key->parameter)->weight;
}

/* ---- clients ---- */

static tutti_status in_client(tutti_builder *b, int k, tutti_verb verb, int tensor)
{
    const tutti_service *s = &b->options->service;
    const tutti_mark mark = {
        .verb = verb, .tensor = tensor, .group = s->group, .root = k % s->workers};
    int node;
    if (s->workers == 1) return TUTTI_OK;
    tutti_status status = tutti_graph_mark(b->graph, &mark, &node);
    if (status == TUTTI_OK) tutti_graph_set_priority(b->graph, node, tutti_builder_urgent(b));
    return status;
}

/* A key has an edge of its own from its root in each client to its server, and one back. */
static tutti_status message(tutti_builder *b, int k, tutti_verb verb, int tensor, int peer)
{
    const tutti_mark mark = {.verb = verb, .tensor = tensor, .peer = peer, .edge = k};
    int node;
    tutti_status status = tutti_graph_mark(b->graph, &mark, &node);
    if (status == TUTTI_OK) tutti_graph_set_priority(b->graph, node, tutti_builder_urgent(b));
    return status;
}

static int is_root(const tutti_builder *b, int k)
{
    const tutti_service *s = &b->options->service;
    return k % s->workers == s->worker;
}

static int server_of(const tutti_builder *b, int k)
{
    return b->options->service.first + b->key[k].server;
}

tutti_status tutti_builder_reduce_key(tutti_builder *b, int l, int p)
{
    const int k = number_of(b, l, p);
    return in_client(b, k, TUTTI_MARK_REDUCE, sum_of(b, &b->key[k]));
}

tutti_status tutti_builder_push_keys(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int k = b->keys - 1; k >= 0 && status == TUTTI_OK; k--)
        if (is_root(b, k))
            status = message(b, k, TUTTI_MARK_SEND, sum_of(b, &b->key[k]), server_of(b, k));
    return status;
}

/* Broadcasts come behind all messages, so that they can be fused. */
tutti_status tutti_builder_pull_keys(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++)
        if (is_root(b, k))
            status = message(b, k, TUTTI_MARK_RECV, result_of(b, &b->key[k]), server_of(b, k));
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++)
        status = in_client(b, k, TUTTI_MARK_BROADCAST, result_of(b, &b->key[k]));
    return status;
}

/* ---- servers ---- */

static int root_of(const tutti_builder *b, int k, int client)
{
    const tutti_service *s = &b->options->service;
    return client * s->workers + k % s->workers;
}

/* The tensor into which a client's part of a sum comes: "<sum>@<client>", or of a single client the sum. */
static tutti_status declare_part(tutti_builder *b, int k, int client, int *part)
{
    const tutti_key *key = &b->key[k];
    const tutti_tensor *sum = tutti_graph_get_tensor(b->graph, sum_of(b, key));
    *part = sum_of(b, key);
    if (b->options->service.clients == 1) return TUTTI_OK;
    return tutti_builder_tensor(b, key->parameter == TUTTI_KEY_STATISTICS ? "" : "d.",
        b->net->layer[key->layer].name, suffix_of(b, key), client, TUTTI_ROLE_SCRATCH, sum->dtype,
        sum->shape, part);
}

/* The sum of a key: clients are added in their order, whichever comes first. */
static tutti_status add_clients(tutti_builder *b, int k)
{
    const int clients = b->options->service.clients, total = sum_of(b, &b->key[k]);
    const tutti_tensor *sum = tutti_graph_get_tensor(b->graph, total);
    const tutti_sum_desc desc = {.count = tutti_shape_count(&sum->shape), .inputs = clients};
    char name[TUTTI_SITE_NAME + 16];
    tutti_status status = TUTTI_OK;
    snprintf(name, sizeof name, "%s.sum_clients", sum->name);
    tutti_access *access = calloc((size_t)clients + 1, sizeof *access);
    if (!access)
        return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for the parts of %d clients", clients);
    for (int c = 0; c < clients && status == TUTTI_OK; c++) {
        int part;
        status = declare_part(b, k, c, &part);
        if (status == TUTTI_OK)
            status = message(b, k, TUTTI_MARK_RECV, part, root_of(b, k, c));
        if (status == TUTTI_OK) access[c] = tutti_reads(part);
    }
    access[clients] = tutti_writes(total);
    if (status == TUTTI_OK && clients > 1)
        status = tutti_graph_kernel(b->graph, name, &tutti_op_sum, &desc, sizeof desc, clients + 1,
            access, NULL);
    free(access);
    return status;
}

tutti_status tutti_builder_add_clients(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int k = b->keys - 1; k >= 0 && status == TUTTI_OK; k--)
        if (tutti_builder_serves_key(b, k)) status = add_clients(b, k);
    return status;
}

tutti_status tutti_builder_update_keys(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < b->keys && status == TUTTI_OK; k++) {
        const tutti_key *key = &b->key[k];
        if (!tutti_builder_serves_key(b, k)) continue;
        if (key->parameter != TUTTI_KEY_STATISTICS)
            status =
                tutti_builder_update_parameter(b, key->layer, key->parameter, suffix_of(b, key));
        for (int c = 0; c < b->options->service.clients && status == TUTTI_OK; c++)
            status = message(b, k, TUTTI_MARK_SEND, result_of(b, key), root_of(b, k, c));
    }
    return status;
}

/* ---- a server's graph ---- */

static tutti_status declare_key(tutti_builder *b, const tutti_key *key)
{
    const tutti_layer *layer = &b->net->layer[key->layer];
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (key->parameter == TUTTI_KEY_STATISTICS)
        return tutti_builder_tensor(b, "", layer->name, "stats", -1, TUTTI_ROLE_SCRATCH,
            TUTTI_STATISTICS_DTYPE, tutti_shape_of(2, layer->out[0].C),
            &b->statistics[key->layer]);
    tutti_layer_parameters(layer, parameter);
    return tutti_builder_declare_trained(
        b, key->layer, key->parameter, &parameter[key->parameter]);
}

tutti_status tutti_builder_declare_keys(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
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
    tutti_status status = tutti_graph_section(b->graph, "train", &step->train);
    if (status == TUTTI_OK) status = step->strategy->update(b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == TUTTI_OK; i++)
        if (rows[i].present) status = leave_empty(b, rows[i].name, rows[i].section);
    return status;
}
