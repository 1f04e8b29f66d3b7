/* The tutti_attach of programs compiled with the headers of Tutti 0.1, which passed no size: whatever they pass, they
 * get an error. No header declares it, and it has a separate file, because <tutti/starpu.h> defines another
 * tutti_attach. */
#include "dag/base/log.h"

#include <tutti/version.h>

TUTTI_API tutti_status tutti_attach(void);

tutti_status tutti_attach(void)
{
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "tutti_attach: this program was compiled with the headers of Tutti 0.1, and the library "
        "is " TUTTI_VERSION ": compile it again with the headers of this one");
}
