/* Devices: the GPUs that this machine has, and what stands between them and Tutti.
 *
 * A build has one kind of device: device_cuda.c, or device_none.c where CUDA was left out (configure
 * --with-cuda). Nothing is linked with the driver's library, so programs start without a driver.
 * Each function may be called at any time. [A] */
#ifndef TUTTI_DEVICE_H
#define TUTTI_DEVICE_H

#include "dag/base/status.h"

#include <stddef.h>

/* What is known of a device. */
typedef struct tutti_device_info {
    char name[256];
    size_t bytes;     /* of its memory */
    int major, minor; /* its compute capability: 9.0 */
    char bus[32];     /* where it is in this machine: "0000:41:00.0" */
} tutti_device_info;

typedef struct tutti_device_kind {
    const char *name; /* "CUDA"; "none" */
    /* How many devices a program may use; 0 when there are none, or they cannot be used. */
    int (*count)(void);
    /* The index-th, from 0. INVAL when there are not that many; KERNEL when it does not answer
     * (logged). */
    tutti_status (*info)(int index, tutti_device_info *info);
    /* Versions as numbers, 13000 for 13.0: of the toolkit that this was compiled with, of the
     * run-time library that was loaded, and the newest that the driver can serve. 0: there is
     * none. */
    int (*compiled)(void);
    int (*runtime)(void);
    int (*driver)(void);
    /* NULL: devices can be used. Otherwise one sentence: what is missing, and what to do. */
    const char *(*lacks)(void);
} tutti_device_kind;

/* The kind that this build has. */
extern const tutti_device_kind tutti_device_kind_built;

#endif
