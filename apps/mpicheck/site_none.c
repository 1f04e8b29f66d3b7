/* Call sites without debug information: the nearest symbol, and the module and offset for
 * addr2line -e MODULE OFFSET. */
#include "apps/mpicheck/site.h"

#include <stdio.h>
#include <string.h>

void mpicheck_site_print(
    char *text, size_t size, const char *module, uint64_t offset, const char *symbol)
{
    const char *slash = strrchr(module, '/');
    snprintf(text, size, "%s (%s+0x%llx)", symbol[0] ? symbol : "?", slash ? slash + 1 : module,
        (unsigned long long)offset);
}
