#include "designs/design.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>

extern const tutti_design tutti_design_funneled;
extern const tutti_design tutti_design_concurrent;
extern const tutti_design tutti_design_chained;
extern const tutti_design tutti_design_sequential;
extern const tutti_design tutti_design_naive;

const tutti_design *const tutti_designs[] = {&tutti_design_funneled, &tutti_design_concurrent,
    &tutti_design_chained, &tutti_design_sequential, &tutti_design_naive, NULL};

const tutti_design *tutti_design_find(const char *name)
{
    for (int i = 0; tutti_designs[i]; i++)
        if (!strcmp(tutti_designs[i]->name, name)) return tutti_designs[i];
    return NULL;
}

tutti_status tutti_design_check(const tutti_design *design)
{
    const tutti_start_rule *start = design->start;
    if (!start || !start->next || !start->held_back)
        return tutti_fail(TUTTI_ERR_INVAL,
            "design %s: it has no start rule, or one without the functions next and held_back",
            design->name);
    if (design->chain && !start->at_once)
        return tutti_fail(TUTTI_ERR_INVAL,
            "design %s: a chain orders what workers start, and with the start rule '%s' they start "
            "nothing",
            design->name, start->name);
    return TUTTI_OK;
}

int tutti_design_may_hold(const tutti_design *design)
{
    return design->start->at_once && !design->chain;
}

int tutti_design_overlaps(const tutti_design *design)
{
    return !design->unsafe && !design->start->main_drives;
}

int tutti_design_lanes(const tutti_design *design, int given)
{
    enum { SEVERAL = 4 };
    return given ? given : design->many_lanes ? SEVERAL : 1;
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
