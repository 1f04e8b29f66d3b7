/* The stall inspector of one rank: a thread that checks for stalls and reports them.
 *
 * A rank waits when its oldest collective in flight makes no progress, or when its program waits for tasks that wait
 * for each other and none runs. Then it queries the other ranks (designs/watch/inquiry.h), and
 *
 *   after warn_s    warns which ranks have not arrived and what blocks them there: the program or a task; again
 *                   whenever the wait has doubled
 *   after dump_s    every rank writes its flight recorder to a file, and the lowest rank that answers prints who
 *                   waits for whom
 *   after abort_s   all ranks end with TIMEOUT (tutti_driver_abort)
 *
 * The last two apply to stalls: waits that no rank can end by itself. Either a missing rank does not answer, or
 * nothing moves on any rank that answers and each of them waits too (tutti_stall_lasts_s). A rank is late, not
 * stalled, while its program is in its own code (it computes, evaluates, reads, waits for data) and may still reach
 * the collective, or while a task runs: the others wait for it without limit. If ranks receive messages only while
 * the main thread waits, silence means a stall only when the process is seen to be stopped or gone
 * (designs/watch/pulse.h). A rank that computes, with nothing in flight, does not wait.
 *
 * The thread never calls MPI and takes no lock that is held inside MPI, so it also reports a rank that is blocked
 * there. On SIGUSR1 it prints the current state. */
#ifndef TUTTI_WATCH_H
#define TUTTI_WATCH_H

#include "designs/watch/inquiry.h"

typedef struct tutti_watch tutti_watch;

typedef struct tutti_watch_options {
    int on;                         /* 0: no inspector */
    double warn_s, dump_s, abort_s; /* each 0 (never) or above the ones before it */
    const char *name[3];            /* their names in messages; NULL: as here */
    /* Of the files tutti-stall.<rank>.json, by the rank in front of messages; NULL: the working directory. */
    const char *folder;
    int session; /* of the process; from the second on: tutti-stall.<rank>.<session>.json */
    /* Ends the process; called 2 s after it should have ended. NULL: nothing happens. */
    void (*give_up)(void);
    /* If main drives an attached program: the call in which its collectives run, and its design,
     * for a reminder. NULL: no reminder. */
    const char *call, *design;
} tutti_watch_options;

/* USAGE (logged) if the three times are negative or not ascending. [P] */
tutti_status tutti_watch_check(const tutti_watch_options *options);

/* Starts the thread. Driver and control are borrowed until close; control may be NULL. NOMEM. */
tutti_status tutti_watch_open(const tutti_watch_options *options, tutti_driver *driver,
    tutti_control *control, tutti_watch **watch);
/* Stops the thread, after the last pass. Accepts NULL. */
void tutti_watch_close(tutti_watch *watch);
/* Instead of close, while passes may still run: the watch does nothing more, and its memory stays. Accepts NULL. */
void tutti_watch_silence(tutti_watch *watch);

/* In the driver's pass (comm_lock held): sends queries, and announces an abort. */
void tutti_watch_pass(tutti_watch *watch);
tutti_inquiry *tutti_watch_inquiry(tutti_watch *watch);

#endif
