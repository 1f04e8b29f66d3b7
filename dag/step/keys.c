/* Which server has which key, as the parts of a step's construction ask for it. */
#include "dag/base/log.h"
#include "dag/step/builder.h"

#include <stdlib.h>

int tutti_step_keys(
    const tutti_net *net, const tutti_step_options *options, int servers, tutti_key key[])
{
    const int elementwise = !options->rule || options->rule->cut;
    const int alone = options->strategy && options->strategy->alone;
    return tutti_service_keys(net, elementwise || alone ? servers : 1, key);
}

tutti_status tutti_builder_partition_keys(tutti_builder *b)
{
    const int servers = b->options->placement.servers;
    if (!servers) return TUTTI_OK;
    b->keys = tutti_step_keys(b->net, b->options, servers, NULL);
    if (servers > b->keys && !b->options->placement.everywhere)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %d servers, but only %d keys, of which each needs one: use fewer servers",
            servers, b->keys);
    b->key = calloc((size_t)b->keys, sizeof *b->key);
    if (!b->key) return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for %d keys", b->keys);
    tutti_step_keys(b->net, b->options, servers, b->key);
    return tutti_service_partition(servers, b->keys, b->key);
}

int tutti_builder_serves_key(const tutti_builder *b, int k)
{
    return b->own.serves && b->key[k].at.server == b->own.server;
}

int tutti_builder_first_key(const tutti_builder *b, int l, int p)
{
    int k = 0;
    while (b->key[k].layer != l || b->key[k].parameter != p) k++;
    return k;
}

const tutti_key *tutti_builder_own_key(const tutti_builder *b, int l, int p)
{
    for (int k = 0; k < b->keys; k++)
        if (b->key[k].layer == l && b->key[k].parameter == p && tutti_builder_serves_key(b, k))
            return &b->key[k];
    return NULL;
}
