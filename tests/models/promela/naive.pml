/* Naive, designs/naive.c: the worker that finds a collective ready starts it and waits for its end. With LANES 1 all share one
 * communicator, in the order of the calls; with LANES K each has its own. It breaks the ordering law, and this model shows
 * how: with one communicator a wrong sum; with K of them a deadlock if W <= K(P-1)/P, and none if W is larger. trail.sh makes
 * a case of the printed lines. */
#include "rank.pml"

#define STEP atomic
#define COMM_THREADS 0
#define chain_allows(r, n) 1

inline start(r, n)
{
    d_step {
        printf("ready %d %d\n", r, n);
        mark_ready(r, n);
        mark_started(r, R.number[n]);
        post(r, R.number[n])
    };
    d_step { met(r, R.number[n]) -> end_entry(r, R.number[n]) }
}

#define wait_for_steps(r) R.ended == ALL

#include "threads.pml"
