/* The table of strategies (dag/step/strategy.h), and how users write one. Threads: [P]. */
#ifndef TUTTI_STRATEGIES_H
#define TUTTI_STRATEGIES_H

#include "dag/step/step.h"

/* Ends with NULL. */
extern const tutti_strategy *const tutti_strategies[];
/* What a strategy becomes where a layout has servers, and with a store of keys: itself, or what stands in for it.
 * NULL: it does not support that. */
const tutti_strategy *tutti_strategy_with_servers(const tutti_strategy *strategy);
const tutti_strategy *tutti_strategy_with_store(const tutti_strategy *strategy);
/* Reads "NAME", or "NAME:key=value,..."; parameters that are not named keep their defaults. Returns
 * whether it could; if not, `fault` says why, and what to write instead. */
int tutti_strategy_read(const char *text, const tutti_strategy **strategy,
    tutti_strategy_settings *settings, char *fault, size_t size);
/* The same text, with every parameter of the strategy; NULL: sync. Returns text. */
enum { TUTTI_STRATEGY_TEXT = 96 };
char *tutti_strategy_print(const tutti_strategy *strategy, const tutti_strategy_settings *settings,
    char text[TUTTI_STRATEGY_TEXT]);

#endif
