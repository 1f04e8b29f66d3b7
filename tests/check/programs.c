/* programs --list, programs NAME: see cases.h. */
#include "tests/check/programs.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int count = check_ok_count + check_nok_count;
    check_case *all = calloc((size_t)count, sizeof(*all));
    if (!all) return 1;
    memcpy(all, check_ok_cases, sizeof(*all) * (size_t)check_ok_count);
    memcpy(all + check_ok_count, check_nok_cases, sizeof(*all) * (size_t)check_nok_count);
    int status = check_main(argc, argv, all, count);
    free(all);
    return status;
}
