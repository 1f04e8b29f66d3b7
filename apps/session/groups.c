#include "apps/session/groups.h"

#include "dag/base/log.h"

#include <stdlib.h>

static tutti_status make_group(tutti_exchange *exchange, const tutti_placement *p, int number)
{
    const tutti_rank_range of = tutti_placement_group(p, number);
    int *ranks = calloc((size_t)of.count, sizeof *ranks), made;
    if (!ranks) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group of %d ranks", of.count);
    for (int i = 0; i < of.count; i++) ranks[i] = of.first + i * of.every;
    tutti_status status = tutti_exchange_group(exchange, of.count, ranks, &made);
    free(ranks);
    if (status || made == number) return status;
    return tutti_fail(TUTTI_ERR_INTERNAL, "group %d of the placement is group %d of the exchange",
        number, made);
}

tutti_status tutti_session_groups_make(tutti_exchange *exchange, const tutti_placement *placement)
{
    const int groups = tutti_placement_groups(placement);
    tutti_status status = TUTTI_OK;
    for (int g = 1; g <= groups && !status; g++) status = make_group(exchange, placement, g);
    return status;
}
