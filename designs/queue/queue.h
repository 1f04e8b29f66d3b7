/* The collectives of one rank that have a sequence number and have not ended.
 *
 *   reserved --ready--> ready --take--> started --forget--> gone
 *
 * A group is what a section submits at once: its numbers follow each other. Their places in the
 * order in which they start, the slots, are the same numbers; slot and number are equal, but for
 * groups that follow an order which ranks have agreed on (designs/exchange/order.h): there slot `base + i`
 * is taken by number `base + order[i]`.
 *
 * To reserve, ready, start and forget one takes a time that, on average, does not grow with how many
 * there are. tutti_queue_oldest, for reports, looks at one after the other.
 *
 * Not locked: the driver's queue_lock covers it. */
#ifndef TUTTI_QUEUE_H
#define TUTTI_QUEUE_H

#include "collectives/coll.h"
#include "dag/graph/graph.h"
#include "dag/run/token.h"

typedef enum tutti_entry_state {
    TUTTI_ENTRY_GONE,
    TUTTI_ENTRY_RESERVED,
    TUTTI_ENTRY_READY,
    TUTTI_ENTRY_STARTED
} tutti_entry_state;

typedef struct tutti_entry {
    int64_t sequence;
    int64_t index;     /* among its section's nodes: 0 begins a group (a step) */
    int64_t step;      /* of the trace */
    int64_t base;      /* the group's first sequence number */
    int chunk, chunks; /* this one of the node's */
    int slots;         /* of its place */
    int ordered;       /* its group follows the agreed order, which may not be known yet */
    int lane;
    tutti_entry_state state;
    tutti_coll_args args;
    tutti_token *token;
    tutti_coll_request *request;
    double started;             /* the meter's mark */
    double reserved_s, moved_s; /* when it was reserved, and when it last moved */
    int64_t moves;              /* of the request, when last looked at */
    int64_t number;             /* in the flight recorder */
    int64_t before, after;      /* its neighbours in its list, by sequence; -1: none */
    int left;                   /* of a node's last chunk: how many chunks have not ended */
    const char *name;           /* of the node; borrowed */
} tutti_entry;

/* Entries in one state, in the order in which they came to it; -1: none. */
typedef struct tutti_entry_list {
    int64_t first, last;
} tutti_entry_list;

typedef struct tutti_queue {
    tutti_entry *ring;
    int64_t room;         /* a power of two */
    int64_t lowest, next; /* ids below lowest are gone */
    int64_t base;         /* of the group being reserved */
    int lanes;
    int64_t
        *cursor; /* one a lane: the entry to start next has the first slot of its lane from here */
    int64_t *flying;         /* one a lane: bytes of what has started */
    tutti_entry_list *ready; /* one a lane */
    tutti_entry_list flight; /* those that have started */
    int started;             /* how many they are */
    int64_t gone;            /* so many from lowest on are known to be gone */
    int64_t group_end; /* entries from lowest up to here are known to be ready, and of one group */
    int ordering;      /* groups of so many slots follow an order from here on */
    int slots;
    const int32_t *order; /* [slots] the order; NULL: not known yet. Borrowed */
    int64_t window; /* bytes that may be in flight on a lane before the next of such a group starts,
                       or one entry; 0: any number */
} tutti_queue;

/* Of its buffer, once it is ready. [P] */
int64_t tutti_entry_bytes(const tutti_entry *entry);

tutti_status tutti_queue_open(tutti_queue *queue, int lanes);
void tutti_queue_close(tutti_queue *queue);

/* Takes the next sequence number, and those behind it for further chunks. Entry pointers hold until
 * the next reserve. NOMEM. */
tutti_status tutti_queue_reserve(
    tutti_queue *queue, const tutti_place *place, const char *name, int64_t *sequence);
tutti_entry *tutti_queue_get(tutti_queue *queue, int64_t sequence);
/* The entry that stands next on this lane in the order of slots, if it is ready; NULL otherwise. */
tutti_entry *tutti_queue_startable(tutti_queue *queue, int lane);
/* The first in the order of slots that has not ended, or NULL. */
tutti_entry *tutti_queue_oldest(tutti_queue *queue);
/* Whether this entry is the last of its node's chunks that has not ended. */
int tutti_queue_is_last(tutti_queue *queue, const tutti_entry *entry);
void tutti_queue_ready(tutti_queue *queue, tutti_entry *entry);  /* RESERVED -> READY */
void tutti_queue_start(tutti_queue *queue, tutti_entry *entry);  /* READY -> STARTED */
void tutti_queue_forget(tutti_queue *queue, tutti_entry *entry); /* -> GONE */
/* What has been in flight longest, and what came after an entry in the same list; NULL: none. */
tutti_entry *tutti_queue_first_started(tutti_queue *queue);
tutti_entry *tutti_queue_after(tutti_queue *queue, const tutti_entry *entry);
/* What has been ready longest on this lane; NULL: none. */
tutti_entry *tutti_queue_first_ready(tutti_queue *queue, int lane);
/* How many entries the oldest group has when all of them are ready (they begin at lowest); 0
 * otherwise. */
int64_t tutti_queue_ready_group(tutti_queue *queue);
/* The oldest entry, if it is on this lane, all of its group are ready and nothing else has started; or NULL. */
tutti_entry *tutti_queue_alone(tutti_queue *queue, int lane);

#endif
