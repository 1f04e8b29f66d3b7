/* A pipeline: dag/step/units.c and dag/step/messages.c on three stages, their edges as lanes, and what a graph makes of slots.
 *
 *   stage 0       stage 1       stage 2
 *     x ----X1----> x                          x is read by stages 1 and 2: X2 skips stage 1
 *     x -----------X2-----------> x
 *                   y ----Y-----> y
 *                  dy <---DY---- dy            gradients; to that of x stage 1 adds what it contributes itself
 *                  ex <---EX---- ex
 *    dx <---DX---- dx
 *
 * M micro-batches. Each stage has slots for what forward leaves for backward: with 1f1b as many as there are stages from its
 * own on (EAGER: twice as many less one), with GPIPE M, or SLOTS. Micro-batch m has slot m mod their number. A stage emits its passes in the order of
 * dag/step/units.h. A pass is one step, as kernels wait for nobody. Each side starts a message in a step of its own.
 *
 * What waits for what is what a graph makes of the order of emission: who reads waits for all that wrote the slot earlier in
 * that order, who writes for all that wrote or read it. That a slot is free stands nowhere.
 *
 * Each edge is a lane. On it funneled, concurrent and chained start what comes next as soon as it is ready; with DEPTH all
 * before it must have ended, as in sequential. (Becoming ready is no step of its own: only the start could tell.) A message
 * ends once both sides have started it, on both at once; with FINE on each for itself.
 *
 * It asserts that whoever reads finds what belongs to its micro-batch, that nobody writes what a message still reads or fills,
 * and that messages which meet are the same one.
 *
 *   FREED_EARLY    a slot is free when what lies in it has been sent
 *   ONE_MORE       1f1b has one micro-batch more in flight than there are slots
 *   SENT_EARLY     a gradient is passed on before the stage has added to it
 *   EDGE_UNTAGGED  tensors between the same two stages share an edge
 *   TURNS_DIFFER   gradients are received from the first micro-batch on, in whatever order they are sent
 *   DEPTH_SHARED   what is in flight on one edge holds back another
 *   ONE_BY_ONE     a rank's messages wait for each other's end, in the order of emission */
#ifndef M
#define M 4
#endif
#define S 3
#define EDGES 6
#define X1 0
#define X2 1
#define Y 2
#define DY 3
#define EX 4
#define DX 5

#ifdef SLOTS
#define slots(s) SLOTS
#elif defined GPIPE
#define slots(s) M
#elif defined EAGER
#define slots(s) ((2 * (S - s) - 1 < M -> 2 * (S - s) - 1 : M))
#else
#define slots(s) (S - s)
#endif
#ifdef MUTANT_ONE_MORE
#define in_flight(s) (slots(s) + 1)
#else
#define in_flight(s) slots(s)
#endif

/* Sets of micro-batches are bits. */
#define one(m) (1 << (m))
#define has(set, m) ((set >> (m)) & 1)
#define ALL (one(M) - 1)
#define below(n) (((n) <= 0 -> 0 : ((n) >= M -> ALL : one(n) - 1)))
#define sharing(s, m) (15 & ((slots(s) == 1 -> 15 : (slots(s) == 2 -> 5 : (slots(s) == 3 -> 9 : 1))) << (m % slots(s))))

/* The passes that are emitted before that of micro-batch m: ups before up, downs before up, ups before down, downs before
 * down. */
#define up_up(m) below(m)
#ifdef GPIPE
#define down_up(s, m) 0
#define up_down(s, m) ALL
#define down_down(m) (ALL - below(m + 1))
#else
#define down_up(s, m) below(m - in_flight(s) + 1)
#define up_down(s, m) below(m + in_flight(s))
#define down_down(m) below(m)
#endif
#ifdef MUTANT_FREED_EARLY
#define waits_for_downs(s, m) 0
#else
#define waits_for_downs(s, m) down_up(s, m)
#endif

/* What has ended: passes of a stage; of an edge's messages, what each side has started and ended. */
byte up[S], down[S];
byte sent[EDGES], left[EDGES], posted[EDGES], come[EDGES];

/* Whether all that is emitted earlier in this slot, and conflicts, has ended. */
#define covers(set, of) (((of) & ~(set)) == 0)
#define may_write_up(s, m, wrote, read_up, read_down) \
    (covers(wrote & read_up, sharing(s, m) & up_up(m)) && covers(read_down, sharing(s, m) & waits_for_downs(s, m)))
#define may_read_up(s, m, wrote) covers(wrote, sharing(s, m) & (up_up(m) | one(m)))
#define may_read_down(s, m, wrote) covers(wrote, sharing(s, m) & up_down(s, m))
#define may_write_down(s, m, used) covers(used, sharing(s, m) & down_down(m))
#define may_take_down(s, m, wrote) covers(wrote, sharing(s, m) & (down_down(m) | one(m)))

