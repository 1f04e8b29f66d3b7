#include "designs/rows.h"

#include "dag/base/log.h"

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

tutti_status tutti_design_check(const tutti_design *design)
{
    if (!tutti_order_name(design->order))
        return tutti_fail(TUTTI_ERR_INVAL, "design %s: no start order has the number %d (of %d)",
            design->name, (int)design->order, TUTTI_ORDERS);
    if (design->chain && design->order != TUTTI_ORDER_READY)
        return tutti_fail(TUTTI_ERR_INVAL,
            "design %s: a chain orders what workers start, and with the start order '%s' they "
            "start "
            "nothing",
            design->name, tutti_order_name(design->order));
    return TUTTI_OK;
}

int tutti_design_may_hold(const tutti_design *design)
{
    return design->order == TUTTI_ORDER_READY && !design->chain;
}

int tutti_design_overlaps(const tutti_design *design)
{
    return !design->unsafe && design->order != TUTTI_ORDER_MAIN;
}

const char *tutti_order_name(tutti_order order)
{
    static const char *const names[] = {
#define ORDER_NAME(code, name) [code] = name,
        TUTTI_ORDER_LIST(ORDER_NAME)
#undef ORDER_NAME
    };
    return (unsigned)order < TUTTI_ORDERS ? names[order] : NULL;
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
