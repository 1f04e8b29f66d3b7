/* Devices: the GPUs that this machine has, what stands between them and Tutti, and their memory.
 *
 * A build has one kind of device: device_cuda.c, or device_none.c where CUDA was left out (configure
 * --with-cuda). Nothing is linked with the driver's library, so programs start without a driver.
 *
 * What a device does is put on a queue (a CUDA stream), in order, and the call returns; an event that
 * is put on the queue behind it has passed when it is done. Each function may be called at any time,
 * and makes the device that it names the calling thread's. [A] */
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
    /* How many devices a program may use; 0 when there are none, or they cannot be used. The count
     * ends before the first that is too old for the kernels. */
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

    /* Makes the index-th the calling thread's: what takes no index then means it. KERNEL (logged):
     * it cannot be used. */
    tutti_status (*select)(int index);
    /* Bytes of its memory that no process has. KERNEL (logged). */
    tutti_status (*room)(int index, size_t *bytes);
    /* Memory of the device, zeroed, aligned to 256 bytes; 0 bytes give some. Both wait until the device
     * is idle: before the first step and after the last. NOMEM (logged). release accepts NULL. */
    tutti_status (*alloc)(int index, size_t bytes, void **memory);
    void (*release)(int index, void *memory);
    /* The same of main memory that devices copy to and from by themselves (pinned). */
    tutti_status (*pin)(int index, size_t bytes, void **memory);
    void (*unpin)(int index, void *memory);
    /* A queue of the calling program's own. KERNEL (logged). close accepts NULL. */
    tutti_status (*queue_open)(int index, void **queue);
    void (*queue_close)(int index, void *queue);
    /* Puts a copy on the queue, between memory of the device and main memory, either way: pinned memory
     * must stay as it is until the copy is done; other memory has been read when this returns. KERNEL
     * (logged). */
    tutti_status (*copy)(int index, void *to, const void *from, size_t bytes, void *queue);
    /* An event; its place is behind what is on the queue when it is marked. passed: *passed 1 when it
     * is reached, or was never marked. KERNEL (logged): also what has failed on the queue before it. close
     * accepts NULL. */
    tutti_status (*event_open)(int index, void **event);
    /* One that also knows when it was reached; elapsed: how long after `from` that was `to`, both of
     * which have passed. */
    tutti_status (*event_open_timed)(int index, void **event);
    tutti_status (*event_elapsed)(int index, void *from, void *to, double *seconds);
    tutti_status (*event_mark)(int index, void *event, void *queue);
    tutti_status (*event_passed)(int index, void *event, int *passed);
    void (*event_close)(int index, void *event);
    /* Recordings: what a thread puts on a queue between capture_begin and capture_end is recorded with
     * its addresses, and does not run; replay puts all of it on a queue, at the cost of one call.
     * Between the two, that thread allocates nothing on a device, releases nothing, waits for nothing,
     * and puts no event on the queue. Kernels have run once before: the first time, they are loaded, and
     * their libraries may allocate. KERNEL (logged). */
    tutti_status (*capture_begin)(int index, void *queue);
    /* On the thread that began. *operations: how many were recorded. UNSUPPORTED (not logged; *why is a
     * sentence that stays valid): something cannot be recorded, and the call that put it there may have
     * failed already. The queue then works as before, and nothing has run. */
    tutti_status (*capture_end)(
        int index, void *queue, void **recording, int *operations, const char **why);
    /* On any queue of the device that is ordered behind the replay before it. The memory whose addresses
     * were recorded must still be there. KERNEL (logged). */
    tutti_status (*replay)(int index, void *recording, void *queue);
    /* When all of its replays are done. Accepts NULL. */
    void (*recording_close)(int index, void *recording);
} tutti_device_kind;

/* The kind that this build has. */
extern const tutti_device_kind tutti_device_kind_built;

#endif
