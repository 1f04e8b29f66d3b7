/* The internals of a driver, shared by driver_pass.c (posting, and a pass over all), driver_start.c
 * (which collective may start), driver_grant.c (priorities), driver_entry.c (how one starts and
 * ends), driver_fail.c (failing, notifying the other ranks, leaving), driver_drain.c (ending what
 * is in flight after a failure), driver_order.c (the order of a step's collectives) and
 * driver_show.c (reports), driver_part.c (how groups and edges are opened) and driver_list.c (the
 * list of them). */
#ifndef TUTTI_DRIVER_PARTS_H
#define TUTTI_DRIVER_PARTS_H

#include "dag/base/log.h"
#include "designs/drive/driver.h"
#include "designs/drive/fault.h"
#include "designs/queue/queue.h"
#include "designs/verify/shutdown.h"

#include <pthread.h>

/* After a failure nothing starts, and what is in flight ends without a result: unmatched messages
 * are cancelled, matched ones complete. Only then are tokens finished, because that returns the
 * data to the program. Ranks need each other for this, so each continues until all have reported that
 * they have nothing in flight. */
typedef struct tutti_drain {
    double began_s; /* 0: not begun */
    double clean_s; /* since when this rank has nothing in flight; 0: it has something */
} tutti_drain;

/* The agreement of the ranks on what goes next, where collectives have priorities. */
typedef struct tutti_granting tutti_granting;

/* A group, or an edge. */
typedef struct tutti_driver_part {
    tutti_members members;
    tutti_driver *driver; /* NULL: this rank is not a member */
    int slot;
    struct tutti_driver_part *next; /* in its list by key */
} tutti_driver_part;

/* Slots from here on are those of edges, which open in any order. Those below are of groups, and
 * the same on every rank. */
enum { TUTTI_DRIVER_FIRST_EDGE = 1 << 20 };

/* Parts do not move in memory until the root is closed. */
typedef struct tutti_driver_list {
    tutti_driver_part **part; /* by slot */
    int count, room;
    tutti_driver_part *by_key[TUTTI_KEY_LISTS];
} tutti_driver_list;

struct tutti_driver {
    tutti_driver_options options;
    tutti_driver *root; /* the driver of all ranks: this one, or the one that has this as a part */
    tutti_members members;
    int slot;
    int first_lane;                  /* of its lanes in traces and records */
    int64_t inserted;                /* chunks of collectives that no graph has */
    tutti_driver_list groups, edges; /* of the root; changed under both locks */
    tutti_status (*open_part)(tutti_driver *root, const tutti_driver_options *options,
        const tutti_members *members, int slot, tutti_comm *comm, tutti_driver **driver);
    int next_lane; /* of the root: first_lane of its next part */
    tutti_comm *comm;
    tutti_verify *verify; /* NULL when nothing is compared */
    double passed_s,
        stuck_s; /* driver_fail.c: the last pass; how long it has waited for a rank that has left */
    tutti_shutdown *shutdown; /* NULL: without control */
    tutti_fault *fault;       /* NULL except in tests of failures */
    tutti_granting *granting; /* NULL: priorities are ignored */
    int64_t seen_prior_from, seen_next; /* of the queue, as this pass has seen them */
    int64_t *asking;                    /* [lines] the sequence number that asks to start, or -1 */
    int64_t *reached;                   /* [lanes] driver_fail.c: what has started, or waits for it */
    unsigned char *
        clean; /* [members.size] of the drain: this member has nothing in flight. Written under both locks */
    /* Protects calls on comm and verify; taken first of the two locks. The transport's lock, which
     * drivers may share, or own_lock. */
    pthread_mutex_t *comm_lock;
    pthread_mutex_t own_lock;
    /* Protects what follows; the parts share the root's. */
    pthread_mutex_t *queue_lock;
    pthread_mutex_t own_queue_lock;
    tutti_queue queue;
    tutti_record record;      /* of the root, with what its parts do */
    tutti_observed *observed; /* may be NULL; borrowed */
    int64_t turns,
        turn; /* of the root: how many are reserved; how many have started or been skipped */
    int64_t messages;     /* of the root: how many its edges have reserved */
    int64_t ended;        /* collectives; of the root: with those of its parts */
    int held;             /* rules that start at_once: ready entries that had to wait */
    int unproven;         /* at the last look: done, but not known to be the same on all ranks */
    int curious;          /* verify wants more passes */
    int leaving;          /* of the root: it has left */
    tutti_status failure; /* of the root, given to fail: nothing starts any more */
    char why[TUTTI_ERROR_TEXT]; /* its sentence */
    tutti_drain drain;          /* after the failure */
};

