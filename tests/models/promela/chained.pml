/* Chained: a token in the graph, which every collective node hands on when it has started, and ORDER_READY of
 * designs/driver_start.c: the worker that finds a collective ready and has the token posts it, under the lock of the communicator,
 * which it shares with the comm thread, and its task ends; the node ends with the collective. What happens under the thread's
 * and the queue's lock is one step: nothing is waited for there. */
#include "rank.pml"

bit comm_lock[P];

#define END(seq) :: d_step { !comm_lock[r] && met(r, seq) -> end_entry(r, seq) }

#ifdef POLLS
#define SLEEP
#else
#define SLEEP :: d_step { !R.started && !R.stop -> R.asleep = 1 }; !R.asleep
#endif

/* wait_for_work and pass. While something is in flight it polls; a pass that finds nothing changes nothing and is left out. */
proctype comm_thread(byte r)
{
    do
    SLEEP
    EACH(END)
    :: R.stop -> break
    od;
    R.stopped++
}

#define COMM_THREADS 1
#define START_IN_STEPS

/* The chain is one tensor, so that it orders collectives across steps, too. */
#if defined MUTANT_CHAIN_MISSING
#define chain_allows(r, n) 1
#elif defined MUTANT_CHAIN_EARLY
#define chain_allows(r, n) (n == 0 || (R.handed & (bit_of(n) >> 1)))
#elif defined MUTANT_CHAIN_RESTARTS
#define chain_allows(r, n) (n % K == 0 || (R.linked & (bit_of(n) >> 1)))
#else
#define chain_allows(r, n) (n == 0 || (R.linked & (bit_of(n) >> 1)))
#endif

#define hand_on(r, n) R.linked = R.linked | bit_of(n)

#ifdef MUTANT_WAKE_EARLY
#define wake_early(r) wake(r)
#define wake_late(r) skip
#else
#define wake_early(r) skip
#define wake_late(r) wake(r)
#endif

#ifdef MUTANT_COMM_LOCK_KEPT
#define unlock(r) skip
#else
#define unlock(r) comm_lock[r] = 0
#endif

/* tutti_driver_ready. If the comm thread never sleeps all of it is under one lock, and one step. */
inline start(r, n)
{
#ifdef POLLS
    d_step {
        mark_ready(r, n);
        mark_started(r, R.number[n]);
        post(r, R.number[n]);
        hand_on(r, n);
        leave(w)
    }
#else
    d_step {
        !comm_lock[r] -> comm_lock[r] = 1;
        mark_ready(r, n);
        wake_early(r)
    };
    d_step { mark_started(r, R.number[n]) };
    d_step {
        post(r, R.number[n]);
        unlock(r)
    };
    d_step {
        wake_late(r);
        hand_on(r, n);
        leave(w)
    }
#endif
}

#define wait_for_steps(r) R.ended == ALL

#include "threads.pml"
