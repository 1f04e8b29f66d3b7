/* The collectives of one rank that have a sequence number and have not ended.
 *
 *   reserved --ready--> ready --take--> started --forget--> gone
 *
 * A group is the set of collectives that a section submits at once; its numbers are consecutive. A slot
 * is a position in the order in which collectives start. Slot and number are equal, except in groups
 * that follow an order agreed on by the ranks (designs/exchange/order.h): there slot `base + i` holds
 * number `base + order[i]`.
 *
 * From the first number with a priority on, all entries are `prior`: they leave program order, and
 * start in the order in which they are granted (designs/drive/driver_grant.c).
 *
 *   ready: fresh --report--> reported --grant--> granted --take--> started
 *
 * A *line* is a set of collectives that start in one order: those of a lane or, where lanes share device
 * slots (designs/design.h), those of all lanes. Windows are per line, too.
 *
 * Reserve, ready, start and forget take amortised constant time. tutti_queue_oldest, for reports,
 * is linear.
 *
 * Not locked: the driver's queue_lock protects it. */
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
    int64_t turn; /* among all collectives of this rank, with groups and edges, in program order */
    int64_t message;   /* its number among the messages of this rank; -1: not a message */
    int64_t index;     /* among its section's nodes: 0 begins a group (a step) */
    int64_t step;      /* of the trace */
    int64_t base;      /* the group's first sequence number */
    int chunk, chunks; /* number of this chunk, and the node's count */
    int slots;         /* of its place */
    int ordered;       /* its group follows the agreed order, which may not be known yet */
    int prior;         /* it starts when it is granted */
    int priority;      /* of its place */
    int lane;
    tutti_entry_state state;
    tutti_coll_args args;
    tutti_token *token;
    tutti_coll_request *request;
    double started;              /* the meter's mark */
    double reserved_s, moved_s;  /* when it was reserved, and when it last moved */
    int64_t moves;               /* of the request, at the last look */
    int64_t number;              /* in the flight recorder */
    int64_t posted;              /* its number on its lane */
    struct tutti_entry_list *in; /* its list; NULL: none */
    int64_t before, after;       /* its neighbours there, by sequence; -1: none */
    int left;                    /* in a node's last chunk: how many chunks have not ended */
    const char *name;            /* of the node; borrowed */
} tutti_entry;

/* Entries in one state, in the order in which they entered it; -1: none. A list does not move in memory. */
typedef struct tutti_entry_list {
    int64_t first, last;
} tutti_entry_list;

typedef struct tutti_queue {
    tutti_entry *ring;
    int64_t room;              /* a power of two */
    int64_t lowest, next;      /* numbers below lowest are gone */
    int64_t base;              /* of the group being reserved */
    int lanes, lines;          /* as many lines as lanes, or one */
    int singly;                /* entries do not wait for their group: see tutti_queue_alone */
    int64_t *cursor;           /* per line: the next to start has its first slot from here on */
    int64_t *bytes_in_flight;  /* per line: bytes of what has started */
    tutti_entry_list *ready;   /* per line; not those that are fresh or granted */
    tutti_entry_list flight;   /* those that have started */
    int64_t prior_from;        /* the first prior number; -1: none */
    tutti_entry_list fresh;    /* prior, ready, not reported */
    tutti_entry_list *granted; /* per line: in the order in which they start */
    int ungranted;             /* prior and ready: fresh or reported */
    int started;               /* the length of flight */
    int64_t gone;              /* this many from lowest on are known to be gone */
    int64_t group_end;         /* entries from lowest up to here are known ready, in one group */
    int ordering;              /* groups of `slots` slots follow an order from here on */
    int slots;
    const int32_t *order; /* [slots] the order; NULL: not known yet. Borrowed */
    /* An entry of such a group starts on a line only while at most this many bytes, with its own, are in
     * flight there, or nothing is; 0: no limit */
    int64_t window;
} tutti_queue;

/* The bytes of its buffer, once it is ready. [P] */
int64_t tutti_entry_bytes(const tutti_entry *entry);

/* lines: as many as lanes, or 1. */
tutti_status tutti_queue_open(tutti_queue *queue, int lanes, int lines);
void tutti_queue_close(tutti_queue *queue);

/* Takes the next sequence number, and those after it for further chunks. Entry pointers are valid
 * until the next reserve. NOMEM. */
tutti_status tutti_queue_reserve(
    tutti_queue *queue, const tutti_place *place, const char *name, int64_t *sequence);
tutti_entry *tutti_queue_get(tutti_queue *queue, int64_t sequence);
/* The line of an entry. */
int tutti_queue_line(const tutti_queue *queue, const tutti_entry *entry);
/* Whether this turn is the entry's, or later. All entries of a group that follows an order have the turn
 * of the first one. */
int tutti_queue_has_turn(tutti_queue *queue, const tutti_entry *entry, int64_t turn);
/* The next entry of this line in slot order, if it is ready; where the next is prior, the first
 * that is granted there. NULL otherwise. */
tutti_entry *tutti_queue_startable(tutti_queue *queue, int line);
/* The first in slot order that has not ended, or NULL. */
tutti_entry *tutti_queue_oldest(tutti_queue *queue);
/* Whether all other chunks of this entry's node have ended. */
int tutti_queue_is_last(tutti_queue *queue, const tutti_entry *entry);
void tutti_queue_ready(tutti_queue *queue, tutti_entry *entry); /* RESERVED -> READY */
/* The prior entry that has been ready longest without being reported; it counts as reported now. NULL:
 * none. */
tutti_entry *tutti_queue_report(tutti_queue *queue);
/* Appends a prior entry to the granted ones of its line. Returns 0, and does nothing, if it is not
 * ready, or granted already. */
int tutti_queue_grant(tutti_queue *queue, tutti_entry *entry);
void tutti_queue_start(tutti_queue *queue, tutti_entry *entry);  /* READY -> STARTED */
void tutti_queue_forget(tutti_queue *queue, tutti_entry *entry); /* -> GONE */
/* The entry longest in flight, and the next one in an entry's list; NULL: none. */
tutti_entry *tutti_queue_first_started(tutti_queue *queue);
tutti_entry *tutti_queue_after(tutti_queue *queue, const tutti_entry *entry);
/* The entry that has been ready longest on this line; NULL: none. Ready prior entries count, too, whether
 * granted, reported or fresh; fresh ones of any line. */
tutti_entry *tutti_queue_first_ready(tutti_queue *queue, int line);
/* The number of entries of the oldest group if all of them are ready (they begin at lowest); 0
 * otherwise. */
int64_t tutti_queue_ready_group(tutti_queue *queue);
/* The oldest entry, if it is on this line, its whole group is ready (`singly`: it is ready itself) and
 * nothing has started; else NULL. */
tutti_entry *tutti_queue_alone(tutti_queue *queue, int line);

#endif
