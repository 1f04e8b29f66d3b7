/* A library's own collectives in device memory (NCCL's): a vtable in addition to the transport's (transport.h), as
 * arithmetic.h is. The transport still carries all messages; nothing passes through this one.
 *
 * Threads: as its transport's, under the same lock. */
#ifndef TUTTI_DEVICE_COLLECTIVES_H
#define TUTTI_DEVICE_COLLECTIVES_H

#include "collectives/value/args.h"
#include "collectives/value/members.h"
#include "dag/base/status.h"

typedef struct tutti_device_collectives tutti_device_collectives;
/* One collective under way; its layout is the library's. */
typedef struct tutti_device_call tutti_device_call;

typedef struct tutti_device_collectives_ops {
    /* Starts a collective of all ranks of the lane. */
    tutti_status (*start)(tutti_device_collectives *c, int lane, const tutti_coll_args *args,
        tutti_device_call **call);
    /* Whether it has ended; then it is freed. A failure may be reported earlier (*done 0): test again. */
    tutti_status (*test)(tutti_device_collectives *c, tutti_device_call *call, int *done);
    /* Ends all that are under way without their partners: test reports the ends. */
    void (*cancel)(tutti_device_collectives *c);
    /* Adds `lanes` lanes from `first` on, which the transport has added already; called as tutti_transport_grow. */
    tutti_status (*grow)(
        tutti_device_collectives *c, int first, int lanes, const tutti_members *members, int *done);
    void (*close)(tutti_device_collectives *c);
} tutti_device_collectives_ops;

struct tutti_device_collectives {
    const tutti_device_collectives_ops *ops;
};

#endif