/* Tensors: whose value a slot holds, as m + 1. */
#define TENSORS 11
#define x0 0
#define x1 1
#define y1 2
#define x2 3
#define y2 4
#define dy2 5
#define ex2 6
#define dy1 7
#define ex1 8
#define dx1 9
#define dx0 10
byte value[TENSORS * M];
#define of(t, s, m) value[t * M + m % slots(s)]
#define holds(t, s, m) (of(t, s, m) == m + 1)

/* Messages from or to this slot that are under way. */
#define sending(e, s, m) (sharing(s, m) & sent[e] & ~left[e])
#define filling(e, s, m) (sharing(s, m) & posted[e] & ~come[e])

/* The n-th message that a side posts on a channel meets the n-th of the other side. */
#ifdef MUTANT_EDGE_UNTAGGED
#define channel(e) (e == X2 -> X2 : (e == EX -> DY : e))
#else
#define channel(e) (e)
#endif
#define SENDER 0
#define RECEIVER 1
byte count[EDGES * 2], met[EDGES * M * 2];
inline meet(e, m, side)
{
    at = channel(e) * M * 2 + count[channel(e) * 2 + side];
    count[channel(e) * 2 + side]++;
    assert(met[at] == 0 || met[at] == e * M + m + 1);
    met[at] = e * M + m + 1;
    at = 0
}

/* What precedes m among the messages of an edge, on the sender's and on the receiver's side. */
#define is_gradient(e) (e >= DY)
#define precede(e, m) (is_gradient(e) -> down_down(m) : up_up(m))
#ifdef MUTANT_TURNS_DIFFER
#define precede_there(e, m) up_up(m)
#else
#define precede_there(e, m) precede(e, m)
#endif

#ifdef DEPTH
#define in_turn(started, ended, before) covers(ended, before)
#else
#define in_turn(started, ended, before) covers(started, before)
#endif

/* What else holds back a message of this rank: nothing. */
#ifdef MUTANT_DEPTH_SHARED
#define idle(s) (s == 0 -> sent[X1] == left[X1] && sent[X2] == left[X2] && posted[DX] == come[DX] : \
    (s == 1 -> posted[X1] == come[X1] && sent[Y] == left[Y] && posted[DY] == come[DY] && posted[EX] == come[EX] && \
        sent[DX] == left[DX] : posted[X2] == come[X2] && posted[Y] == come[Y] && sent[DY] == left[DY] && sent[EX] == left[EX]))
#else
#define idle(s) 1
#endif
#ifdef MUTANT_ONE_BY_ONE
/* Those of this rank in ups and downs, in the order in which a pass names them. */
#define ups(s) (s == 0 -> left[X1] & left[X2] : (s == 1 -> come[X1] & left[Y] : come[X2] & come[Y]))
#define downs(s) (s == 0 -> come[DX] : (s == 1 -> come[DY] & come[EX] & left[DX] : left[DY] & left[EX]))
#define earlier(e, s, m) (e == X1 || (e == X2 && s == 2) || e == DY || (e == DX && s == 0) -> ALL : (e == X2 -> left[X1] : \
    (e == Y && s == 1 -> come[X1] : (e == Y -> come[X2] : (e == EX && s == 1 -> come[DY] : (e == EX -> left[DY] : come[DY] & come[EX]))))))
#define follows(e, s, m) (has(earlier(e, s, m), m) && (is_gradient(e) -> \
    covers(ups(s), up_down(s, m)) && covers(downs(s), down_down(m)) : covers(ups(s), up_up(m)) && covers(downs(s), down_up(s, m))))
#else
#define follows(e, s, m) 1
#endif

/* The end of a message, on both sides at once, or (FINE) each on its own. */
#ifdef FINE
#define SENDER_ENDS(e, m) \
    :: d_step { m < M && has(sent[e], m) && has(posted[e], m) && !has(left[e], m) -> left[e] = left[e] | one(m) }
#define also_sender(e, m) skip
#else
#define SENDER_ENDS(e, m)
#define also_sender(e, m) left[e] = left[e] | one(m)
#endif

/* Steps. */
#define SEND(e, s, m, t, may_read) \
    :: d_step { m < M && !has(sent[e], m) && in_turn(sent[e], left[e], precede(e, m)) && idle(s) && follows(e, s, m) && may_read -> \
           assert(holds(t, s, m)); meet(e, m, SENDER); sent[e] = sent[e] | one(m) } \
    SENDER_ENDS(e, m)
