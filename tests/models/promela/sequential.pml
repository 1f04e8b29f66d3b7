/* Sequential, the oracle, the start rule "main" of designs/start.c: one collective at a time, in program order, and only when all that
 * are left of the oldest step are ready. Main drives it while it waits. */
#include "rank.pml"

#define STEP d_step
#define COMM_THREADS 0
#define chain_allows(r, n) 1

inline start(r, n)
{
    mark_ready(r, n)
}

/* tutti_queue_ready_group: from the lowest entry to the end of its step */
#ifdef MUTANT_GROUP_TOO_LONG
#define group(lowest) (below(N) & ~below(lowest))
#else
#define group(lowest) (below((lowest / K + 1) * K) & ~below(lowest))
#endif
#ifdef MUTANT_GROUP_NOT_READY
#define group_ready(r, lowest) 1
#else
#define group_ready(r, lowest) ((R.ready & group(lowest)) == group(lowest))
#endif

/* Entries end in order, so that seq is the lowest when all below have ended. */
#ifdef MUTANT_GROUP_ANY_ORDER
#define next_of_group(r, seq) (!R.started && (R.ready & bit_of(seq)))
#else
#define next_of_group(r, seq) (!R.started && R.ended == below(seq) && group_ready(r, seq))
#endif
#define START(seq) :: d_step { next_of_group(r, seq) -> mark_started(r, seq); post(r, seq) }
#define END(seq) :: d_step { met(r, seq) -> end_entry(r, seq) }

inline wait_for_steps(r)
{
    do
    EACH(START)
    EACH(END)
    :: R.ended == ALL -> break
    od
}

#include "threads.pml"
