/* What the models of all designs share: P ranks, each with a main thread that submits S steps of K collectives, and W
 * workers that run the tasks in any legal order. A design's model includes this file (the state), says what a worker does
 * with a ready collective (`start`) and what the comm thread does, and includes threads.pml (workers and main).
 * -DMUTANT_name breaks one thing; mutants.txt says which.
 *
 *   program   for each step, for each i < K:   compute n = step * K + i;   collective n
 *   edges     compute n -> collective n -> compute n + K (the same tensor, one step later), and, with GRAPHS, any set of
 *             edges collective m -> compute n, m < n, the same on every rank
 *   sums      a message is matched by (lane, posting number on that lane), as in collectives/comm.c: `post` asserts that
 *             the ranks that meet there bring the same collective
 *
 * With AGREES (ordered.pml) collective K, between the first step and the second, is the broadcast of an order (what rank 0
 * makes it of comes by an allreduce before it, a collective like any other); the edges above lead from compute n to
 * collective n + K + 1.
 *
 * dag/run/starpu.c: a worker takes a task whose predecessors have ended; a collective node has ended when its token is
 * finished. designs/queue/queue.c: entries by sequence number. */
#ifndef P
#define P 3
#endif
#ifndef K
#define K 4
#endif
#ifndef S
#define S 1
#endif
#ifndef W
#define W 2
#endif
#ifndef LANES
#define LANES 1
#endif
/* Main reserves a whole step, or with FINE a single node, without a pause. To all others an entry that is not reserved yet
 * and one that is reserved but not ready are the same. */
#ifdef AGREES
#define N (K * S + 1)
#define index_of(n) (((n) - ((n) > K)) % K)
#define earlier(n) ((n) > K -> (n) - K - 1 : -1) /* the same tensor's, a step before */
#define STEP_SUBMITTED (R.submitted == K || R.submitted == N)
#else
#define N (K * S)
#define index_of(n) ((n) % K)
#define earlier(n) ((n) >= K -> (n) - K : -1) /* the same tensor's, a step before */
#define STEP_SUBMITTED (R.submitted % K == 0)
#endif
#ifdef FINE
#define SUBMITTED_TOGETHER 1
#else
#define SUBMITTED_TOGETHER STEP_SUBMITTED
#endif
#define ALL ((1 << N) - 1)

/* tutti_comm_has_room: with DEPTH one collective a lane is in flight before the next starts. */
#if defined MUTANT_DEPTH_ACROSS_LANES
#define lane_has_room(r, seq) (!R.started)
#elif defined DEPTH
#define lane_has_room(r, seq) (!(R.started & R.of_lane[R.lane[seq]]))
#else
#define lane_has_room(r, seq) 1
#endif

/* X(0) X(1) ... X(N - 1) */
#define EACH1(X) X(0)
#define EACH2(X) EACH1(X) X(1)
#define EACH3(X) EACH2(X) X(2)
#define EACH4(X) EACH3(X) X(3)
#define EACH5(X) EACH4(X) X(4)
#define EACH6(X) EACH5(X) X(5)
#define EACH7(X) EACH6(X) X(6)
#define EACH8(X) EACH7(X) X(7)
#if N == 1
#define EACH(X) EACH1(X)
#elif N == 2
#define EACH(X) EACH2(X)
#elif N == 3
#define EACH(X) EACH3(X)
#elif N == 4
#define EACH(X) EACH4(X)
#elif N == 5
#define EACH(X) EACH5(X)
#elif N == 6
#define EACH(X) EACH6(X)
#elif N == 7
#define EACH(X) EACH7(X)
#elif N == 8
#define EACH(X) EACH8(X)
#else
#error "collectives in all: 1 to 8"
#endif

#define bit_of(n) (1 << (n))
#define below(n) ((1 << (n)) - 1)

