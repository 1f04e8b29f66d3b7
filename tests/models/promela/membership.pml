/* The membership (designs/membership/membership.h): P ranks in epoch 1. DEATHS of them die at any moment, also between two
 * messages that they send; with JOIN, the last rank is a newcomer, which rank 0 takes in. What a dead rank has sent
 * arrives, and then its death, which is certain. The least that lives proposes; all of its list leave, and ACK; COMMIT
 * begins the epoch.
 *
 * With SILENT nobody dies, but rank 0 and the others suspect each other from any moment on: ranks that are not more
 * than half stop.
 *
 * It asserts that an epoch has one list and one snapshot, that no rank is inside an older epoch when one begins, and in
 * the end that all that live are in one epoch, whose list they are; that no rank has stopped, or with SILENT only rank 0.
 *
 *   STAYS           the coordinator stays the rank with the least id, dead or not
 *   ACK_LATE        an ACK of an older list counts for a newer one
 *   MINORITY        ranks go on although the others are only silent
 *   ALL_STOP        no list is ever enough
 *   OWN_SNAPSHOT    each rank restores its newest snapshot
 *   OLD_EPOCH       a list of an epoch that is not later is accepted
 *   NOT_LEFT        a rank ACKs while it is inside its epoch
 *   LIST_FORGOTTEN  the next coordinator knows nothing of a list that was ACKed
 *   NO_REFUSAL      the next coordinator does not hear of a list that others have ACKed */
#ifndef P
#define P 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define MOST 8 /* epochs */
#define has(set, i) ((set >> (i)) & 1)
#define ALL ((1 << P) - 1)

mtype = { PROPOSE, ACK, REFUSE, COMMIT, GONE, QUIET };
/* what, epoch, list, snapshot */
chan wire[P * P] = [8] of { mtype, byte, byte, byte };
#define way(a, b) wire[(a) * P + (b)]

byte deaths;
bool dead[P], stopped[P], inside[P];
byte epoch[P], newest[P], base[P];
byte list_of[MOST], snapshot_of[MOST];
bool cut; /* rank 0 is alone */

inline send(r, to, what, e, l, s) {
    if
    :: !dead[to] && !stopped[to] -> way(r, to)!what, e, l, s
    :: else
    fi
}

/* Of those of the set that are not lost. */
#ifdef MUTANT_STAYS
#define is_least(r, set) (((set) & ((1 << (r)) - 1)) == 0)
#else
#define is_least(r, set) (((set) & ~lost & ((1 << (r)) - 1)) == 0)
#endif

inline die(r) {
    dead[r] = true; inside[r] = false; deaths++;
    for (i : 0 .. P - 1) { if :: i != r -> send(r, i, GONE, 0, 0, 0) :: else fi }
}

inline enter(r, e, l, s) {
    assert(list_of[e] == 0 || (list_of[e] == l && snapshot_of[e] == s));
    list_of[e] = l;
    for (i : 0 .. P - 1) { assert(!has(l, i) || !inside[i] || epoch[i] >= e) }
#ifdef MUTANT_OWN_SNAPSHOT
    if :: newest[r] -> s = newest[r] :: else fi;
#endif
    if :: snapshot_of[e] == 0 -> snapshot_of[e] = s :: else fi;
    assert(snapshot_of[e] == s);
    newest[r] = s; base[r] = l; epoch[r] = e; inside[r] = true; left = false; pending = 0; acked = false;
    following = P; proposed = 0; joins = joins & ~(l)
}

/* more than half of `of`, or all others are dead */
#ifdef MUTANT_MINORITY
#define enough(of, l) true
#elif defined(MUTANT_ALL_STOP)
#define enough(of, l) false
#else
#define count(s) (has(s, 0) + has(s, 1) + has(s, 2) + (P > 3 && has(s, P - 1)))
#define enough(of, l) ((((of) & ~(l)) & ~gone) == 0 || 2 * count((of) & (l)) > count(of))
#endif

#ifdef MUTANT_LIST_FORGOTTEN
#define known(r) (base[r])
#else
#define known(r) (base[r] | pending)
#endif

inline propose(r) {
    list = (known(r) | joins) & ~lost;
    if
    :: !enough(base[r], list) -> stopped[r] = true; inside[r] = false;
        for (i : 0 .. P - 1) { if :: i != r -> send(r, i, GONE, 0, 0, 0) :: else fi }
    :: else ->
        highest++; proposed = highest; promised = highest; acks = (1 << r); least_snapshot = newest[r]; left = true; inside[r] = false;
        following = P; acked = false;
        i = 0;
        proposing = true
    fi
}

