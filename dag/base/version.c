#include <tutti/version.h>

const char *tutti_version(void)
{
    return TUTTI_VERSION;
}
