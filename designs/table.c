#include "designs/table.h"

#include <stdio.h>
#include <string.h>

const tutti_design *const tutti_designs[] = {&tutti_design_funneled, &tutti_design_concurrent,
    &tutti_design_chained, &tutti_design_sequential, &tutti_design_naive, NULL};

const tutti_design *tutti_design_find(const char *name)
{
    for (int i = 0; tutti_designs[i]; i++)
        if (!strcmp(tutti_designs[i]->name, name)) return tutti_designs[i];
    return NULL;
}

char *tutti_design_names(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; tutti_designs[i] && used < size; i++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%s", i ? ", " : "", tutti_designs[i]->name);
    return text;
}
