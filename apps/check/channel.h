/* The line between each rank and the judge: TCP, independent of MPI's matching and progress. */
#ifndef TUTTI_CHECK_CHANNEL_H
#define TUTTI_CHECK_CHANNEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the judge listens; rank 0 broadcasts it as bytes. Whoever connects shows the token. */
typedef struct tutti_card {
    int64_t token;
    char host[64];
    uint16_t port; /* in network order */
    int addresses;
    struct in_addr address[8];
} tutti_card;

/* Listens, and fills the card: a socket, or -1. `local`: every rank is on this host, so nobody else
 * needs to reach it. */
int tutti_channel_listen(tutti_card *card, bool local);
/* A socket to the judge, or -1 after a few seconds. */
int tutti_channel_connect(const tutti_card *card);

#endif
