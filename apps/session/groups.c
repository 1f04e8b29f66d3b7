#include "apps/session/groups.h"

#include "dag/base/log.h"

#include <stdlib.h>

tutti_status tutti_session_groups_make(tutti_exchange *exchange, const tutti_placement *placement)
{
    const int groups = tutti_placement_groups(placement);
    int *ranks = calloc((size_t)placement->ranks, sizeof *ranks), made = 0;
    tutti_status status =
        ranks ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", placement->ranks);
    for (int g = 1; g <= groups && !status; g++) {
        status = tutti_exchange_group(
            exchange, tutti_placement_group(placement, g, ranks), ranks, &made);
        if (!status && made != g)
            status = tutti_fail(TUTTI_ERR_INTERNAL,
                "group %d of the placement is group %d of the exchange", g, made);
    }
    free(ranks);
    return status;
}
