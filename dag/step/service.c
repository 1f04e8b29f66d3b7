#include "dag/step/service.h"

#include "dag/net/layer.h"
#include "dag/net/site.h"

/* A whole of fewer bytes than this part of what a server has in all makes no server much longer than another. */
enum { SMALL_PART = 8, LEAST_PORTION = 4096 /* bytes that are worth a message */ };

typedef struct listing {
    tutti_key *key; /* NULL: they are counted */
    int portions;
    int64_t all; /* bytes of the net */
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

static int portions_of(const listing *k, int parameter, int64_t bytes)
{
    const int divides = parameter != TUTTI_KEY_STATISTICS && k->portions > 1 &&
                        bytes >= k->portions * (int64_t)LEAST_PORTION &&
                        bytes > k->all / k->portions / SMALL_PART;
    return divides ? k->portions : 1;
}

static void add(listing *k, int layer, int parameter, int64_t count, tutti_dtype dtype)
{
    const int64_t element = (int64_t)tutti_dtype_bytes(dtype);
    const int portions = portions_of(k, parameter, count * element);
    const int64_t each = count / portions, longer = count % portions;
    for (int p = 0; p < portions; p++, k->count++) {
        const int64_t n = each + (p < longer);
        if (k->key)
            k->key[k->count] = (tutti_key){.layer = layer,
                .parameter = parameter,
                .number = k->numbers,
                .portion = p,
                .portions = portions,
                .first = p * each + (p < longer ? p : longer),
                .count = n,
                .bytes = n * element};
    }
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
    listing k = {.key = key, .portions = portions};
    visit_all(net, weigh, &k);
    visit_all(net, add, &k);
    return k.count;
}

static int64_t bytes_of(int server, int keys, const tutti_key key[])
{
    int64_t bytes = 0;
    for (int k = 0; k < keys; k++)
        if (key[k].server == server) bytes += key[k].bytes;
    return bytes;
}

/* Of those that no server has the largest; of equal ones the first. */
static int next_key(int keys, const tutti_key key[])
{
    int next = -1;
    for (int k = 0; k < keys; k++)
        if (key[k].server < 0 && (next < 0 || key[k].bytes > key[next].bytes)) next = k;
    return next;
}

void tutti_service_partition(int servers, int keys, tutti_key key[])
{
    for (int k = 0; k < keys; k++) key[k].server = key[k].portions > 1 ? key[k].portion : -1;
    for (int k; (k = next_key(keys, key)) >= 0;) {
        int least = 0;
        for (int s = 1; s < servers; s++)
            if (bytes_of(s, keys, key) < bytes_of(least, keys, key)) least = s;
        key[k].server = least;
    }
}
