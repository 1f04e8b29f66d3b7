/* programs --list, programs NAME: see cases.h. */
#include "tests/mpicheck/programs.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const check_table *tables[] = {&check_messages_ok, &check_objects_ok, &check_messages_nok,
        &check_objects_nok, &check_arguments_nok, &check_overlap_ok, &check_overlap_nok,
        &check_requests, &check_threads};
    enum { TABLES = sizeof tables / sizeof *tables };
    int count = 0;
    for (int t = 0; t < TABLES; t++) count += tables[t]->count;
    check_case *all = calloc((size_t)count, sizeof *all), *to = all;
    if (!all) return 1;
    for (int t = 0; t < TABLES; to += tables[t++]->count)
        memcpy(to, tables[t]->cases, sizeof *all * (size_t)tables[t]->count);
    int status = check_main(argc, argv, all, count);
    free(all);
    return status;
}
