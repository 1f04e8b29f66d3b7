/* A server of K keys and its clients (designs/kv): the ledger of each key (push_ledger.h) step by step, and what a client's groups
 * make of the order of its calls.
 *
 * A client pushes every key and pulls it, in rounds, and begins with another key than the others: client c's call i is about
 * key (i + c) mod K. A round's pushes wait for all pulls of the round before, which its data are computed from. Data arrive
 * per key in the order in which they were sent, and between keys in any. Pulls are answered one by one, in any order that
 * the ledger permits; a client takes the answers in the order of its calls, as the broadcasts of its group stand in one
 * lane. After its last answer it leaves. Client c makes ROUNDS rounds, or, with UNEVEN, c fewer than that.
 *
 * With MORTAL, client 0 may die once, at any time. What it had sent arrives, or is dropped; only then is it buried: its pulls are
 * dropped, and nobody waits for it. Then it may return: it begins with as many pushes as the slowest of the others, and makes all
 * of its calls. In sync its death ends the run.
 *
 * ASYNC and BOUNDED=s are the types; without, sync. It asserts that a round of sync has one push of every client that has not
 * left, in the order of clients; that no answer is early; and that who goes on is not too far ahead of the slowest.
 *
 *   REPLY_EARLY       a pull is answered before its own push was added
 *   HOLDS_SLOWEST     a pull also waits until no other client is behind
 *   BYE_NOT_COUNTED   a client that has left is waited for
 *   ARRIVAL_ORDER     pushes are added as they come
 *   ADDED_TWICE       a push that came before a round is in it, and in the next
 *   ONE_GROUP         a client's pushes and pulls stand in one lane
 *   DEATH_UNTOLD      in sync the others are not told that the run is over
 *   DEATH_NOT_COUNTED a client that has died is waited for
 *   RETURNS_EARLY     a client returns while something of its earlier life is on its way
 *   BASE_FORGOTTEN    a pull of one that has returned counts the pushes of this life alone, not what it began with */
#ifndef C
#define C 2
#endif
#ifndef K
#define K 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#if !defined(ASYNC) && !defined(BOUNDED)
#define SYNC
#endif
#ifdef UNEVEN
#define rounds(c) ((c) < ROUNDS -> ROUNDS - (c) : 1)
#else
#define rounds(c) ROUNDS
#endif
#define calls(c) (K * rounds(c))
#define key(c, i) (((i) + (c)) % K)
#define at(c, k) ((c) * K + (k))

byte pushed[C];      /* pushes that have been sent, in the order of the calls */
byte answered[C];    /* pulls that were answered: bits, by call */
byte got[C];         /* answers that were taken, in the order of the calls */
bool left[C];
byte sent[C * K], arrived[C * K], added[C * K];
bool dying, died, over; /* MORTAL: client 0 has broken off; has died, ever; the run is over */
bool dead, may_return;  /* it is buried, and has not returned; will in some runs */
byte base[K];           /* with what it began */
byte in_sum[K];      /* ARRIVAL_ORDER: one more than the client that was added last in this round */

#define has(set, i) ((set >> (i)) & 1)
#define next_key key(c, pushed[c])
/* What call i waits for, of the client's own. */
#define round_of(i) ((i) / K)
#ifdef MUTANT_ONE_GROUP
#define lane_free(c, i) (got[c] >= i)
#else
#define lane_free(c, i) 1
#endif
#define alive(c) (!over && !left[c] && !((c) == 0 && dying))
#define begins(c, k) ((c) == 0 -> base[k] : 0)
#define may_push(c) (alive(c) && pushed[c] < calls(c) && got[c] >= K * round_of(pushed[c]) && lane_free(c, pushed[c]))

#ifdef MUTANT_BYE_NOT_COUNTED
#define gone(c) 0
#elif defined(MUTANT_DEATH_NOT_COUNTED)
#define gone(c) (left[c] && !((c) == 0 && dead))
#else
#define gone(c) left[c]
#endif
#define waits(c, k) (arrived[at(c, k)] > added[at(c, k)])

/* What the server does after every arrival and departure: adds rounds until there is none. */
inline add_rounds(k)
{
#ifdef SYNC
#ifdef MUTANT_ARRIVAL_ORDER
    skip
#else
    do
    :: missing = 0; any = 0; d = 0;
        do
        :: d < C -> missing = missing || (!gone(d) && !waits(d, k)); any = any || waits(d, k); d++
        :: else -> break
        od;
        if
        :: any && !missing -> d = 0;
            do
            :: d < C ->
                if
                :: waits(d, k) ->
#ifdef MUTANT_ADDED_TWICE
                    skip
#else
                    added[at(d, k)]++
#endif
                :: else
                fi;
                d++
            :: else -> break
            od;
            rounds_of[k]++;
            d = 0;
            do
            :: d < C -> assert(left[d] || added[at(d, k)] == rounds_of[k]); d++
            :: else -> break
            od
        :: else -> break
        fi
    od;
    missing = 0; any = 0; d = 0
#endif
#else
    d = 0;
    do
    :: d < C -> added[at(d, k)] = arrived[at(d, k)]; d++
    :: else -> break
    od;
    d = 0
#endif
}
byte rounds_of[K];
bool missing, any;
byte d;

