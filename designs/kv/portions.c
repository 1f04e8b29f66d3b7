#include "designs/kv/portions.h"

#include "collectives/value/args.h"
#include "dag/base/log.h"

#include <stdlib.h>

tutti_status tutti_portions_open(int servers, int64_t cut, tutti_portions *portions)
{
    size_t n = (size_t)servers;
    *portions = (tutti_portions){.servers = servers,
        .copies = 1,
        .cut = cut,
        .bytes = calloc(n, sizeof *portions->bytes),
        .slots = calloc(n, sizeof *portions->slots)};
    if (portions->bytes && portions->slots) return TUTTI_OK;
    tutti_portions_close(portions);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a store");
}

void tutti_portions_close(tutti_portions *portions)
{
    free(portions->bytes);
    free(portions->slots);
    *portions = (tutti_portions){0};
}

int tutti_portions_parts(const tutti_portions *portions, int64_t count)
{
    return count >= portions->cut && count >= portions->servers ? portions->servers : 1;
}

static int lightest(const tutti_portions *portions)
{
    int least = 0;
    for (int s = 1; s < portions->servers; s++)
        if (portions->bytes[s] < portions->bytes[least]) least = s;
    return least;
}

void tutti_portions_partition(
    tutti_portions *portions, int64_t count, size_t element_bytes, int p, tutti_portion *portion)
{
    int parts = tutti_portions_parts(portions, count);
    portion->server = parts > 1 ? p : lightest(portions);
    portion->slot = portions->slots[portion->server]++;
    if (portions->copies > 1) {
        portion->second = (portion->server + 1) % portions->servers;
        portion->second_slot = portions->slots[portion->second]++;
    }
    tutti_coll_block(count, parts, p, &portion->first, &portion->count);
    portions->bytes[portion->server] += portion->count * (int64_t)element_bytes;
}
