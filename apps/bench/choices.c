#include "apps/bench/choices.h"

#include "apps/models/model.h"
#include "collectives/choose.h"

#include <math.h>

const char *tutti_choice_model(int i)
{
    return tutti_models[i] ? tutti_models[i]->name : NULL;
}

const char *tutti_choice_algorithms(int i)
{
    int n = 0;
    while (tutti_algorithms[n]) n++;
    return i == n ? "all" : i < n ? tutti_algorithms[i]->name : NULL;
}

void tutti_choice_steps(double step_s, tutti_conf_int *steps)
{
    const double block_s = 4, fit = ceil(block_s / step_s);
    if (steps->word) *steps = (tutti_conf_int){.value = fit < 3 ? 3 : fit > 20 ? 20 : (int64_t)fit};
}