/* Whether call i of client c may be answered: it has pushed its key round_of(i) + 1 times. */
#define needs(c, i) (begins(c, key(c, i)) + round_of(i) + 1)
#ifdef MUTANT_BASE_FORGOTTEN
#define mine(c, i) (round_of(i) + 1)
#else
#define mine(c, i) needs(c, i)
#endif
#ifdef MUTANT_REPLY_EARLY
#define own(c, i) (arrived[at(c, key(c, i))] + 1 >= mine(c, i))
#else
#define own(c, i) (added[at(c, key(c, i))] >= mine(c, i))
#endif
#ifdef BOUNDED
#ifdef MUTANT_HOLDS_SLOWEST
#define near(c, e, i) (gone(e) || (added[at(e, key(c, i))] + BOUNDED >= mine(c, i) && added[at(e, key(c, i))] >= mine(c, i) + 1))
#else
#define near(c, e, i) (gone(e) || added[at(e, key(c, i))] + BOUNDED >= mine(c, i))
#endif
#else
#define near(c, e, i) 1
#endif
#if C == 2
#define all_near(c, i) (near(c, 1 - c, i))
#else
#define all_near(c, i) (near(c, (c + 1) % C, i) && near(c, (c + 2) % C, i))
#endif

inline push(c)
{
    d_step { may_push(c) -> sent[at(c, next_key)]++; pushed[c]++ }
}

inline arrive(c, k)
{
    d_step { !over && sent[at(c, k)] > arrived[at(c, k)] ->
        arrived[at(c, k)]++;
#ifdef MORTAL
        assert(c != 0 || dying || arrived[at(c, k)] <= base[k] + (pushed[0] + K - 1 - (k)) / K);
#endif
#ifdef MUTANT_ARRIVAL_ORDER
        assert(in_sum[k] <= c);
        added[at(c, k)]++;
        in_sum[k] = (c == C - 1 -> 0 : c + 1);
#endif
        add_rounds(k) }
}

inline answer(c, i)
{
    d_step { alive(c) && i < calls(c) && i < pushed[c] && !has(answered[c], i) && own(c, i) && all_near(c, i) ->
        assert(added[at(c, key(c, i))] >= needs(c, i));
#ifdef BOUNDED
        d = 0;
        do
        :: d < C -> assert(left[d] || added[at(d, key(c, i))] + BOUNDED >= needs(c, i)); d++
        :: else -> break
        od;
        d = 0;
#endif
        answered[c] = answered[c] | (1 << (i)) }
}

inline take(c)
{
    d_step { alive(c) && got[c] < calls(c) && has(answered[c], got[c]) -> got[c]++ }
}

inline leave(c)
{
    d_step { alive(c) && got[c] == calls(c) -> left[c] = 1; add_all() }
}
inline add_all()
{
    add_rounds(0);
    add_rounds(K - 1)
}

/* ---- client 0's death and return ---- */

inline die(returns)
{
    d_step { !died && alive(0) -> dying = 1; died = 1; may_return = returns }
}

inline drop(k)
{
    d_step { dying && sent[k] > arrived[k] -> sent[k]-- }
}

#define flying (sent[0] > arrived[0] || sent[K - 1] > arrived[K - 1])
inline bury()
{
#if defined(SYNC) && defined(MUTANT_DEATH_UNTOLD)
    false
#elif defined(SYNC)
    d_step { dying && !over -> over = 1 }
#else
#ifdef MUTANT_RETURNS_EARLY
    d_step { dying ->
#else
    d_step { dying && !flying ->
#endif
        dying = 0; dead = 1; left[0] = 1; add_all() }
#endif
}

/* What was on its way is taken for this life's: RETURNS_EARLY alone has any. */
inline begin(k)
{
    any = 0; least = 0; d = 1;
    do
    :: d < C ->
        if
        :: !left[d] && (!any || added[at(d, k)] < least) -> least = added[at(d, k)]; any = 1
        :: else
        fi;
        d++
    :: else -> break
    od;
    if
    :: !any -> least = added[k]
    :: else
    fi;
    sent[k] = sent[k] - arrived[k] + least;
    base[k] = least; arrived[k] = least; added[k] = least;
    any = 0; d = 0; least = 0
}
byte least;

inline return_()
{
    d_step { dead && may_return -> begin(0); begin(K - 1); dead = 0; left[0] = 0; pushed[0] = 0; answered[0] = 0; got[0] = 0 }
}

#define CLIENT(c) \
    :: push(c) :: arrive(c, 0) :: arrive(c, K - 1) :: take(c) :: leave(c) \
    :: answer(c, 0) :: answer(c, 1) :: answer(c, 2) :: answer(c, 3)
#if C == 2
#define all_left (left[0] && left[1])
#else
#define all_left (left[0] && left[1] && left[2])
#endif

init
{
    do
#ifdef MORTAL
    :: die(0) :: die(1) :: drop(0) :: drop(K - 1) :: bury() :: return_()
#endif
    CLIENT(0)
    CLIENT(1)
#if C > 2
    CLIENT(2)
#endif
    :: all_left || over -> break
    od
}
