/* The line between each rank and the judge: TCP, independent of MPI's matching and progress. */
#ifndef TUTTI_CHECK_CHANNEL_H
#define TUTTI_CHECK_CHANNEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the judge listens; rank 0 broadcasts it as bytes. Who connects shows the token, and the judge shows the
 * answer: another program may have the same port on another host. */
typedef struct tutti_card {
    int64_t token, answer;
    uint64_t place; /* tutti_channel_place */
    uint16_t port;  /* in network order */
    int addresses;
    struct in_addr address[8];
} tutti_card;

/* A number for the network that this process is in: equal on processes that reach each other over the loopback
 * interface, whatever their hosts are called. [A] */
uint64_t tutti_channel_place(void);
/* Listens, and fills the card: a socket, or -1. `local`: every rank is in this place, so nobody else needs to reach
 * it. */
int tutti_channel_listen(tutti_card *card, bool local);
/* A socket to the judge, which has taken this process for the rank; or -1 after some seconds. */
int tutti_channel_connect(const tutti_card *card, int rank);

#endif
