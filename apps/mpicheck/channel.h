/* The connection between a rank and the judge: TCP, independent of MPI's matching and progress. */
#ifndef TUTTI_MPICHECK_CHANNEL_H
#define TUTTI_MPICHECK_CHANNEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the judge listens; rank 0 broadcasts it as bytes. A rank that connects shows the token and
 * the judge shows the answer: another program may use the same port on another host. */
typedef struct mpicheck_card {
    int64_t token, answer;
    uint64_t place; /* mpicheck_channel_place */
    uint16_t port;  /* in network order */
    int addresses;
    struct in_addr address[8];
} mpicheck_card;

/* A number for this process's network: equal on processes that reach each other over the loopback
 * interface, whatever their host names. [A] */
uint64_t mpicheck_channel_place(void);
/* Listens and fills the card; returns a socket, or -1. `local`: all ranks are in this place, so
 * only they need to reach it. */
int mpicheck_channel_listen(mpicheck_card *card, bool local);
/* A socket to the judge, which has accepted this process as the rank; -1 after some seconds. */
int mpicheck_channel_connect(const mpicheck_card *card, int rank);

#endif
