/* A process that outlives a rank for a moment. When the rank ends, however it does (SIGKILL), the keeper reads what its
 * control connections still hold, and closes them in order, so that the others know for certain. Without a keeper, the
 * kernel resets a connection with unread data, and what the rank had sent may be lost.
 *
 * It is forked, has nothing but these connections, and ignores what a terminal sends. Where it cannot run, a rank that
 * is killed may only be suspected.
 *
 * One thread at a time. */
#ifndef TUTTI_ELASTIC_KEEPER_H
#define TUTTI_ELASTIC_KEEPER_H

#include <sys/types.h>

enum { TUTTI_ELASTIC_KEPT = 256 };

typedef struct tutti_elastic_keeper {
    int socket; /* -1: there is none */
    pid_t pid;
} tutti_elastic_keeper;

void tutti_elastic_keeper_open(tutti_elastic_keeper *k);
/* Keeps a connection, until both ends have shut it. */
void tutti_elastic_keeper_keep(const tutti_elastic_keeper *k, int socket);
/* Ends it, after the connections. */
void tutti_elastic_keeper_close(tutti_elastic_keeper *k);

#endif
