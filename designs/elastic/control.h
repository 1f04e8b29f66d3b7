/* The control connection to one member: messages of the membership in their order, and beats between them, which show
 * that the process runs. Both ends read at once what comes.
 *
 * IN ORDER means that everything that the other end had sent was read before its end. A reset may have lost something,
 * and a protocol error may hide anything: both are BROKEN.
 *
 * Never waits, but in tutti_elastic_control_push. Not locked: one thread at a time. */
#ifndef TUTTI_ELASTIC_CONTROL_H
#define TUTTI_ELASTIC_CONTROL_H

#include "dag/base/status.h"
#include "designs/membership/message.h"

#include <poll.h>
#include <stddef.h>

typedef enum tutti_elastic_end {
    TUTTI_ELASTIC_OPEN,
    TUTTI_ELASTIC_IN_ORDER,
    TUTTI_ELASTIC_BROKEN
} tutti_elastic_end;

typedef struct tutti_elastic_control {
    int socket; /* -1: closed */
    tutti_elastic_end end;
    char why[96];           /* BROKEN: as a predicate, "has reset the connection" */
    double heard_s, sent_s; /* when something came, and went, last */
    int held;               /* nothing is written yet */
    int shut;               /* nothing more is written */
    unsigned char coming[1 + TUTTI_MEMBERSHIP_MESSAGE_BYTES];
    size_t came;
    unsigned char *out; /* what is to be written, from out_at to out_end */
    size_t out_at, out_end, out_room;
} tutti_elastic_control;

/* Takes over the socket. */
void tutti_elastic_control_open(tutti_elastic_control *c, int socket, double now_s);
/* Queues a message, and writes what can be written. What the other end does not accept breaks the connection. */
void tutti_elastic_control_send(
    tutti_elastic_control *c, const tutti_membership_message *message, double now_s);
/* Queues a beat where nothing has been sent for this long. */
void tutti_elastic_control_beat(tutti_elastic_control *c, double every_s, double now_s);
/* Writes what can be written. */
void tutti_elastic_control_flush(tutti_elastic_control *c, double now_s);
/* Waits until all is written, at most limit_s. If it is not, the connection is reset: then its end cannot look as if
 * it were in order. */
void tutti_elastic_control_push(tutti_elastic_control *c, double limit_s);
/* 1: *message is the next one. 0: there is none now, and `end` says whether there may be one. */
int tutti_elastic_control_read(
    tutti_elastic_control *c, tutti_membership_message *message, double now_s);
/* Ends this direction, after push. */
void tutti_elastic_control_shut(tutti_elastic_control *c);
struct pollfd tutti_elastic_control_poll(const tutti_elastic_control *c);
void tutti_elastic_control_close(tutti_elastic_control *c);

#endif
