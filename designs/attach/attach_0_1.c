/* What programs call that were compiled with the headers of Tutti 0.1, whose tutti_attach told no size:
 * they get a sentence and a status, whatever they give. It stands in no header, and in a file of its own,
 * because <tutti/starpu.h> has another tutti_attach. */
#include "dag/base/log.h"

#include <tutti/version.h>

TUTTI_API tutti_status tutti_attach(void);

tutti_status tutti_attach(void)
{
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "tutti_attach: this program was compiled with the headers of Tutti 0.1, and the library "
        "is " TUTTI_VERSION ": compile it again with the headers of this one");
}
