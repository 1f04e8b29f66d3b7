/* Where other hosts reach this one: for peers that need an address because MPI does not start them.
 * [M] */
#ifndef TUTTI_BENCH_ADDRESS_H
#define TUTTI_BENCH_ADDRESS_H

#include "dag/base/status.h"

typedef struct tutti_address {
    char interface[32], host[32]; /* "eth0", "10.77.0.1" */
    int port;                     /* was free when asked */
} tutti_address;

/* The IPv4 address of an interface that is up: the named one, or the first that is not the
 * loopback, or the loopback. IO (logged) if none is found. */
tutti_status tutti_address_find(const char *interface, tutti_address *address);

#endif
