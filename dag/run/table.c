#include "dag/run/inline.h"
#include "dag/run/run.h"
#include "dag/run/starpu.h"

#include <string.h>

const tutti_runner *const tutti_runners[] = {&tutti_runner_starpu, &tutti_runner_inline, NULL};

const tutti_runner *tutti_runner_find(const char *name)
{
    for (int i = 0; tutti_runners[i]; i++)
        if (!strcmp(tutti_runners[i]->name, name)) return tutti_runners[i];
    return NULL;
}
