/* The ways of tutti-bench channel: how a tensor gets from rank 0 to rank 1, of one host or two. Both ranks make all
 * calls. A round is a message and an answer of 8 bytes. Within a host rank 0 makes the tensor anew before, as a kernel
 * would. Threads: [M]. */
#ifndef TUTTI_BENCH_CHANNEL_WAY_H
#define TUTTI_BENCH_CHANNEL_WAY_H

#include "apps/bench/peer.h"
#include "apps/bench/world.h"
#include "collectives/transport/transport.h"

#include <stddef.h>
#include <stdint.h>

/* What rank 1 does with a tensor before it answers. */
typedef enum tutti_channel_use {
    TUTTI_CHANNEL_HAND, /* nothing */
    TUTTI_CHANNEL_READ, /* reads a byte of each cache line */
    TUTTI_CHANNEL_USES
} tutti_channel_use;

enum { TUTTI_CHANNEL_NAME = 40 };

typedef struct tutti_channel_way {
    char name[TUTTI_CHANNEL_NAME];
    tutti_transport *transport; /* NULL: a program's */
    tutti_peer *program;        /* rank 0's, and between hosts rank 1's, too; or NULL */
    int is_rpc;                 /* the tensor is copied into a message, and out of it */
    unsigned char *message;     /* of an RPC; else the tensor */
    unsigned char *tensor;
    int placed; /* the transport's memory has what rank 1 receives */
    int is_written_there; /* rank 0 makes the tensor in rank 1's memory */
    double took_s;        /* of a block's rounds, without the making of tensors */
    double whole_s;       /* of a round of the last block, with it; the same on both ranks */
    int far; /* the ranks are on two hosts: they sleep between looks, as communication threads do */
    double cpu_s; /* of both ranks, in a round of the last block */
} tutti_channel_way;

typedef enum tutti_channel_kind {
    TUTTI_CHANNEL_SHM,
    TUTTI_CHANNEL_TCP,
    TUTTI_CHANNEL_FABRIC, /* over TCP, too, unless there is another provider */
    TUTTI_CHANNEL_MPI,
    TUTTI_CHANNEL_RPC, /* over shm */
    TUTTI_CHANNEL_WRITTEN_THERE,
    TUTTI_CHANNEL_KINDS
} tutti_channel_kind;

/* Why this way is not there, on this machine or between hosts (far); NULL: it is. */
const char *tutti_channel_way_lacks(tutti_channel_kind kind, int far);
/* For tensors up to `bytes` bytes. On failure it may be half open, to be closed. */
tutti_status tutti_channel_way_open(
    tutti_world *world, tutti_channel_kind kind, int far, size_t bytes, tutti_channel_way *way);
/* The program that `command` starts on rank 0 (channel_grpc.cpp says what it answers). */
tutti_status tutti_channel_way_start(
    tutti_world *world, const char *command, tutti_channel_way *way);
/* The same program on both ranks, which are on two hosts: rank 1's serves. */
tutti_status tutti_channel_way_start_far(
    tutti_world *world, const char *program, tutti_channel_way *way);
void tutti_channel_way_close(tutti_channel_way *way);

/* One round, after which rank 1 compares all bytes: INTERNAL (logged). */
tutti_status tutti_channel_way_check(tutti_world *world, tutti_channel_way *way, size_t bytes);
/* *round_s: seconds of a round, the same on both ranks. */
tutti_status tutti_channel_way_time(tutti_world *world, tutti_channel_way *way, size_t bytes,
    tutti_channel_use use, int64_t rounds, double *round_s);

#endif
