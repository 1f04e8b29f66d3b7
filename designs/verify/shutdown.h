/* The ranks' shutdown: each sends all others the number of collectives that it has started on every
 * lane (BYE), and waits for theirs. Threads: the driver's comm_lock. */
#ifndef TUTTI_SHUTDOWN_H
#define TUTTI_SHUTDOWN_H

#include "collectives/control.h"

typedef struct tutti_shutdown tutti_shutdown;

/* Handles TUTTI_CONTROL_BYE. NOMEM. */
tutti_status tutti_shutdown_open(tutti_control *control, int lanes, tutti_shutdown **shutdown);
void tutti_shutdown_close(tutti_shutdown *shutdown); /* accepts NULL */

/* Sends BYE with the collectives started on each lane; NULL: after a failure, when counts mean
 * nothing. */
tutti_status tutti_shutdown_send(tutti_shutdown *shutdown, const int64_t started[]);
/* Whether every other rank has sent BYE, with the counts `started` or after a failure; NULL: with
 * any counts. */
int tutti_shutdown_has_all(const tutti_shutdown *shutdown, const int64_t started[]);
/* How many other ranks have sent BYE. */
int tutti_shutdown_count(const tutti_shutdown *shutdown);
/* Whether this rank has sent BYE; left_in_order: with counts, so not after a failure. absent: from now on as if it
 * had, without having started anything. */
int tutti_shutdown_has_from(const tutti_shutdown *shutdown, int rank);
int tutti_shutdown_left_in_order(const tutti_shutdown *shutdown, int rank);
void tutti_shutdown_absent(tutti_shutdown *shutdown, int rank);
/* Writes the ranks that have not sent BYE ("1, 3") into text; returns text. */
char *tutti_shutdown_missing(const tutti_shutdown *shutdown, char *text, size_t size);

typedef struct tutti_shutdown_gap {
    int rank, lane;
    int64_t theirs; /* collectives */
} tutti_shutdown_gap;

/* Whether a rank has sent BYE with fewer collectives on some lane than `started`. */
int tutti_shutdown_finds_gap(
    const tutti_shutdown *shutdown, const int64_t started[], tutti_shutdown_gap *gap);

#endif
