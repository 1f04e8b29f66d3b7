/* Parameter servers: what each of them has. Which ranks serve, and which form a client, the placement says
 * (dag/net/placement.h). A worker is a replica of the net. The workers of a client add up among themselves, each stage
 * what it has; towards servers a client is one.
 *
 * A key is what servers add up: the gradient of a parameter, or the statistics of a batch norm. A key belongs to one
 * server, which has the parameter, too, and what the update rule keeps for it. A large parameter is as many keys as
 * there are servers, its portions (dag/base/portions.h). Other keys are partitioned by bytes, from the last layer's on,
 * which are often the largest, each to the server that has the fewest so far. So no server has more than another by as
 * much as an eighth of what it would have if all were equal, unless a portion would be too small to be worth a message.
 * Within a client, all that belongs to the n-th parameter or statistics belongs to worker n modulo the workers, whose
 * rank of that stage is its root. Only the root exchanges it with servers, so all links of a client are used.
 *
 * Threads: [P], but that errors are logged. */
#ifndef TUTTI_SERVICE_H
#define TUTTI_SERVICE_H

#include "dag/base/dtype.h"
#include "dag/base/portions.h"
#include "dag/net/net.h"

enum { TUTTI_KEY_STATISTICS = -1 };

typedef struct tutti_key {
    int layer, parameter;  /* the layer's parameter, or TUTTI_KEY_STATISTICS */
    int number;            /* of that, in net order */
    int portion, portions; /* which of how many; of 1, all of it */
    tutti_dtype dtype;
    /* Which elements, on which server; before it is partitioned, `count` is that of all portions */
    tutti_portion at;
} tutti_key;

/* How many keys a net has where large parameters have this many portions (1: they are whole); fills key[], in net
 * order, unless it is NULL. */
int tutti_service_keys(const tutti_net *net, int portions, tutti_key key[]);
/* Says which of `servers` has each. NOMEM. */
tutti_status tutti_service_partition(int servers, int keys, tutti_key key[]);

#endif
