/* Groups and edges: designs/drive/driver_part.c, the lanes of designs/exchange/lanes.c, and the start rule "queue" on each.
 *
 *   rank 0   w(A)  u(C) after w  v(B)    x(edge 1)  y(edge 2)        A, B: two groups of ranks 0 and 1
 *   rank 1   v(B)  t(D) after v  w(A)    y(edge 2)  x(edge 1)        C: ranks 0 and 2; D: ranks 1 and 2
 *   rank 2   u(C)  t(D)                                              x, y: messages from rank 0 to rank 1
 *
 * Each rank calls its groups in an order of its own, and S times. "after": the data are computed from the other's result. All
 * else becomes ready at any time. The comm thread starts on each lane what comes next there, and ends what all members have
 * started. A message is matched by (channel, posting number): `post` asserts that those who meet bring the same collective.
 *
 *   ONE_ORDER       a rank starts its collectives in the order of its calls, whatever their groups
 *   EDGE_UNTAGGED   the tag of a message lacks the edge's number
 *   NUMBERS_SHARED  two groups have one number
 *   ALL_AWAITED     a collective of a group waits for all ranks */
#ifndef S
#define S 1
#endif
#define P 3
#define KINDS 6 /* w v u t x y */
#define W 0
#define V 1
#define U 2
#define T 3
#define X 4
#define Y 5

/* Members of each, as a set of ranks; the channel on which its messages travel. */
#define members(c) (c == U -> 5 : (c == T -> 6 : 3))
#define is_member(r, c) ((members(c) >> r) & 1)
#if defined MUTANT_EDGE_UNTAGGED
#define channel(c) (c == Y -> X : c)
#elif defined MUTANT_NUMBERS_SHARED
#define channel(c) (c == V -> W : c)
#else
#define channel(c) (c)
#endif
#ifdef MUTANT_ALL_AWAITED
#define wanted(c) P
#else
#define wanted(c) 2
#endif

/* The place of c among the calls of a step. */
#define place0(c) (c == W -> 0 : (c == U -> 1 : (c == V -> 2 : (c == X -> 3 : 4))))
#define place1(c) (c == V -> 0 : (c == T -> 1 : (c == W -> 2 : (c == Y -> 3 : 4))))
#define place2(c) (c == U -> 0 : 1)
#define place(r, c) (r == 0 -> place0(c) : (r == 1 -> place1(c) : place2(c)))

typedef Rank {
    byte ready[KINDS], started[KINDS], ended[KINDS]; /* how many */
    byte posted[KINDS];                              /* on a channel */
};
Rank rank[P];
#define R rank[r]
byte arrived[KINDS * S * 2], brought[KINDS * S * 2];

/* In ONE_ORDER all calls before this one have started. */
#define before(r, c, o) (!is_member(r, o) || R.started[o] > R.started[c] || \
    (R.started[o] == R.started[c] && place(r, o) > place(r, c)) || o == c)
#ifdef MUTANT_ONE_ORDER
#define in_turn(r, c) (before(r, c, W) && before(r, c, V) && before(r, c, U) && before(r, c, T) && before(r, c, X) && \
    before(r, c, Y))
#else
#define in_turn(r, c) 1
#endif

/* What c is computed from has ended as often. */
#define has_data(r, c) (!(r == 0 && c == U) || R.ended[W] > R.ready[U]) && (!(r == 1 && c == T) || R.ended[V] > R.ready[T])

inline post(r, c)
{
    slot = channel(c) * S * 2 + R.posted[channel(c)];
    R.posted[channel(c)]++;
    assert(arrived[slot] == 0 || brought[slot] == c * S + R.started[c]);
    brought[slot] = c * S + R.started[c];
    arrived[slot]++;
    R.started[c]++;
    slot = 0
}

/* All members have started as many as this rank: the next has ended. */
#define came(c, n) ((rank[0].started[c] > n) + (rank[1].started[c] > n) + (rank[2].started[c] > n))

#define OF(c) \
    :: d_step { is_member(r, c) && R.ready[c] < S && has_data(r, c) -> R.ready[c]++ } \
    :: d_step { is_member(r, c) && R.started[c] < R.ready[c] && in_turn(r, c) -> post(r, c) } \
    :: d_step { is_member(r, c) && R.ended[c] < R.started[c] && came(c, R.ended[c]) >= wanted(c) -> R.ended[c]++ }

#define done(r, c) (!is_member(r, c) || R.ended[c] == S)

proctype drive(byte r)
{
    byte slot;
    do
    OF(W)
    OF(V)
    OF(U)
    OF(T)
    OF(X)
    OF(Y)
    :: done(r, W) && done(r, V) && done(r, U) && done(r, T) && done(r, X) && done(r, Y) -> break
    od
}

init
{
    atomic {
        run drive(0);
        run drive(1);
        run drive(2)
    }
}
