#include "dag/net/strategy.h"

#include <string.h>

const tutti_strategy *const tutti_strategies[] = {
    &tutti_strategy_sync, &tutti_strategy_sharded, NULL};

const tutti_strategy *tutti_strategy_find(const char *name)
{
    for (int i = 0; tutti_strategies[i]; i++)
        if (!strcmp(tutti_strategies[i]->name, name)) return tutti_strategies[i];
    return NULL;
}
