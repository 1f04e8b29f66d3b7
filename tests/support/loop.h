/* A transport for tests: ranks are threads of one process. */
#ifndef TUTTI_LOOP_H
#define TUTTI_LOOP_H

#include "collectives/transport/transport.h"

/* The world of these ranks, with all messages. [A] */
typedef struct tutti_loop_world tutti_loop_world;

typedef struct tutti_loop_options {
    /* sends up to this size are copied and end at once; larger ones end when received */
    size_t eager_bytes;
    /* messages arrive up to this much later, drawn from seed, so they overtake each other */
    double delay_s;
    uint64_t seed;
    /* the lanes of a rank share this many device slots; 0: none */
    int device_slots;
    int edges_aside; /* but edges take none */
    int hosts;       /* rank r is on host r % hosts; 0: all are on one */
} tutti_loop_options;

/* options NULL: 4096 eager bytes, no delay, no device slots. */
tutti_status tutti_loop_world_new(
    int size, const tutti_loop_options *options, tutti_loop_world **world);
/* Every transport over it must have been closed. Accepts NULL. */
void tutti_loop_world_free(tutti_loop_world *world);
/* Opens this rank's end; borrows the world. One thread at a time may use an end. INVAL: rank or
 * lanes out of range. */
tutti_status tutti_transport_loop(
    tutti_loop_world *world, int rank, int lanes, tutti_transport **transport);

#endif
