/* Where other hosts reach this one: for peers that are told an address rather than started by MPI.
 * [M] */
#ifndef TUTTI_BENCH_ADDRESS_H
#define TUTTI_BENCH_ADDRESS_H

#include "dag/base/status.h"

typedef struct tutti_address {
    char interface[32], host[32]; /* "eth0", "10.77.0.1" */
    int port;                     /* free a moment ago */
} tutti_address;

/* The IPv4 address of an interface that is up: the one named, or the first that is not the loopback,
 * or the loopback. IO (logged) when there is none. */
tutti_status tutti_address_find(const char *interface, tutti_address *address);

#endif
