/* A fault on purpose: what one rank does wrong with one collective, so that tests see it reported.
 *
 *     TUTTI_FAULT=rank=1,collective=17,do=skip
 *
 *   skip      never starts that collective and goes on as if it had ended
 *   extra     an allreduce of one element, named "fault", stands before it
 *   swap      it is exchanged with the next one on its lane: waits for that one to start first
 *   resize    it has one element fewer
 *   delay:S   it starts S seconds late
 *   flip      one bit of its result is turned on this rank
 *   stop      the rank stops itself (SIGSTOP) where it would start
 *   kill      the rank kills itself (SIGKILL) there
 *
 * collective is the sequence number, as errors tell it: collectives of the main thread (exchange
 * call, agree) count. Without the variable a driver has no fault, and asks for nothing but that.
 *
 * A build that is configured with --disable-faults links fault_none.c in place of fault.c: it has
 * none of this, and refuses TUTTI_FAULT.
 *
 * Threads: parse, open, adds, extra [M]; admit, change under the driver's queue
 * lock; start, end for whoever starts and ends the collective. */
#ifndef TUTTI_FAULT_H
#define TUTTI_FAULT_H

#include "dag/run/token.h"
#include "designs/queue/queue.h"

typedef struct tutti_fault tutti_fault;

/* What TUTTI_FAULT asks for, as a value. */
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
    int64_t rank, collective;
    double delay_s;
} tutti_fault_wish;

/* Whether this build has faults. [P] */
int tutti_fault_built(void);

/* USAGE (logged: the part, and what would be accepted). */
tutti_status tutti_fault_parse(const char *text, tutti_fault_wish *wish);

/* Reads TUTTI_FAULT. *fault is NULL when it is not set or names another rank. USAGE as parse, and
 * for a rank that there is not, and in a build without faults; NOMEM. */
tutti_status tutti_fault_open(int rank, int size, tutti_fault **fault);
void tutti_fault_close(tutti_fault *fault); /* accepts NULL */

/* Whether another collective stands before the one with this sequence number; once: the first that begins at the
 * number asked for or behind it. */
int tutti_fault_adds(tutti_fault *fault, int64_t sequence);
/* What it is, and a token that frees itself; NULL when memory ran out. */
tutti_token *tutti_fault_extra(tutti_coll_args *args);

/* An entry could start now: the one that may start in its place, itself, or NULL: none yet. */
tutti_entry *tutti_fault_admit(tutti_fault *fault, tutti_queue *queue, tutti_entry *entry);
/* An entry has become ready: changes its arguments. */
void tutti_fault_change(tutti_fault *fault, tutti_entry *entry);
/* An entry is about to start: stops or kills the process. Returns 0 when it is to be left out. */
int tutti_fault_start(tutti_fault *fault, const tutti_entry *entry);
/* An entry has ended: damages its result. */
void tutti_fault_end(tutti_fault *fault, const tutti_entry *entry);

#endif
