/* The door to the judge: connections that have not shown the token yet.
 *
 * Anybody may connect. A stranger gets room for the bytes of one HELLO and a deadline, and
 * cannot make the judge wait; when there are too many, the oldest is turned away. Only the
 * judge's thread. */
#ifndef TUTTI_MPICHECK_DOOR_H
#define TUTTI_MPICHECK_DOOR_H

#include "apps/mpicheck/frame.h"

#include <poll.h>

enum { MPICHECK_DOOR_MOST = 64 };

typedef struct mpicheck_stranger {
    int socket;
    double since;
    size_t length;
    unsigned char bytes[MPICHECK_FRAME_HELLO_BYTES];
} mpicheck_stranger;

typedef struct mpicheck_door {
    int listener; /* -1: closed */
    int64_t token;
    int count;
    mpicheck_stranger strangers[MPICHECK_DOOR_MOST]; /* in order of arrival */
} mpicheck_door;

/* Takes over the listening socket. */
void mpicheck_door_open(mpicheck_door *door, int listener, int64_t token);
/* Closes the listener and all strangers' sockets. */
void mpicheck_door_close(mpicheck_door *door);
/* Writes the lines to poll, at most MPICHECK_DOOR_MOST + 1; returns how many. */
int mpicheck_door_poll(const mpicheck_door *door, struct pollfd *lines);
/* Lets in one stranger that has shown the token: its socket, and the rank it claims to be; -1:
 * nobody now. */
int mpicheck_door_receive(mpicheck_door *door, int64_t *rank);

#endif
