#include "designs/kv/serve_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* How many are kept, per client: as many as are on their way of one that pushes and pulls in turns. */
enum { MOST = 4 };

tutti_status tutti_server_open_spare(const tutti_server *s, tutti_server_key *k)
{
    k->spare.most = MOST * s->clients;
    k->spare.data = calloc((size_t)k->spare.most, sizeof(tutti_handle));
    return k->spare.data ? TUTTI_OK
                         : tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a key");
}

tutti_status tutti_server_borrow(tutti_server_key *k, tutti_handle *data)
{
    tutti_server_spare *spare = &k->spare;
    if (!spare->count) return tutti_datum_open(k->count, k->dtype, data);
    *data = spare->data[spare->first];
    spare->first = (spare->first + 1) % spare->most;
    spare->count--;
    return TUTTI_OK;
}

void tutti_server_give_back(tutti_server_key *k, tutti_handle data)
{
    tutti_server_spare *spare = &k->spare;
    if (data && spare->count < spare->most)
        spare->data[(spare->first + spare->count++) % spare->most] = data;
    else
        tutti_datum_drop(data);
}

void tutti_server_drop_spare(tutti_server_key *k)
{
    tutti_server_spare *spare = &k->spare;
    for (int i = 0; i < spare->count; i++)
        tutti_datum_drop(spare->data[(spare->first + i) % spare->most]);
    free(spare->data);
}
