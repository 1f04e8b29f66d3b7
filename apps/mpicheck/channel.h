/* The line between each rank and the judge: TCP, independent of MPI's matching and progress. */
#ifndef TUTTI_MPICHECK_CHANNEL_H
#define TUTTI_MPICHECK_CHANNEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the judge listens; rank 0 broadcasts it as bytes. Who connects shows the token, and the judge shows the
 * answer: another program may have the same port on another host. */
typedef struct mpicheck_card {
    int64_t token, answer;
    uint64_t place; /* mpicheck_channel_place */
    uint16_t port;  /* in network order */
    int addresses;
    struct in_addr address[8];
} mpicheck_card;

/* A number for the network that this process is in: equal on processes that reach each other over the loopback
 * interface, whatever their hosts are called. [A] */
uint64_t mpicheck_channel_place(void);
/* Listens, and fills the card: a socket, or -1. `local`: every rank is in this place, so nobody else needs to reach
 * it. */
int mpicheck_channel_listen(mpicheck_card *card, bool local);
/* A socket to the judge, which has taken this process for the rank; or -1 after some seconds. */
int mpicheck_channel_connect(const mpicheck_card *card, int rank);

#endif
