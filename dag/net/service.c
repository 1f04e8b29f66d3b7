#include "dag/net/service.h"

#include "dag/base/log.h"
#include "dag/net/layer.h"
#include "dag/net/site.h"

int tutti_service_keys(const tutti_net *net, tutti_key key[])
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int keys = 0;
    for (int l = 0; l < net->layers; l++) {
        const tutti_layer *layer = &net->layer[l];
        const int n = tutti_layer_parameters(layer, parameter);
        for (int p = 0; p < n; p++, keys++)
            if (key)
                key[keys] = (tutti_key){.layer = l,
                    .parameter = p,
                    .bytes = tutti_shape_count(&parameter[p].shape) *
                             (int64_t)tutti_dtype_bytes(parameter[p].dtype)};
        if (!layer->kind->statistics) continue;
        if (key)
            key[keys] = (tutti_key){.layer = l,
                .parameter = TUTTI_KEY_STATISTICS,
                .bytes = 2 * layer->out[0].C * (int64_t)tutti_dtype_bytes(TUTTI_STATISTICS_DTYPE)};
        keys++;
    }
    return keys;
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

void tutti_service_deal(int servers, int keys, tutti_key key[])
{
    for (int k = 0; k < keys; k++) key[k].server = -1;
    for (int k; (k = next_key(keys, key)) >= 0;) {
        int least = 0;
        for (int s = 1; s < servers; s++)
            if (bytes_of(s, keys, key) < bytes_of(least, keys, key)) least = s;
        key[k].server = least;
    }
}

tutti_status tutti_service_check(const tutti_service *s, int replicas)
{
    if (!s->servers) return TUTTI_OK;
    const int fits = s->servers > 0 && s->clients > 0 && s->workers > 0 &&
                     s->first == s->clients * s->workers && s->first == replicas;
    const int here = s->serves ? s->server >= 0 && s->server < s->servers
                               : s->client >= 0 && s->client < s->clients && s->worker >= 0 &&
                                     s->worker < s->workers;
    if (fits && here) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: %d servers from rank %d on, for %d clients of %d workers, do not serve %d replicas",
        s->servers, s->first, s->clients, s->workers, replicas);
}
