/* Lanes that share device slots: designs/drive/driver_start.c (turns), tests/support/device_slots.c (the device slots of a device).
 *
 *   all ranks      a(lane 0)  b(lane 1)  e(lane 0)       a rank's program, and the order in which it starts: a c b d g e,
 *   ranks 0 and 1  c                                     of these what it takes part in
 *   ranks 1 and 2  d
 *   ranks 2 and 0  g, computed from c on rank 0
 *   ranks 0 and 1  messages w and v, on edges aside: rank 0 calls w first and v last, rank 1 the other way round, and a is
 *                  computed from w on rank 0, and from v on rank 1
 *
 * What is ready starts when all that precedes it in the rank's program has started, whatever its lane or group; it goes to the
 * end of its rank's line. The first SLOTS of a line sit. What sits on all its ranks leaves all its device slots, and has ended. A
 * message has no turn, takes no device slot, and has ended when both ranks have started it.
 *
 *   LANES_APART     a rank starts what is ready; only each lane, and each group, has an order
 *   GROUPS_APART    a group does not wait for its turn; all lanes of all ranks have one order
 *   EDGES_IN_TURN   a message waits for its turn, too
 *   PROGRAMS_DIFFER rank 1 calls d before c, rank 2 g before d, rank 0 c before g: no order agrees with all of these */
#ifndef SLOTS
#define SLOTS 1
#endif
#define P 3
#define KINDS 8
#define A 0
#define C 1
#define B 2
#define D 3
#define G 4
#define E 5
#define W 6
#define V 7

/* Members, as a set of ranks. */
#define members(c) (c == C || c >= W -> 3 : (c == D -> 6 : (c == G -> 5 : 7)))
#define is_member(r, c) ((members(c) >> r) & 1)

/* The place of c in a rank's program. */
#ifdef MUTANT_PROGRAMS_DIFFER
#define turn(r, c) (r == 1 && c == C -> D : (r == 1 && c == D -> C : (r == 2 && c == D -> G : (r == 2 && c == G -> D : c))))
#else
#define turn(r, c) c
#endif

typedef Rank {
    byte ready;      /* set */
    byte starts;     /* how many */
    byte when[KINDS] /* its number among the starts, from 1; 0: it has not started */
};
Rank rank[P];
#define R rank[r]
byte left; /* set: collectives that have left their device slots */

#define bit_of(c) (1 << c)
#define has_left(c) (left & bit_of(c))

#define has_started(r, o) (!is_member(r, o) || R.when[o])
#if defined MUTANT_LANES_APART
#define waits_for(r, c, o) (c == E && o == A)
#elif defined MUTANT_GROUPS_APART
#define waits_for(r, c, o) (turn(r, o) < turn(r, c) && members(o) == members(c))
#else
#define waits_for(r, c, o) (turn(r, o) < turn(r, c))
#endif
#define before(r, c, o) (!waits_for(r, c, o) || has_started(r, o))
#define in_turn(r, c) (before(r, c, A) && before(r, c, B) && before(r, c, C) && before(r, c, D) && before(r, c, G) && before(r, c, E))

/* What stands before c in its line; whether it sits. */
#define is_ahead(r, c, o) (rank[r].when[o] && rank[r].when[o] < rank[r].when[c] && !has_left(o))
#define ahead(r, c) (is_ahead(r, c, A) + is_ahead(r, c, B) + is_ahead(r, c, C) + is_ahead(r, c, D) + is_ahead(r, c, G) + \
    is_ahead(r, c, E))
#define sits(r, c) (!is_member(r, c) || (rank[r].when[c] && ahead(r, c) < SLOTS))

#define has_data(r, c) ((!(r == 0 && c == G) || has_left(C)) && (!(r == 0 && c == A) || has_left(W)) && \
    (!(r == 1 && c == A) || has_left(V)))

#ifdef MUTANT_EDGES_IN_TURN
#define is_first(r, c) ((r == 0 && c == W) || (r == 1 && c == V))
#define may_start(r, c) (is_first(r, c) || (has_started(r, A) && has_started(r, B) && has_started(r, C) && \
    has_started(r, D) && has_started(r, G) && has_started(r, E)))
#else
#define may_start(r, c) true
#endif
#define MESSAGE(c) :: d_step { is_member(r, c) && !R.when[c] && may_start(r, c) -> R.when[c] = 1 }

#define OF(c) \
    :: d_step { is_member(r, c) && !(R.ready & bit_of(c)) && has_data(r, c) -> R.ready = R.ready | bit_of(c) } \
    :: d_step { (R.ready & bit_of(c)) && !R.when[c] && in_turn(r, c) -> R.starts++; R.when[c] = R.starts }

#define done(r, c) (!is_member(r, c) || has_left(c))

proctype drive(byte r)
{
    do
    OF(A)
    OF(B)
    OF(C)
    OF(D)
    OF(G)
    OF(E)
    MESSAGE(W)
    MESSAGE(V)
    :: done(r, A) && done(r, B) && done(r, C) && done(r, D) && done(r, G) && done(r, E) && done(r, W) && done(r, V) -> break
    od
}

#define ARRIVE(c) :: d_step { !has_left(c) && rank[0].when[c] && rank[1].when[c] -> left = left | bit_of(c) }
#define LEAVE(c) :: d_step { !has_left(c) && sits(0, c) && sits(1, c) && sits(2, c) -> left = left | bit_of(c) }

proctype devices()
{
    do
    LEAVE(A)
    LEAVE(B)
    LEAVE(C)
    LEAVE(D)
    LEAVE(G)
    LEAVE(E)
    ARRIVE(W)
    ARRIVE(V)
    :: left == bit_of(KINDS) - 1 -> break
    od
}

init
{
    atomic {
        run devices();
        run drive(0);
        run drive(1);
        run drive(2)
    }
}
