/* The arguments of a collective, before it is posted. Threads: [P], but that errors are logged. */
#ifndef TUTTI_CHECK_ARGS_H
#define TUTTI_CHECK_ARGS_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

typedef struct tutti_transport tutti_transport; /* collectives/transport/transport.h */

/* Whether a rank may post it at all over this transport; errors as of tutti_coll_post. */
tutti_status tutti_coll_check_args(const tutti_transport *transport, const tutti_coll_args *args);
/* Sets the arguments that the kind ignores to fixed values: the cache of schedules and transports rely on them.
 * here: of a barrier, what it sends and receives. */
tutti_coll_args tutti_coll_normalize_args(const tutti_coll_args *args, unsigned char here[2]);

#endif
