/* MPI whose ranks may die (lasting.h), in a build whose MPI ends with the first of them. */
#include "collectives/lasting.h"

#include "dag/base/log.h"

const char *tutti_lasting_lacks(void)
{
    return "this build's MPI ends when one of its ranks dies: build with Open MPI 5.0 or later, or "
           "use tutti-run --elastic, which needs no MPI";
}

tutti_status tutti_lasting_open(tutti_lasting **lasting)
{
    (void)lasting;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s", tutti_lasting_lacks());
}

int tutti_lasting_rank(const tutti_lasting *lasting)
{
    (void)lasting;
    return 0;
}

int tutti_lasting_size(const tutti_lasting *lasting)
{
    (void)lasting;
    return 1;
}

int tutti_lasting_near(const tutti_lasting *lasting)
{
    (void)lasting;
    return 1;
}

tutti_status tutti_lasting_gather(tutti_lasting *lasting, const void *mine, size_t bytes, void *all)
{
    (void)lasting, (void)mine, (void)bytes, (void)all;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s", tutti_lasting_lacks());
}

tutti_status tutti_lasting_transport(
    tutti_lasting *lasting, const tutti_lasting_epoch *epoch, tutti_transport **transport)
{
    (void)lasting, (void)epoch, (void)transport;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s", tutti_lasting_lacks());
}

void tutti_lasting_close(tutti_lasting *lasting, int all_there)
{
    (void)lasting, (void)all_there;
}
