/* A store whose messages count as communication of the program's meter (dag/run/meter.h). */
#ifndef TUTTI_KV_METERED_H
#define TUTTI_KV_METERED_H

#include "dag/run/meter.h"
#include "designs/kv/kv.h"

/* tutti_kv_open over the communicator that `comm` points to. The meter is borrowed until
 * tutti_kv_close returns OK; after a failure messages may still use it. NULL: there is none. */
tutti_status tutti_kv_open_metered(
    const void *comm, const tutti_kv_options *options, tutti_meter *meter, tutti_kv **kv);

#endif
