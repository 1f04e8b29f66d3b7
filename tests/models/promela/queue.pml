/* The start rule "queue" of designs/start.c: the comm thread starts collectives, each lane in sequence order. Funneled, concurrent;
 * with AGREES a step follows an order that ranks agree on; with GRANTS what rank 0 grants. */
#include "rank.pml"

#if defined AGREES
#include "order.pml"
#elif defined GRANTS
#include "grant.pml"
#else
/* tutti_queue_startable: of what its lane waits for, from the cursor, the first, if it is ready. */
#ifdef MUTANT_CURSOR_SKIPS_RESERVED
#define of_interest(r) R.ready
#else
#define of_interest(r) (R.reserved | R.ready)
#endif
#define waiting(r, seq) (of_interest(r) & R.of_lane[R.lane[seq]] & ~below(R.cursor[R.lane[seq]]))
#ifdef MUTANT_READY_ORDER
#define startable(r, seq) (R.ready & bit_of(seq))
#else
#define startable(r, seq) \
    ((R.ready & waiting(r, seq) & bit_of(seq)) && !(waiting(r, seq) & below(seq)) && lane_has_room(r, seq))
#endif

#define pass_over(r, seq) R.cursor[R.lane[seq]] = seq + 1
#define ended(r, seq) skip
#endif

#define or_startable(seq) || startable(r, seq)
#define any_startable(r) (0 EACH(or_startable))

/* start_in_sequence: one step, because meanwhile others only reserve and make ready. */
#if defined MUTANT_TWO_THREADS
#define START(seq) \
    :: d_step { startable(r, seq) -> pass_over(r, seq); mark_started(r, seq); taken = seq }; \
       d_step { post(r, taken); taken = 0 }
#define TAKEN byte taken;
#elif defined MUTANT_BLOCKING_LANES
#define START(seq) \
    :: d_step { startable(r, seq) -> pass_over(r, seq); mark_started(r, seq); post(r, seq) }; \
       met(r, seq)
#define TAKEN
#else
#define START(seq) \
    :: d_step { startable(r, seq) -> pass_over(r, seq); mark_started(r, seq); post(r, seq) }
#define TAKEN
#endif
/* end_done */
#define END(seq) :: d_step { met(r, seq) -> end_entry(r, seq); ended(r, seq) }

/* wait_for_work: while something is in flight the thread polls; otherwise it looks and falls asleep under one lock. */
#ifdef MUTANT_SLEEPS_IN_FLIGHT
#define idle(r) (!any_startable(r) && !R.stop)
#else
#define idle(r) (!any_startable(r) && !R.started && !R.stop)
#endif
#if defined POLLS
#define SLEEP
#elif defined MUTANT_LOST_WAKE
#define SLEEP :: idle(r); R.asleep = 1; !R.asleep
#else
#define SLEEP :: d_step { idle(r) -> R.asleep = 1 }; !R.asleep
#endif

#ifndef GRANTING
#define GRANTING
#endif

proctype comm_thread(byte r)
{
    TAKEN
    do
    EACH(START)
    EACH(END)
    GRANTING
    SLEEP
    :: R.stop -> break
    od;
    R.stopped++
}

#ifdef MUTANT_TWO_THREADS
#define COMM_THREADS 2
#else
#define COMM_THREADS 1
#endif
#define chain_allows(r, n) 1

/* The worker goes on at once. */
#ifdef MUTANT_BLOCKING_START
#define STEP atomic
#define HELD(r, n) R.ended & bit_of(n)
#else
#define STEP d_step
#define HELD(r, n) skip
#endif
inline start(r, n)
{
    mark_ready(r, n);
    wake(r);
    HELD(r, n)
}

#define wait_for_steps(r) R.ended == ALL

#include "threads.pml"
