/* The text of a verdict. */
#include "designs/check/parts.h"

#include <stdarg.h>
#include <stdio.h>

const char *const tutti_clause_names[] = {
#define CLAUSE_NAME(code, name) [code] = name,
    TUTTI_CLAUSE_LIST(CLAUSE_NAME)
#undef CLAUSE_NAME
        NULL};

void tutti_check_report(
    tutti_verdict *verdict, tutti_clause clause, int rank, int other, const char *format, ...)
{
    verdict->clause = clause;
    verdict->rank = rank;
    verdict->other = other;
    int used = snprintf(verdict->text, sizeof verdict->text, "%s: ", tutti_clause_names[clause]);
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->text + used, sizeof verdict->text - (size_t)used, format, args);
    va_end(args);
}

char *tutti_check_lane_name(
    const tutti_check *check, const tutti_check_coll *coll, char *text, size_t size)
{
    const tutti_check_group *group = &check->group[coll->group];
    if (group->edge)
        snprintf(text, size, "%s", group->name);
    else if (coll->group)
        snprintf(text, size, "lane %d of group '%s'", coll->lane, group->name);
    else
        snprintf(text, size, "lane %d", coll->lane);
    return text;
}