/* Sets are bytes: bit n is collective n, or sequence number n. */
typedef Rank {
    /* the task graph */
    byte submitted; /* how many */
    byte taken;     /* set: a worker has taken compute n */
    byte computed;  /* set: compute n has ended */
    byte handed;    /* set: the task of collective n has run */
    byte ended;     /* set: the token of collective n is finished */
    byte linked;    /* set: collective n has handed the chain's token on */
    byte busy;      /* set: of workers */
    byte number[N]; /* of collective n: its sequence number */
    /* designs/queue/queue.h: entries by sequence number, and those in each state */
    byte node[N], lane[N], slot[N]; /* whose arguments and token; where it is posted */
    byte reserved, ready, started;
    byte of_lane[LANES]; /* set: entries of the lane */
    byte cursor[LANES];  /* entries of the lane below are not looked at any more */
    byte next;           /* sequence number */
    /* designs/thread/comm_thread.c */
#ifdef MUTANT_LANE_BY_READINESS
    byte readied;
#endif
    bit asleep; /* the comm thread waits for a signal */
    bit stop;
    byte stopped; /* threads */
    /* collectives/comm.c */
    byte posted[LANES] /* the next posting number */
};

Rank rank[P];
#define R rank[r]

byte needs[N]; /* set of collectives that must have ended before compute n */

/* A lane is a communicator. */
#ifdef MUTANT_ONE_COMMUNICATOR
#define COMMUNICATOR(seq) 0
#else
#define COMMUNICATOR(seq) R.lane[seq]
#endif

/* The network: who has come to a posting number of a lane, and with what. */
byte arrived[LANES * N], brought[LANES * N];

/* Whoever reads the tensor next must find the sum. */
inline finish_token(r, seq)
{
    assert(arrived[R.slot[seq]] == P);
    R.ended = R.ended | bit_of(R.node[seq])
}

/* tutti_coll_post, and the entry's state: nonblocking. The assertions are the right sum: all bring the same collective,
 * and its data have been computed. */
inline post(r, seq)
{
    R.slot[seq] = COMMUNICATOR(seq) * N + R.posted[COMMUNICATOR(seq)];
    R.posted[COMMUNICATOR(seq)]++;
    assert(arrived[R.slot[seq]] == 0 || brought[R.slot[seq]] == R.node[seq]);
    assert(R.computed & bit_of(R.node[seq]));
    brought[R.slot[seq]] = R.node[seq];
    arrived[R.slot[seq]]++;
#ifdef MUTANT_TOKEN_AT_POST
    finish_token(r, seq)
#endif
}

inline mark_started(r, seq)
{
    R.ready = R.ready & ~bit_of(seq);
    R.started = R.started | bit_of(seq)
}

/* All ranks have come: its messages may have arrived. */
#define met(r, seq) ((R.started & bit_of(seq)) && arrived[R.slot[seq]] == P)

/* end_entry */
inline end_entry(r, seq)
{
    R.started = R.started & ~bit_of(seq);
#if !defined MUTANT_TOKEN_DROPPED && !defined MUTANT_TOKEN_AT_POST
    finish_token(r, seq)
#endif
}

inline wake(r)
{
#ifdef MUTANT_NO_WAKE
    skip
#else
    R.asleep = 0
#endif
}

/* tutti_queue_reserve */
inline reserve(r, n)
{
#ifdef MUTANT_SEQUENCE_RESTARTS
    if
    :: n % K == 0 -> R.next = 0; R.cursor[0] = 0
    :: else
    fi;
#endif
    R.number[n] = R.next;
    R.node[R.next] = n;
#ifdef MUTANT_LANES_DIFFER
    R.lane[R.next] = (r == 0 -> index_of(n) % LANES : 0);
#else
    R.lane[R.next] = index_of(n) % LANES;
#endif
    R.of_lane[R.lane[R.next]] = R.of_lane[R.lane[R.next]] | bit_of(R.next);
    R.reserved = R.reserved | bit_of(R.next);
    R.next++
}

/* The first half of tutti_driver_ready */
inline mark_ready(r, n)
{
#ifdef MUTANT_SEQUENCE_AT_READY
    reserve(r, n);
#endif
#ifdef MUTANT_LANE_BY_READINESS
    R.of_lane[R.lane[R.number[n]]] = R.of_lane[R.lane[R.number[n]]] & ~bit_of(R.number[n]);
    R.lane[R.number[n]] = R.readied % LANES;
    R.of_lane[R.lane[R.number[n]]] = R.of_lane[R.lane[R.number[n]]] | bit_of(R.number[n]);
    R.readied++;
#endif
    R.reserved = R.reserved & ~bit_of(R.number[n]);
    R.ready = R.ready | bit_of(R.number[n])
}

/* Workers, by number */
#define occupy(w) R.busy = R.busy | bit_of(w)
#define leave(w) R.busy = R.busy & ~bit_of(w)
