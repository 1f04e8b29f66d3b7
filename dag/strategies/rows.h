/* Each strategy of this room, for the table (strategies.h) and for who names one. sync is in dag/step/step.h. */
#ifndef TUTTI_STRATEGY_ROWS_H
#define TUTTI_STRATEGY_ROWS_H

#include "dag/step/step.h"

extern const tutti_strategy tutti_strategy_sharded, tutti_strategy_rooted, tutti_strategy_local,
    tutti_strategy_gossip, tutti_strategy_adpsgd, tutti_strategy_elastic, tutti_strategy_async,
    tutti_strategy_bounded;
/* sync with servers, and sync and elastic with a store of keys, in no table: users say it by a layout, or by jobs. */
extern const tutti_strategy tutti_strategy_served, tutti_strategy_stored,
    tutti_strategy_elastic_stored;

#endif
