/* The door to the judge: connections that have not shown the token yet.
 *
 * Anybody may connect. A stranger has room for the bytes of one HELLO, a deadline, and no way to make the judge
 * wait; when there are too many, the one that has stood there longest is turned away. Only the judge's thread. */
#ifndef TUTTI_CHECK_DOOR_H
#define TUTTI_CHECK_DOOR_H

#include "apps/check/frame.h"

#include <poll.h>

enum { TUTTI_DOOR_MOST = 64 };

typedef struct tutti_stranger {
    int socket;
    double since;
    size_t length;
    unsigned char bytes[TUTTI_FRAME_HELLO_BYTES];
} tutti_stranger;

typedef struct tutti_door {
    int listener; /* -1: closed */
    int64_t token;
    int count;
    tutti_stranger strangers[TUTTI_DOOR_MOST]; /* in the order of their coming */
} tutti_door;

/* Takes over the listening socket. */
void tutti_door_open(tutti_door *door, int listener, int64_t token);
/* Nobody comes in any more; closes all sockets. */
void tutti_door_close(tutti_door *door);
/* Writes what is to be polled, at most TUTTI_DOOR_MOST + 1 lines; how many. */
int tutti_door_poll(const tutti_door *door, struct pollfd *lines);
/* Lets in who has shown the token: a socket and the rank that it says it is; -1: nobody now. */
int tutti_door_hear(tutti_door *door, int64_t *rank);

#endif
