/* The internals of fabric.h: fabric_library.c (libfabric itself), fabric_open.c (the provider and its domain),
 * fabric_memory.c (memory that is registered with it), fabric_stream.c (what a connection travels on). */
#ifndef TUTTI_FABRIC_PARTS_H
#define TUTTI_FABRIC_PARTS_H

#include "collectives/transport/fabric.h"
#include "collectives/transport/stream.h"

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

/* libfabric's calls that are not in its headers. It is loaded by the first network, and not with each program: among
 * the libraries that Debian's brings along, PSM's has a constructor that takes over the signals that end a program. */
typedef struct tutti_fabric_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
        const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attributes, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int code);
} tutti_fabric_library;

/* The library stays loaded. UNSUPPORTED (logged): there is none. */
tutti_status tutti_fabric_load(tutti_fabric_library *library);

/* Registered memory. A place is a region's number, counted from 1, and an offset. */
typedef struct tutti_fabric_region {
    unsigned char *at; /* NULL: the number is free */
    size_t bytes;
    tutti_shm *arena; /* that it is of; NULL: the heap */
    struct fid_mr *mr;
    uint64_t base, key; /* how others write to it */
    uint64_t version;   /* of the number: counts its regions */
    int taken, lent;    /* lent: how many receives */
} tutti_fabric_region;

/* What endpoints send each other. Packets are short enough for a provider to send them without a rendezvous, whose end
 * has no order. Both ends have one byte order: the greeting of their socket (tcp_frame.h) has compared it. */
enum { TUTTI_FABRIC_PACKET = 15 << 10, TUTTI_FABRIC_NAME = 256 };
typedef enum tutti_fabric_kind {
    TUTTI_FABRIC_STREAM,
    TUTTI_FABRIC_MEMORY,
    TUTTI_FABRIC_BEGIN,
    TUTTI_FABRIC_END,
    TUTTI_FABRIC_KINDS
} tutti_fabric_kind;
typedef struct tutti_fabric_packet {
    uint32_t kind, bytes;
    uint64_t number, writes; /* of packets, from 1 on; how many writes went before */
    unsigned char data[TUTTI_FABRIC_PACKET];
} tutti_fabric_packet;

enum { TUTTI_FABRIC_OFFSET_BITS = 40, TUTTI_FABRIC_MOST_REGIONS = 1 << 16 };

typedef struct tutti_fabric {
    tutti_interconnect base;
    tutti_fabric_library library;
    struct fi_info *info; /* of the provider; of the domain once that is open */
    struct fid_fabric *fabric;
    struct fid_domain *domain; /* NULL: no connection yet */
    size_t most_bytes;
    double lost_s;
    pthread_mutex_t lock; /* protects what follows */
    tutti_fabric_region *region;
    int regions;
    size_t registered;
    uint64_t keys; /* how many were used */
} tutti_fabric;

/* The region that has these bytes; NULL: none. Lock held. */
tutti_fabric_region *tutti_fabric_find(tutti_fabric *f, const void *data, size_t bytes);
/* For the network's operations (interconnect.h). */
tutti_status tutti_fabric_take(
    tutti_interconnect *network, tutti_shm *arena, size_t bytes, void **memory);
void tutti_fabric_give(tutti_interconnect *network, void *memory);
void tutti_fabric_free_memory(tutti_fabric *f);
/* Gives up a lent region once more. Lock held. */
void tutti_fabric_take_back(tutti_fabric *f, tutti_fabric_region *region);
/* Takes over the socket, also on failure. */
tutti_status tutti_fabric_stream(tutti_fabric *f, int socket, tutti_stream **stream);

#endif
