/* Chained: a token in the graph, which every collective node hands on when it has started, and the start rule "ready" of
 * designs/drive/driver_start.c: the worker that finds a collective ready and has the token posts it, under the lock of the communicator,
 * which it shares with the comm thread, and its task ends; the node ends with the collective. With DEPTH a collective for which
 * there is no room is held, and those behind it with it; the comm thread posts them. What happens under the thread's
 * and the queue's lock is one step: nothing is waited for there. */
#include "rank.pml"

bit comm_lock[P];

#define END(seq) :: d_step { !comm_lock[r] && met(r, seq) -> end_entry(r, seq) }

#ifdef DEPTH
/* What is ready and has not started is held: start_held takes the first. */
#define START(seq) \
    :: d_step { \
           !comm_lock[r] && (R.ready & bit_of(seq)) && !(R.ready & below(seq)) && lane_has_room(r, seq) -> \
           mark_started(r, seq); post(r, seq) \
       }
#define STARTS EACH(START)
#define held(r) R.ready
#else
#define STARTS
#define held(r) 0
#endif

#ifdef POLLS
#define SLEEP
#else
#define SLEEP :: d_step { !R.started && !held(r) && !R.stop -> R.asleep = 1 }; !R.asleep
#endif

/* wait_for_work and pass. While something is in flight it polls; a pass that finds nothing changes nothing and is left out. */
proctype comm_thread(byte r)
{
    do
    SLEEP
    STARTS
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

/* tutti_driver_start_at_once: none starts before one that is held. */
#ifdef MUTANT_HELD_OVERTAKEN
#define none_held(r, seq) 1
#else
#define none_held(r, seq) (!(R.ready & ~bit_of(seq)))
#endif
inline start_at_once(r, seq)
{
#ifdef DEPTH
    if
    :: none_held(r, seq) && lane_has_room(r, seq) -> mark_started(r, seq); post(r, seq)
    :: else
    fi
#else
    mark_started(r, seq);
    post(r, seq)
#endif
}

/* tutti_driver_ready. If the comm thread never sleeps all of it is under one lock, and one step. */
inline start(r, n)
{
#ifdef POLLS
    d_step {
        mark_ready(r, n);
        start_at_once(r, R.number[n]);
        hand_on(r, n);
        leave(w)
    }
#else
    d_step {
        !comm_lock[r] -> comm_lock[r] = 1;
        mark_ready(r, n);
        wake_early(r)
    };
#ifdef DEPTH
    d_step {
        start_at_once(r, R.number[n]);
        unlock(r)
    };
#else
    d_step { mark_started(r, R.number[n]) };
    d_step {
        post(r, R.number[n]);
        unlock(r)
    };
#endif
    d_step {
        wake_late(r);
        hand_on(r, n);
        leave(w)
    }
#endif
}

#define wait_for_steps(r) R.ended == ALL

#include "threads.pml"
