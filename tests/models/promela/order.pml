/* What designs/exchange/order.c and designs/queue/queue.c do with an order that ranks agree on.
 *
 *   step 0         collectives 0 ... K - 1, in program order
 *   collective K   rank 0 tells the order
 *   step 1         collectives K + 1 ... 2 K, in that order
 *
 * The order is any in which nothing stands before what it is computed from, drawn at the beginning. A rank knows it when its
 * broadcast has ended; until then it starts nothing of step 1. With WINDOW one collective a lane is in flight before the
 * next of step 1 starts. */
#define ORDERED (ALL & ~below(K + 1))
#define is_ordered(seq) ((seq) > K)

typedef Order {
    byte earlier[N] /* of a collective of step 1: the set of those with an earlier slot */
};
Order told;
#ifdef MUTANT_ORDER_NOT_AGREED
Order own[P];
#endif
byte placed; /* set: those that have a slot already, while one is drawn */
bit known[P];

#ifdef MUTANT_ORDER_AGAINST_DATA
#define LEGAL(n) 1
#else
#define LEGAL(n) ((needs[n] & ORDERED & placed) == (needs[n] & ORDERED))
#endif
#define DRAW(n) \
    :: is_ordered(n) && !(placed & bit_of(n)) && LEGAL(n) -> \
       order.earlier[n] = placed; \
       placed = placed | bit_of(n)

inline draw(order)
{
    placed = 0;
    do
    :: placed == ORDERED -> break
    :: placed != ORDERED ->
        if
        EACH(DRAW)
        fi
    od;
    placed = 0
}

#ifdef MUTANT_ORDER_NOT_AGREED
#define BEGIN draw(told); r = 0; do :: r < P -> draw(own[r]); r++ :: r == P -> break od
#define earlier_slots(r, seq) own[r].earlier[seq]
#elif defined MUTANT_SWITCH_DIFFERS
#define BEGIN draw(told)
#define earlier_slots(r, seq) (r == 0 -> told.earlier[seq] : ORDERED & below(seq))
#elif defined MUTANT_ORDER_NOT_AWAITED
#define BEGIN draw(told)
#define earlier_slots(r, seq) (known[r] -> told.earlier[seq] : ORDERED & below(seq))
#else
#define BEGIN draw(told)
#define earlier_slots(r, seq) told.earlier[seq]
#endif

#ifdef MUTANT_ORDER_NOT_AWAITED
#define may_begin(r) 1
#else
#define may_begin(r) known[r]
#endif

#if defined MUTANT_WINDOW_ACROSS_LANES
#define has_room(r, seq) (!R.started)
#elif defined WINDOW
#define has_room(r, seq) (!(R.started & R.of_lane[R.lane[seq]]))
#else
#define has_room(r, seq) 1
#endif

/* tutti_queue_startable: the first slot of its lane that has not started; a slot whose collective has not been submitted
 * hides those behind it. */
#define waiting(r, seq) ((R.reserved | R.ready) & R.of_lane[R.lane[seq]])
#define earlier_ones(r, seq) (is_ordered(seq) -> (below(K + 1) | earlier_slots(r, seq)) : below(seq))
#define startable(r, seq) \
    ((R.ready & bit_of(seq)) && !(waiting(r, seq) & earlier_ones(r, seq)) && \
     (!is_ordered(seq) || R.next == N && may_begin(r) && has_room(r, seq)) && lane_has_room(r, seq))
#define pass_over(r, seq) skip
/* take_over */
#define ended(r, seq) known[r] = (known[r] || seq == K)
