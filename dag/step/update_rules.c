#include "dag/step/update_rule.h"

#include <string.h>

const tutti_update_rule *const tutti_update_rules[] = {
    &tutti_update_sgd, &tutti_update_adam, &tutti_update_adamw, &tutti_update_lars, NULL};

const tutti_update_rule *tutti_update_rule_find(const char *name)
{
    for (int i = 0; tutti_update_rules[i]; i++)
        if (!strcmp(tutti_update_rules[i]->name, name)) return tutti_update_rules[i];
    return NULL;
}
