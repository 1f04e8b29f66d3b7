/* The threads of every rank that are the same in all designs: workers and main. A design says how a worker runs
 * `start`: in one STEP, which is d_step, or atomic if it waits at its end; or START_IN_STEPS, so that others come
 * between; the last of them leaves the worker. */

/* Workers are alike: of those that are free the first takes the next task. */
#define free(r, w) ((R.busy & below(w)) == below(w))
#define can_compute(r, n) \
    (n < R.submitted && !(R.taken & bit_of(n)) && (needs[n] & R.ended) == needs[n])
#define can_start(r, n) ((R.computed & bit_of(n)) && !(R.handed & bit_of(n)) && chain_allows(r, n))
#define compute_taken(n) R.taken = R.taken | bit_of(n)
#define compute_ended(n) R.computed = R.computed | bit_of(n)
#define task_taken(n) R.handed = R.handed | bit_of(n)

#if defined FINE
/* A worker takes a task in one step and ends it in another. */
#define COMPUTE(n) \
    :: d_step { free(r, w) && can_compute(r, n) -> compute_taken(n); occupy(w) }; \
       d_step { compute_ended(n); leave(w) }
#define COLLECTIVE(n) \
    :: d_step { free(r, w) && can_start(r, n) -> task_taken(n); occupy(w) }; \
       RUN(n)
#elif defined START_IN_STEPS
/* A kernel waits for nobody: one step. */
#define COMPUTE(n) :: d_step { free(r, w) && can_compute(r, n) -> compute_taken(n); compute_ended(n) }
#define COLLECTIVE(n) :: d_step { free(r, w) && can_start(r, n) -> task_taken(n); occupy(w) }; RUN(n)
#else
/* It is seen by nobody before its collective is: both are one step. */
#define COMPUTE(n)
#define COLLECTIVE(n) \
    :: STEP { \
           free(r, w) && can_compute(r, n) && chain_allows(r, n) -> \
           compute_taken(n); compute_ended(n); task_taken(n); occupy(w); \
           start(r, n); \
           leave(w) \
       }
#endif

#ifdef START_IN_STEPS
#define RUN(n) start(r, n)
#else
#define RUN(n) STEP { start(r, n); leave(w) }
#endif

proctype worker(byte r; byte w)
{
end_free:
    do
    EACH(COMPUTE)
    EACH(COLLECTIVE)
    od
}

#ifdef MUTANT_SEQUENCE_AT_READY
#define RESERVE(r, n) skip
#else
#define RESERVE(r, n) reserve(r, n)
#endif

/* Submits, in program order, all steps at once; waits for them; stops the comm thread. */
proctype main_thread(byte r)
{
    do
    :: atomic {
           R.submitted < N ->
           do
           :: RESERVE(r, R.submitted);
              R.submitted++;
              if
              :: SUBMITTED_TOGETHER -> break
              :: else
              fi
           od
       }
    :: R.submitted == N -> break
    od;
#ifdef MUTANT_LEAVES_EARLY
    if
    :: r == 0 -> wait_for_steps(r)
    :: else
    fi;
#else
    wait_for_steps(r);
#endif
#if COMM_THREADS > 0
    d_step {
        R.stop = 1;
        wake(r)
    };
    R.stopped == COMM_THREADS
#endif
}

#ifndef BEGIN
#define BEGIN skip
#endif

init
{
    byte r, w;
    atomic {
        w = 0;
        do
        :: w < N ->
            if
            :: earlier(w) >= 0 -> needs[w] = bit_of(earlier(w))
            :: else
            fi;
#ifdef GRAPHS
            r = 0;
            do
            :: r < w -> r++
            :: r < w -> needs[w] = needs[w] | bit_of(r); r++
            :: r == w -> break
            od;
#endif
            w++
        :: w == N -> break
        od;
        BEGIN;
        r = 0;
        do
        :: r < P ->
            run main_thread(r);
#if COMM_THREADS > 0
            w = 0;
            do
            :: w < COMM_THREADS -> run comm_thread(r); w++
            :: w == COMM_THREADS -> break
            od;
#endif
            w = 0;
            do
            :: w < W -> run worker(r, w); w++
            :: w == W -> break
            od;
            r++
        :: r == P -> break
        od
    }
}
