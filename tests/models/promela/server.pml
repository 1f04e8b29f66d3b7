/* A server of K keys and its clients (designs/kv): the book of each key (book.h) step by step, and what a client's groups
 * make of the order of its calls.
 *
 * A client pushes every key and pulls it, in rounds, and begins with another key than the others: client c's call i is about
 * key (i + c) mod K. A round's pushes wait for all pulls of the round before, which its data are computed from. Data arrive
 * per key in the order in which they were sent, and between keys in any. Pulls are answered one by one, in any order that
 * the book permits; a client takes the answers in the order of its calls, as the broadcasts of its group stand in one
 * lane. After its last answer it leaves. Client c makes ROUNDS rounds, or, with UNEVEN, c fewer than that.
 *
 * ASYNC and BOUNDED=s are the types; without, sync. It asserts that a round of sync has one push of every client that has not
 * left, in the order of clients; that no answer is early; and that who goes on is not too far ahead of the slowest.
 *
 *   REPLY_EARLY       a pull is answered before its own push was added
 *   HOLDS_SLOWEST     a pull also waits until no other client is behind
 *   BYE_NOT_COUNTED   a client that has left is waited for
 *   ARRIVAL_ORDER     pushes are added as they come
 *   ADDED_TWICE       a push that came before a round is in it, and in the next
 *   ONE_GROUP         a client's pushes and pulls stand in one lane */
#ifndef C
#define C 2
#endif
#ifndef K
#define K 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
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
#define may_push(c) (pushed[c] < calls(c) && got[c] >= K * round_of(pushed[c]) && lane_free(c, pushed[c]))

#ifdef MUTANT_BYE_NOT_COUNTED
#define gone(c) 0
#else
#define gone(c) left[c]
#endif
#define waits(c, k) (arrived[at(c, k)] > added[at(c, k)])

/* What the server does after every arrival and departure: adds rounds until there is none. */
inline add_rounds(k)
{
#if !defined(ASYNC) && !defined(BOUNDED)
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
#define mine(c, i) (round_of(i) + 1)
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
    d_step { sent[at(c, k)] > arrived[at(c, k)] ->
        arrived[at(c, k)]++;
#ifdef MUTANT_ARRIVAL_ORDER
        assert(in_sum[k] <= c);
        added[at(c, k)]++;
        in_sum[k] = (c == C - 1 -> 0 : c + 1);
#endif
        add_rounds(k) }
}

inline answer(c, i)
{
    d_step { i < calls(c) && i < pushed[c] && !has(answered[c], i) && own(c, i) && all_near(c, i) ->
        assert(added[at(c, key(c, i))] >= mine(c, i));
#ifdef BOUNDED
        d = 0;
        do
        :: d < C -> assert(left[d] || added[at(d, key(c, i))] + BOUNDED >= mine(c, i)); d++
        :: else -> break
        od;
        d = 0;
#endif
        answered[c] = answered[c] | (1 << (i)) }
}

inline take(c)
{
    d_step { got[c] < calls(c) && has(answered[c], got[c]) -> got[c]++ }
}

inline leave(c)
{
    d_step { !left[c] && got[c] == calls(c) -> left[c] = 1; add_all() }
}
inline add_all()
{
    add_rounds(0);
    add_rounds(K - 1)
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
    CLIENT(0)
    CLIENT(1)
#if C > 2
    CLIENT(2)
#endif
    :: all_left -> break
    od
}
