/* Which instances have been submitted, have begun and have ended: the basis of every runner's wait.
 *
 * Instances get ids 0, 1, 2... in submission order; a point is the number of instances before it.
 * [A] */
#ifndef TUTTI_LEDGER_H
#define TUTTI_LEDGER_H

#include "dag/base/status.h"
#include "dag/graph/graph.h"

#include <stdint.h>

typedef struct tutti_ledger tutti_ledger;

tutti_status tutti_ledger_new(tutti_ledger **ledger);
void tutti_ledger_free(tutti_ledger *ledger); /* accepts NULL */

/* An instance. Borrowed until it ends: name, and access and data when there are several (a single one
 * is copied). */
typedef struct tutti_task {
    const char *name;
    int accesses;
    const tutti_access *access;
    int64_t sequence; /* of a collective; -1: none */
    /* What each access is to, where there is no graph whose tensors have numbers: access[i].tensor then means
     * nothing. NULL: there is. Never read through. */
    const void *const *data;
} tutti_task;

/* Registers the next instance. NOMEM. */
tutti_status tutti_ledger_enter(tutti_ledger *ledger, const tutti_task *task, int64_t *id);
/* A worker has begun it; or, if it is a collective, it has been handed to its design. */
void tutti_ledger_begin(tutti_ledger *ledger, int64_t id);
/* What an instance that has begun is doing now, instead of what it was entered as. Borrowed until it ends. */
void tutti_ledger_rename(tutti_ledger *ledger, int64_t id, const char *name);
/* The instance has ended; the first status other than OK sticks. */
void tutti_ledger_leave(tutti_ledger *ledger, int64_t id, tutti_status status);

/* A collective may end before the worker that hands it to its design has returned from there. So the
 * worker says that it hands one over, and that it has done so, the last it does with the ledger. */
void tutti_ledger_hands(tutti_ledger *ledger, int begins);
/* Waits until no worker hands anything over: then what it may use can be freed. For after the last
 * instance has ended, since then nothing keeps a worker there. */
void tutti_ledger_quiet(tutti_ledger *ledger);

int64_t tutti_ledger_point(tutti_ledger *ledger);
/* Whether everything between two points has ended; from 0: everything before the point. */
int tutti_ledger_reached(tutti_ledger *ledger, int64_t from, int64_t point);
/* Whether this instance has ended. */
int tutti_ledger_has_ended(tutti_ledger *ledger, int64_t id);
/* The first failure so far, or OK. */
tutti_status tutti_ledger_failure(tutti_ledger *ledger);

/* Sleeps until the point is reached from the other or something has failed, but at most this long. */
void tutti_ledger_sleep(tutti_ledger *ledger, int64_t from, int64_t point, double at_most_s);
/* Logs an error that names the first unfinished instances between the points. Returns TIMEOUT. */
tutti_status tutti_ledger_report_timeout(
    tutti_ledger *ledger, int64_t from, int64_t point, double timeout_s);
/* Logs an error that names the first instances that have not ended this long after a failure.
 * Returns TIMEOUT. */
tutti_status tutti_ledger_report_held(tutti_ledger *ledger, double waited_s);

/* Ends the wait with this status, unless something has failed before. */
void tutti_ledger_fail(tutti_ledger *ledger, tutti_status status);

/* The current state, for reports. */
typedef struct tutti_ledger_look {
    int64_t submitted, ended; /* how many */
    int running;              /* begun and not ended, without collectives */
    int outside;              /* the counter of tutti_ledger_outside */
} tutti_ledger_look;

/* An instance that has not ended. */
typedef struct tutti_ledger_item {
    int64_t id;
    tutti_task task;
    tutti_access one;     /* what task.access points to when there is only one */
    const void *one_data; /* the same for task.data */
    double began_s;       /* of tutti_clock_s; 0: not yet */
    int awaited;          /* a thread may sleep until it ends */
} tutti_ledger_item;

/* Registers what describes a collective in messages, as in tutti_run_hooks. */
void tutti_ledger_describe(tutti_ledger *ledger,
    void (*describe)(void *ctx, int64_t sequence, char *text, size_t size), void *ctx);
/* Registers a counter that changes with activity not entered here. */
void tutti_ledger_outside(tutti_ledger *ledger, int (*count)(void));
tutti_ledger_look tutti_ledger_see(tutti_ledger *ledger);
/* Copies all that have not ended, by id, with their accesses, into a block that the caller frees. Data are
 * numbered there, from 0 on, in access[].tensor. NOMEM. */
tutti_status tutti_ledger_copy(tutti_ledger *ledger, tutti_ledger_item **item, int64_t *items);

#endif
