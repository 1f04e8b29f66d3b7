/* Memory that a process shares with others of its host, and connections in it. Each process has one such memory: a
 * ring of bytes for each of the others, which writes to it, and an *arena* for buffers. A receive into the arena lends
 * its memory to the sender, which copies the message there and then says so in the ring (tcp_frame.h): one copy. All
 * other data go through the ring, copied in and out.
 *
 *   process A                                      process B
 *   create -> name ............................... map
 *   map .......................................... create -> name
 *   shm_connect(mine, in, theirs, out)             the same with in and out the other way round
 *
 * A ring's two counts only grow: what is behind the writer's count is read after it (release, acquire). The memory is
 * not in any file system, and lasts until all that have mapped it have ended, however they end. */
#ifndef TUTTI_SHM_H
#define TUTTI_SHM_H

#include "collectives/transport/connection.h"
#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_shm tutti_shm;

typedef struct tutti_shm_options {
    int rings;          /* how many others may write to this process */
    size_t ring_bytes;  /* of each; a power of two */
    size_t arena_bytes; /* the limit of the arena; memory is used once it is taken */
} tutti_shm_options;

/* How another process of this host finds the memory. A value without pointers, to be sent. */
typedef struct tutti_shm_name {
    int64_t pid, began; /* the process, and when it began */
    int64_t file, bell; /* descriptors of it and of a pipe that wakes the process */
    uint64_t key;       /* what the memory begins with */
} tutti_shm_name;

/* NOMEM (logged, with the bytes needed): the memory or a limit of the process is too small; INVAL. */
tutti_status tutti_shm_create(const tutti_shm_options *options, tutti_shm **shm);
void tutti_shm_get_name(const tutti_shm *shm, tutti_shm_name *name);
/* COMM (logged): the other process has ended, or does not let this one see its memory; NOMEM. */
tutti_status tutti_shm_map(const tutti_shm_name *name, tutti_shm **shm);
/* Connections must have been closed. What others have mapped stays theirs, and memory that is still taken stays mapped.
 * Accepts NULL. */
void tutti_shm_close(tutti_shm *shm);

/* Memory of the arena, at a multiple of 64 bytes. NOMEM (logged, with the bytes needed). Any thread. */
tutti_status tutti_shm_take(tutti_shm *shm, size_t bytes, void **memory);
/* While another process may still write to it, it is not taken again. Accepts NULL. Any thread. */
void tutti_shm_give(tutti_shm *shm, void *memory);
/* How many bytes are taken, or given back but still lent. */
size_t tutti_shm_used(tutti_shm *shm);

/* Sleeps until another process, or tutti_shm_wake, wakes this one, at most timeout_s. Returns 0 if it does not sleep,
 * because of may_move(ctx), which is called once others know that they have to wake. One thread at a time. */
int tutti_shm_sleep(tutti_shm *mine, int (*may_move)(void *ctx), void *ctx, double timeout_s);
/* To sleep in poll(2), besides other files: from doze to rise, another process, or tutti_shm_wake, makes the bell
 * readable, which doze returns; rise(rang) says whether it was. What may have come before is looked at after doze. One
 * thread at a time. */
int tutti_shm_doze(tutti_shm *mine);
void tutti_shm_rise(tutti_shm *mine, int rang);
/* Wakes the process whose memory this is, if it sleeps. Any thread. */
void tutti_shm_wake(tutti_shm *shm);

/* A connection that reads from ring `in` of mine and writes to ring `out` of theirs; both outlive it. INVAL, NOMEM. */
tutti_status tutti_shm_connect(tutti_shm *mine, int in, tutti_shm *theirs, int out,
    const tutti_connection_options *options, tutti_connection **connection);

#endif
