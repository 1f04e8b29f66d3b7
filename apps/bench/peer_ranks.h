/* Peers with a process on every rank, which find each other by themselves. All ranks call these, and get the
 * same status. Threads: [M]. */
#ifndef TUTTI_BENCH_PEER_RANKS_H
#define TUTTI_BENCH_PEER_RANKS_H

#include "apps/bench/peer.h"
#include "apps/bench/world.h"

/* As tutti_peer_program; the text is empty on all ranks where one has no peer. */
tutti_status tutti_peer_ranks_program(
    tutti_world *world, const char *wish, const tutti_peer_script *script, char *text, size_t size);

typedef struct tutti_peer_torch {
    const char *wish, *interface; /* --peer, --interface */
    tutti_peer_script script;     /* takes its rank and where they meet from the environment */
    const char *arguments;        /* of the script */
    double timeout_s;
} tutti_peer_torch;

/* Starts the script on every rank, with gloo between them. *peer: NULL where there is no peer; on failure
 * it may still be one, to be stopped. Errors as of tutti_address_find and tutti_peer_start. */
tutti_status tutti_peer_ranks_start(
    tutti_world *world, const tutti_peer_torch *torch, tutti_peer **peer);

typedef struct tutti_peer_mxnet {
    const char *program;   /* as tutti_peer_ranks_program gives it */
    const char *arguments; /* of it on this rank; NULL: this rank has none */
    const char *interface;
    int workers, servers;
    double timeout_s;
} tutti_peer_mxnet;

/* Starts the program on every rank that has arguments, with MXNet's kvstore between them; rank 0 is to have its
 * scheduler. Errors as above. */
tutti_status tutti_peer_ranks_start_mxnet(
    tutti_world *world, const tutti_peer_mxnet *mxnet, tutti_peer **peer);

#endif