proctype rank(byte r) {
    byte gone, lost, pending, list, acks, highest = 1, promised = 1, proposed, least_snapshot, following = P, i, from, e, l, s, joins;
    bool left, acked, refused, proposing, committing, newcomer;
    mtype m;
#ifdef JOIN
    newcomer = (r == P - 1);
    if :: r == 0 -> joins = (1 << (P - 1)) :: else fi;
#endif
end_rank:
    do
    :: (dead[r] || stopped[r]) -> break
#ifndef SILENT
    :: atomic { !dead[r] && deaths < DEATHS -> die(r); break }
#else
    :: atomic { r == 0 && !cut -> cut = true; /* the rank, and those that wait for it, notice */
        for (i : 1 .. P - 1) { way(0, i)!QUIET, 0, 0, 0; way(i, 0)!QUIET, 0, 0, 0 } }
#endif
    /* its messages go one by one */
    :: atomic { proposing && i < P ->
        if :: has(list, i) && i != r -> send(r, i, PROPOSE, proposed, list, 0) :: else fi; i++ }
    :: atomic { proposing && i == P -> proposing = false;
        if :: acks == list -> committing = true; i = 0 :: else fi }
    :: atomic { committing && i < P ->
        if :: has(list, i) && i != r -> send(r, i, COMMIT, proposed, list, least_snapshot) :: else fi; i++ }
    :: atomic { committing && i == P -> committing = false; s = least_snapshot; e = proposed; enter(r, e, list, s) }
    /* the coordinator */
    :: atomic { !proposing && !committing && !newcomer && (following == P || has(lost, following)) &&
        is_least(r, base[r]) && (proposed == 0 || (list & lost) != 0) &&
        ((base[r] & lost) != 0 || following != P || proposed || joins) -> propose(r) }
    :: atomic { !proposing && !committing && (len(way(0, r)) || len(way(1, r)) || len(way(2, r)) || (P > 3 && len(way(P - 1, r)))) ->
        if
        :: way(0, r)?m, e, l, s -> from = 0
        :: way(1, r)?m, e, l, s -> from = 1
        :: way(2, r)?m, e, l, s -> from = 2
#if P > 3
        :: way(3, r)?m, e, l, s -> from = 3
#endif
        fi;
        if
        :: m == GONE -> gone = gone | (1 << from); lost = lost | (1 << from); joins = joins & ~(1 << from)
        :: m == QUIET -> lost = lost | (1 << from)
        :: m == PROPOSE && !has(lost, from) ->
            if
#ifdef MUTANT_OLD_EPOCH
            :: true ->
#else
            :: e > promised ->
#endif
                promised = e;
                if :: e > highest -> highest = e :: else fi;
                following = from; acked = false; refused = false; proposed = 0; list = l
            :: else -> send(r, from, REFUSE, promised, 0, 0)
            fi
        :: m == REFUSE && !has(lost, from) ->
            if :: e > highest -> highest = e :: else fi;
            if
            :: proposed && following == P && (l == 0 -> promised <= e : (l & ~known(r)) != 0) ->
                pending = pending | l; propose(r)
            :: else
            fi
#ifdef MUTANT_ACK_LATE
        :: m == ACK && !has(lost, from) && proposed ->
#else
        :: m == ACK && !has(lost, from) && proposed && e == proposed ->
#endif
            acks = acks | (1 << from);
            if :: s && (s < least_snapshot || least_snapshot == 0) -> least_snapshot = s :: else fi;
            if :: acks == list -> committing = true; i = 0 :: else fi
        :: m == COMMIT && acked && e == promised && from == following -> newcomer = false; enter(r, e, l, s)
        :: else
        fi;
        m = QUIET; from = 0; e = 0; l = 0; s = 0 }
    /* leaves, and ACKs, once it finds the list enough */
    :: atomic { !proposing && !committing && following < P && !acked && !has(lost, following) &&
        (newcomer || (enough(base[r], list) && (pending == 0 || enough(pending, list)))) ->
#ifndef MUTANT_NOT_LEFT
        inside[r] = false; left = true;
#endif
        acked = true; pending = list; send(r, following, ACK, promised, 0, newest[r]) }
    /* the coordinator may not know of this list */
#ifndef MUTANT_NO_REFUSAL
    :: atomic { !proposing && !committing && following < P && !acked && !refused && !has(lost, following) && !newcomer &&
        pending && !enough(pending, list) -> refused = true; send(r, following, REFUSE, promised, pending, 0) }
#endif
    od
}

init {
    byte r, set, last;
    atomic {
        set = ALL;
#ifdef JOIN
        set = ALL & ~(1 << (P - 1));
#endif
        list_of[1] = set; snapshot_of[1] = 1;
        for (r : 0 .. P - 1) {
            base[r] = set;
            if :: has(set, r) -> epoch[r] = 1; inside[r] = true; newest[r] = 2 - (r & 1) :: else fi;
            run rank(r)
        }
    }
    timeout; /* nothing happens any more */
    atomic {
        set = 0;
        for (r : 0 .. P - 1) {
            if
            :: !dead[r] && !stopped[r] && epoch[r] -> set = set | (1 << r); last = epoch[r]
            :: else
            fi
        }
        for (r : 0 .. P - 1) {
            assert(!has(set, r) || (inside[r] && epoch[r] == last && base[r] == set));
#ifndef SILENT
            assert(!stopped[r])
#endif
        }
#ifdef SILENT
        assert(set == (ALL & ~1));
#endif
#ifdef JOIN
        assert(dead[0] || dead[P - 1] || epoch[P - 1]);
#endif
    }
}