/* Calls a function for the root, and then for each of its parts. comm_lock or queue_lock held. */
void tutti_driver_each(tutti_driver *root, void (*call)(tutti_driver *d, void *ctx), void *ctx);
/* A message about an edge that has no part here yet: opens it. comm_lock held. */
void tutti_driver_on_unknown(void *ctx, int64_t key);
/* The part of a slot, or NULL; the slot of a key, or -1. comm_lock or queue_lock held. */
tutti_driver_part *tutti_driver_part_at(const tutti_driver *root, int slot);
int tutti_driver_slot_of(const tutti_driver *root, int64_t key);
void tutti_driver_close_parts(tutti_driver *root, void (*close)(tutti_driver *driver));

/* A member that has sent BYE to all ranks but not for this part has never used it, and has nothing in flight in it.
 * comm_lock held. */
void tutti_driver_notice_absent(tutti_driver *part);

tutti_status tutti_driver_failure(tutti_driver *d);
/* Another rank has aborted all ranks: a tutti_control_handler. comm_lock held. */
void tutti_driver_on_abort(void *ctx, const tutti_control_message *message);

/* Starts what may start in a pass; returns how many. comm_lock held. */
int tutti_driver_start_next(tutti_driver *d);
/* For rules that start at_once: starts the chunks from this sequence number on. A chunk that cannot
 * start now is retried in every pass, and so are those after it. comm_lock held. */
void tutti_driver_start_at_once(tutti_driver *d, int64_t first, int chunks);
/* Whether something is ready that a pass may start. queue_lock held. */
int tutti_driver_may_start(tutti_driver *d);

/* Opens the agreement if the driver has priorities. NOMEM. */
tutti_status tutti_driver_grant_open(tutti_driver *d);
void tutti_driver_grant_close(tutti_driver *d);
/* Reports what is ready, and on rank 0 grants what goes next. comm_lock held. */
tutti_status tutti_driver_grant_pass(tutti_driver *d, int *moved);
/* In a pass where nothing is compared: if collectives wait for a rank that has left without its part in them, and
 * have not moved for seconds, all ranks fail. comm_lock held. */
void tutti_driver_notice_deserted(tutti_driver *driver, int moved);
/* If a rank has left, reports to verify what waits here for a grant. comm_lock held. */
void tutti_driver_grant_expect(tutti_driver *d);
/* A collective that had started has ended. comm_lock held. */
void tutti_driver_grant_end(tutti_driver *d, const tutti_entry *entry);
/* Posts this entry on its lane; if that fails the driver fails, and the drain ends the entry.
 * comm_lock held. */
void tutti_driver_start_entry(tutti_driver *d, const tutti_entry *ready);
/* Removes an entry, and finishes its token after the last chunk. comm_lock held. */
void tutti_driver_end_entry(tutti_driver *d, int64_t sequence, tutti_status status);
/* Ends what is done. comm_lock held. */
void tutti_driver_end_done(tutti_driver *d);
/* The same of what the last progress has moved: comm_lock has been held since. */
void tutti_driver_end_moved(tutti_driver *d);
/* A pass after a failure: ends what is ready with that status, and what was in flight once it is
 * drained. comm_lock held. */
void tutti_driver_drain(tutti_driver *d, tutti_status failure);
/* Whether the drain still needs passes: something waits for it, here or on another rank. queue_lock
 * held. */
int tutti_driver_draining(tutti_driver *d);
/* Another rank reports that it has nothing in flight: a tutti_control_handler. comm_lock held. */
void tutti_driver_on_drained(void *ctx, const tutti_control_message *message);

#endif
