#include "dag/base/portions.h"

#include "dag/base/log.h"

#include <stdlib.h>

tutti_status tutti_portions_open(int servers, int64_t cut, tutti_portions *portions)
{
    *portions = (tutti_portions){.servers = servers,
        .copies = 1,
        .cut = cut,
        .server = calloc((size_t)servers, sizeof *portions->server)};
    return portions->server ? TUTTI_OK
                            : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d servers", servers);
}

void tutti_portions_close(tutti_portions *portions)
{
    free(portions->server);
    *portions = (tutti_portions){0};
}

int tutti_portions_parts(const tutti_portions *portions, int64_t count)
{
    return count >= portions->cut && count >= portions->servers ? portions->servers : 1;
}

static int find_lightest(const tutti_portions *portions)
{
    int least = 0;
    for (int s = 1; s < portions->servers; s++)
        if (portions->server[s].bytes < portions->server[least].bytes) least = s;
    return least;
}

void tutti_portions_partition(tutti_portions *portions, int64_t count, size_t element_bytes,
    int parts, int p, tutti_portion *portion)
{
    const int64_t each = count / parts, longer = count % parts;
    portion->server = parts > 1 ? p : find_lightest(portions);
    portion->slot = portions->server[portion->server].slots++;
    if (portions->copies > 1) {
        portion->second = (portion->server + 1) % portions->servers;
        portion->second_slot = portions->server[portion->second].slots++;
    }
    portion->first = p * each + (p < longer ? p : longer);
    portion->count = each + (p < longer);
    portions->server[portion->server].bytes += portion->count * (int64_t)element_bytes;
}
