#include "designs/exchange/settings.h"

#include "collectives/choose.h"
#include "designs/design.h"
#include "designs/verify/verify.h"

const char *tutti_setting_algorithm(int i)
{
    return tutti_algorithms[i] ? tutti_algorithms[i]->name : NULL;
}

const char *tutti_setting_verify(int i)
{
    return i < TUTTI_VERIFY_MODES ? tutti_verify_mode_name((tutti_verify_mode)i) : NULL;
}

const char *tutti_setting_safe_design(int i)
{
    return tutti_designs[i] && !tutti_designs[i]->unsafe ? tutti_designs[i]->name : NULL;
}
