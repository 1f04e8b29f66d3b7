/* Fault injection: one rank mistreats one collective, or message, and tests check that this is reported.
 *
 *     TUTTI_FAULT=rank=1,collective=17,do=skip
 *     TUTTI_FAULT=rank=1,message=40,do=stop
 *
 *   skip      never starts that collective, and continues as if it had ended
 *   extra     an allreduce of one element, named "fault", precedes it
 *   swap      it starts after the next one on its lane
 *   resize    it has one element fewer
 *   delay:S   it starts S seconds late
 *   flip      one bit of its result is flipped on this rank
 *   stop      the rank stops itself (SIGSTOP) where it would start
 *   kill      the rank kills itself (SIGKILL) there
 *
 * collective is the sequence number among the collectives of all ranks, as in error messages; the main
 * thread's collectives (exchange call, agree) count. message counts the messages that the rank sends
 * and receives, from 0, on all edges together, in the order of submission; swap then means the next one
 * on the edge, and extra is not available. Without the variable a driver has no fault, at the cost of
 * one test for NULL.
 *
 * A build configured with --disable-faults links fault_none.c in place of fault.c, and refuses
 * TUTTI_FAULT.
 *
 * Threads: parse, open, adds, extra [M]; admit, change under the driver's queue lock; start, end on
 * the thread that starts and ends the collective. */
#ifndef TUTTI_FAULT_H
#define TUTTI_FAULT_H

#include "dag/run/token.h"
#include "designs/queue/queue.h"

typedef struct tutti_fault tutti_fault;

/* The parsed TUTTI_FAULT. */
typedef enum tutti_fault_kind {
    TUTTI_FAULT_SKIP,
    TUTTI_FAULT_EXTRA,
    TUTTI_FAULT_SWAP,
    TUTTI_FAULT_RESIZE,
    TUTTI_FAULT_DELAY,
    TUTTI_FAULT_FLIP,
    TUTTI_FAULT_STOP,
    TUTTI_FAULT_KILL,
} tutti_fault_kind;

typedef struct tutti_fault_wish {
    tutti_fault_kind kind;
    int64_t rank, number; /* of the collective, or with `message` of the message */
    int message;
    double delay_s;
} tutti_fault_wish;

/* Whether this build has faults. [P] */
int tutti_fault_built(void);

/* USAGE (logged: the invalid part, and what is accepted). */
tutti_status tutti_fault_parse(const char *text, tutti_fault_wish *wish);

/* Reads TUTTI_FAULT. *fault is NULL if it is not set or names another rank. USAGE as in parse, for
 * a rank out of range, and in a build without faults; NOMEM. */
tutti_status tutti_fault_open(int rank, int size, tutti_fault **fault);
void tutti_fault_close(tutti_fault *fault); /* accepts NULL */

/* Whether an extra collective precedes the one with this sequence number (of all ranks); true once, for the
 * first at or after the requested number. */
int tutti_fault_adds(tutti_fault *fault, int64_t sequence);
/* Fills in the extra collective and returns a token that frees itself; NULL: out of memory. */
tutti_token *tutti_fault_extra(tutti_coll_args *args);

/* An entry could start now. Returns the one to start in its place, or itself; NULL: none yet. */
tutti_entry *tutti_fault_admit(tutti_fault *fault, tutti_queue *queue, tutti_entry *entry);
/* An entry has become ready: changes its arguments. */
void tutti_fault_change(tutti_fault *fault, tutti_entry *entry);
/* An entry is about to start: stops or kills the process. Returns 0 to skip the entry. */
int tutti_fault_start(tutti_fault *fault, const tutti_entry *entry);
/* An entry has ended: damages its result. */
void tutti_fault_end(tutti_fault *fault, const tutti_entry *entry);

#endif