#define RECEIVE(e, s, m, t, may_write) \
    :: d_step { m < M && !has(posted[e], m) && in_turn(posted[e], come[e], precede_there(e, m)) && idle(s) && follows(e, s, m) && \
           may_write -> assert(!filling(e, s, m)); of(t, s, m) = 0; \
           meet(e, m, RECEIVER); posted[e] = posted[e] | one(m) } \
    :: d_step { m < M && has(posted[e], m) && !has(come[e], m) && has(sent[e], m) -> \
           of(t, s, m) = m + 1; come[e] = come[e] | one(m); also_sender(e, m) }

#ifdef MUTANT_SENT_EARLY
#define added(m) may_take_down(1, m, come[EX])
#else
#define added(m) may_take_down(1, m, down[1])
#endif

#define STAGE0(m) \
    :: d_step { m < M && !has(up[0], m) && may_write_up(0, m, up[0], left[X1] & left[X2], down[0]) -> \
           assert(!sending(X1, 0, m) && !sending(X2, 0, m)); of(x0, 0, m) = m + 1; up[0] = up[0] | one(m) } \
    SEND(X1, 0, m, x0, may_read_up(0, m, up[0])) \
    SEND(X2, 0, m, x0, may_read_up(0, m, up[0])) \
    RECEIVE(DX, 0, m, dx0, may_write_down(0, m, come[DX] & down[0])) \
    :: d_step { m < M && !has(down[0], m) && may_read_down(0, m, up[0]) && may_take_down(0, m, come[DX]) -> \
           assert(holds(x0, 0, m) && holds(dx0, 0, m)); down[0] = down[0] | one(m) }

#define STAGE1(m) \
    RECEIVE(X1, 1, m, x1, may_write_up(1, m, come[X1], up[1], down[1])) \
    :: d_step { m < M && !has(up[1], m) && may_read_up(1, m, come[X1]) && may_write_up(1, m, up[1], left[Y], down[1]) -> \
           assert(holds(x1, 1, m) && !sending(Y, 1, m)); of(y1, 1, m) = m + 1; up[1] = up[1] | one(m) } \
    SEND(Y, 1, m, y1, may_read_up(1, m, up[1])) \
    RECEIVE(DY, 1, m, dy1, may_write_down(1, m, come[DY] & down[1])) \
    RECEIVE(EX, 1, m, ex1, may_write_down(1, m, come[EX] & down[1])) \
    :: d_step { m < M && !has(down[1], m) && may_read_down(1, m, come[X1] & up[1]) && may_take_down(1, m, come[DY] & come[EX]) && \
           may_write_down(1, m, down[1] & left[DX]) -> \
           assert(holds(x1, 1, m) && holds(y1, 1, m) && holds(dy1, 1, m) && holds(ex1, 1, m) && !sending(DX, 1, m)); \
           of(dx1, 1, m) = m + 1; down[1] = down[1] | one(m) } \
    SEND(DX, 1, m, dx1, added(m))

#define STAGE2(m) \
    RECEIVE(X2, 2, m, x2, may_write_up(2, m, come[X2], up[2], down[2])) \
    RECEIVE(Y, 2, m, y2, may_write_up(2, m, come[Y], up[2], down[2])) \
    :: d_step { m < M && !has(up[2], m) && may_read_up(2, m, come[X2] & come[Y]) -> \
           assert(holds(x2, 2, m) && holds(y2, 2, m)); up[2] = up[2] | one(m) } \
    :: d_step { m < M && !has(down[2], m) && has(up[2], m) && may_read_down(2, m, come[X2] & come[Y]) && \
           may_write_down(2, m, down[2] & left[DY] & left[EX]) -> \
           assert(holds(x2, 2, m) && holds(y2, 2, m) && !sending(DY, 2, m) && !sending(EX, 2, m)); \
           of(dy2, 2, m) = m + 1; of(ex2, 2, m) = m + 1; down[2] = down[2] | one(m) } \
    SEND(DY, 2, m, dy2, may_take_down(2, m, down[2])) \
    SEND(EX, 2, m, ex2, may_take_down(2, m, down[2]))

#define RUN(STAGE, s, last) \
    byte at; \
    do \
    STAGE(0) \
    STAGE(1) \
    STAGE(2) \
    STAGE(3) \
    :: down[s] == ALL && last -> break \
    od

proctype stage0() { RUN(STAGE0, 0, 1) }
proctype stage1() { RUN(STAGE1, 1, left[DX] == ALL) }
proctype stage2() { RUN(STAGE2, 2, (left[DY] & left[EX]) == ALL) }

init
{
    atomic {
        run stage0();
        run stage1();
        run stage2()
    }
}
