#include "designs/kv/serve_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* Buffers kept per client: as many as a client uses that pushes and pulls alternately. */
enum { MOST = 4 };

tutti_status tutti_server_open_pool(const tutti_server *s, tutti_server_key *k)
{
    k->pool.most = MOST * s->clients;
    k->pool.data = calloc((size_t)k->pool.most, sizeof(tutti_handle));
    return k->pool.data ? TUTTI_OK
                        : tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a key");
}

tutti_status tutti_server_borrow_buffer(tutti_server_key *k, tutti_handle *data)
{
    tutti_server_pool *pool = &k->pool;
    if (!pool->count) return tutti_datum_open(k->count, k->dtype, data);
    *data = pool->data[pool->first];
    pool->first = (pool->first + 1) % pool->most;
    pool->count--;
    return TUTTI_OK;
}

void tutti_server_return_buffer(tutti_server_key *k, tutti_handle data)
{
    tutti_server_pool *pool = &k->pool;
    if (data && pool->count < pool->most)
        pool->data[(pool->first + pool->count++) % pool->most] = data;
    else
        tutti_datum_drop(data);
}

void tutti_server_drop_pool(tutti_server_key *k)
{
    tutti_server_pool *pool = &k->pool;
    for (int i = 0; i < pool->count; i++)
        tutti_datum_drop(pool->data[(pool->first + i) % pool->most]);
    free(pool->data);
}
