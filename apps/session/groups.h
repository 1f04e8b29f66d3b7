/* The groups of a placement (dag/net/placement.h), made in an exchange. */
#ifndef TUTTI_SESSION_GROUPS_H
#define TUTTI_SESSION_GROUPS_H

#include "dag/net/placement.h"
#include "designs/exchange/exchange.h"

/* Makes all of them, in their order: the exchange must have none yet. All ranks call it. NOMEM; errors of
 * tutti_exchange_group. [M] */
tutti_status tutti_session_groups_make(tutti_exchange *exchange, const tutti_placement *placement);

#endif
