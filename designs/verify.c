#include "designs/verify.h"

#include <string.h>

const char *tutti_verify_mode_name(int mode)
{
    static const char *const names[TUTTI_VERIFY_MODES] = {"off", "on", "full"};
    return mode >= 0 && mode < TUTTI_VERIFY_MODES ? names[mode] : NULL;
}

tutti_verify_mode tutti_verify_mode_find(const char *name)
{
    int mode = 0;
    while (mode < TUTTI_VERIFY_MODES && strcmp(name, tutti_verify_mode_name(mode)) != 0) mode++;
    return (tutti_verify_mode)mode;
}
