/* Portions of large parameters, on their way between a client, which has the whole, and the servers, of which each has
 * one. Messages have tensors of their own, so that those of one portion wait for none of another. */
#include "dag/kernels/arith.h"
#include "dag/step/builder.h"

#include <stdio.h>

/* Whether the key is in a tensor beside the whole, which a server and nothing else does not have. */
static int is_apart(const tutti_builder *b, const tutti_key *key)
{
    return key->portions > 1 && b->own.works;
}

tutti_status tutti_builder_portion(tutti_builder *b, const tutti_key *key, int whole, int *portion)
{
    const tutti_tensor *of = tutti_graph_get_tensor(b->graph, whole);
    char name[TUTTI_SITE_NAME + 16];
    *portion = whole;
    if (!is_apart(b, key)) return TUTTI_OK;
    snprintf(name, sizeof name, "%s#%d", of->name, key->portion);
    *portion = tutti_graph_find(b->graph, name); /* another section may have it */
    if (*portion >= 0) return TUTTI_OK;
    return tutti_graph_tensor(
        b->graph, name, TUTTI_ROLE_SCRATCH, of->dtype, tutti_shape_of(key->at.count), portion);
}

static tutti_status copy(tutti_builder *b, const tutti_op *op, const void *desc, size_t desc_bytes,
    int portion, const tutti_access access[])
{
    const char *of = tutti_graph_get_tensor(b->graph, portion)->name;
    char name[TUTTI_SITE_NAME + 32];
    int node;
    snprintf(name, sizeof name, "%s.%s", of, op->name);
    tutti_status status =
        tutti_graph_kernel(b->graph, name, op, desc, desc_bytes, 2, access, &node);
    if (status == TUTTI_OK) tutti_builder_raise_priority(b, node);
    return status;
}

tutti_status tutti_builder_take_portion(
    tutti_builder *b, const tutti_key *key, int whole, int *portion)
{
    tutti_status status = tutti_builder_portion(b, key, whole, portion);
    if (status != TUTTI_OK || !is_apart(b, key)) return status;
    const tutti_take_desc desc = {.rows = 1,
        .parts = 1,
        .each = key->at.count,
        .first = key->at.first,
        .total = tutti_shape_count(&tutti_graph_get_tensor(b->graph, whole)->shape)};
    const tutti_access access[] = {tutti_reads(whole), tutti_writes(*portion)};
    return copy(b, &tutti_op_take, &desc, sizeof desc, *portion, access);
}

tutti_status tutti_builder_put_portion(tutti_builder *b, const tutti_key *key, int whole)
{
    int portion;
    tutti_status status = tutti_builder_portion(b, key, whole, &portion);
    if (status != TUTTI_OK || !is_apart(b, key)) return status;
    const tutti_put_desc desc = {.count = key->at.count,
        .first = key->at.first,
        .total = tutti_shape_count(&tutti_graph_get_tensor(b->graph, whole)->shape)};
    const tutti_access access[] = {tutti_reads(portion), tutti_updates(whole)};
    return copy(b, &tutti_op_put, &desc, sizeof desc, portion, access);
}
