#include "apps/bench/choices.h"

#include "apps/models/model.h"
#include "collectives/choose.h"

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
