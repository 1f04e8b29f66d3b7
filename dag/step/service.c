#include "dag/step/service.h"

#include "dag/net/layer.h"
#include "dag/net/site.h"

/* A whole of fewer bytes than this part of what a server has in all makes no server much longer than another. */
enum { SMALL_PART = 8, LEAST_PORTION = 4096 /* bytes that are worth a message */ };

typedef struct listing {
    tutti_portions rule; /* which wholes have portions */
    tutti_key *key;      /* NULL: they are counted */
    int64_t all;         /* bytes of the net */
    int count, numbers;
} listing;

/* What is in a net, first for its bytes alone. */
typedef void visit_whole(listing *k, int layer, int parameter, int64_t count, tutti_dtype dtype);

static void weigh(listing *k, int layer, int parameter, int64_t count, tutti_dtype dtype)
{
    (void)layer;
    (void)parameter;
    k->all += count * (int64_t)tutti_dtype_bytes(dtype);
}

static void add(listing *k, int layer, int parameter, int64_t count, tutti_dtype dtype)
{
    const int64_t bytes = count * (int64_t)tutti_dtype_bytes(dtype);
    const int whole = parameter == TUTTI_KEY_STATISTICS;
    const int portions = whole ? 1 : tutti_portions_parts(&k->rule, bytes);
    for (int p = 0; p < portions; p++, k->count++)
        if (k->key)
            k->key[k->count] = (tutti_key){.layer = layer,
                .parameter = parameter,
                .number = k->numbers,
                .portion = p,
                .portions = portions,
                .dtype = dtype,
                .at.count = count};
    k->numbers++;
}

static void visit_all(const tutti_net *net, visit_whole *visit, listing *k)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    for (int l = 0; l < net->layers; l++) {
        const tutti_layer *layer = &net->layer[l];
        const int n = tutti_layer_parameters(layer, parameter);
        for (int p = 0; p < n; p++)
            visit(k, l, p, tutti_shape_count(&parameter[p].shape), parameter[p].dtype);
        if (layer->kind->statistics)
            visit(k, l, TUTTI_KEY_STATISTICS, 2 * layer->out[0].C, TUTTI_STATISTICS_DTYPE);
    }
}

int tutti_service_keys(const tutti_net *net, int portions, tutti_key key[])
{
    listing k = {.key = key, .rule.servers = portions, .rule.cut = portions * LEAST_PORTION};
    visit_all(net, weigh, &k);
    const int64_t large = k.all / portions / SMALL_PART + 1;
    if (k.rule.cut < large) k.rule.cut = large;
    visit_all(net, add, &k);
    return k.count;
}

tutti_status tutti_service_partition(int servers, int keys, tutti_key key[])
{
    tutti_portions portions;
    tutti_status status = tutti_portions_open(servers, 0, &portions);
    for (int k = keys; k-- > 0 && !status;)
        tutti_portions_partition(&portions, key[k].at.count, tutti_dtype_bytes(key[k].dtype),
            key[k].portions, key[k].portion, &key[k].at);
    tutti_portions_close(&portions);
    return status;
}
