/* Receives whose memory the sender writes to (collectives/transport/tcp_frame.h): MESSAGES messages of one lane and tag into
 * one buffer, which the receiver uses again for the next as soon as it has it back. The receiver sends WANT (a credit) and,
 * when it cancels, REVOKE; the sender writes the payload in two halves, then PLACED, or answers REVOKED. Frames keep their
 * order. A message whose receive was cancelled goes as DATA, and is dropped.
 *
 * It asserts that the sender writes only from credit to PLACED, that a message is whole when PLACED is read, and that the k-th
 * message goes to the k-th receive; and that all of this ends.
 *
 * With BREAKS the sender may die at any moment, or the connection break while it lives: then the receive ends, and its memory
 * stays the sender's for as long as that lives.
 *
 * A message may be written before it is sent (a kernel writes it). Then a REVOKE is answered once it is written.
 *
 *   WORD_FIRST       PLACED is sent before the payload is written
 *   CREDIT_LOST      a credit that comes before its send is forgotten
 *   CREDIT_TWICE     a credit serves the next send, too
 *   REVOKE_AT_ONCE   a cancelled receive ends without an answer
 *   REVOKE_ANSWERED  the sender answers REVOKE also while it writes
 *   REVOKE_IGNORED   the sender never answers REVOKE, and keeps the message back
 *   CLAIM_REVOKED    the sender answers REVOKE while a kernel writes
 *   GIVEN_BACK       memory is used again when the connection breaks, while the sender may write to it */
#ifndef MESSAGES
#define MESSAGES 3
#endif

mtype = { WANT, REVOKE, PLACED, DATA, REVOKED };
chan to_sender = [4] of { mtype, byte };   /* the number of the receive */
chan to_receiver = [4] of { mtype, byte }; /* and that of the message */

byte half[2];       /* of the buffer: message + 1 */
bool lent;          /* the sender may write to it */
bool dead, broken;  /* of the sender, and of the connection */
bool cancelled[MESSAGES];

mtype = { NONE, PLACE, REVOKED_PLACE };
mtype credit[MESSAGES];

inline on_want(n) {
#ifdef MUTANT_CREDIT_LOST
    if
    :: posted && n == k -> credit[n] = PLACE
    :: else
    fi
#else
    credit[n] = PLACE
#endif
}

inline on_revoke(n) {
    if
    :: credit[n] == PLACE && (n > k || (n == k && (!writes || (at == 2 && !posted)))) ->
        writes = (n > k -> writes : false);
#ifdef MUTANT_REVOKE_IGNORED
        credit[n] = NONE
#else
        credit[n] = REVOKED_PLACE; to_receiver!REVOKED, n
#endif
    :: credit[n] == PLACE && n == k && writes && !posted ->
#ifdef MUTANT_CLAIM_REVOKED
        credit[n] = REVOKED_PLACE; to_receiver!REVOKED, n
#else
        revoked = true
#endif
    :: else -> /* PLACED is on its way, or will be */
#ifdef MUTANT_REVOKE_ANSWERED
        if
        :: credit[n] == PLACE && n == k -> to_receiver!REVOKED, n
        :: else
        fi
#else
        skip
#endif
    fi
}

proctype sender() {
    byte k, n, at;
    bool posted, writes, revoked;
    do
    :: atomic { to_sender?WANT, n -> on_want(n) }
    :: atomic { to_sender?REVOKE, n -> on_revoke(n) }
    :: atomic { k < MESSAGES && !posted && (!writes || at == 2) && !revoked -> posted = true }
    :: atomic { k < MESSAGES && !writes && credit[k] == PLACE -> writes = true; at = 0;
#ifdef MUTANT_WORD_FIRST
        to_receiver!PLACED, k
#endif
        }
    :: atomic { writes && at < 2 -> assert(lent); half[at] = k + 1; at++ }
    :: atomic { writes && at == 2 && revoked -> revoked = false; writes = false; credit[k] = REVOKED_PLACE; to_receiver!REVOKED, k }
    :: atomic { writes && at == 2 && posted ->
#ifndef MUTANT_WORD_FIRST
        to_receiver!PLACED, k;
#endif
        writes = false; posted = false; k++;
#ifdef MUTANT_CREDIT_TWICE
        if
        :: k < MESSAGES && credit[k] == NONE -> credit[k] = PLACE
        :: else
        fi
#endif
        }
    :: atomic { k < MESSAGES && posted && credit[k] == REVOKED_PLACE -> to_receiver!DATA, k; posted = false; k++ }
    :: atomic { k == MESSAGES && !writes -> break }
#ifdef BREAKS
    :: atomic { dead = true; lent = false; break }
    :: atomic { !broken -> broken = true }
#endif
    od;
end_reads:
    do /* a credit may still be revoked */
    :: to_sender?_, n
    od
}

proctype receiver() {
    byte r, n;
    bool ended;
    do
    :: r < MESSAGES && !broken && !dead ->
        atomic { half[0] = 0; half[1] = 0; lent = true; ended = false; to_sender!WANT, r }
        do
        :: ended -> break
        :: atomic { !ended && !cancelled[r] -> cancelled[r] = true;
#ifdef MUTANT_REVOKE_AT_ONCE
            ended = true; lent = false
#else
            to_sender!REVOKE, r
#endif
            }
        :: atomic { to_receiver?PLACED, n -> assert(n == r && half[0] == r + 1 && half[1] == r + 1); ended = true; lent = false }
        :: atomic { to_receiver?REVOKED, n -> assert(n == r && cancelled[r]); ended = true; lent = false }
        :: atomic { to_receiver?DATA, n -> assert((n < r || ended) && cancelled[n]) }
#ifdef BREAKS
        :: atomic { (dead || broken) && !ended && empty(to_receiver) -> ended = true;
#ifdef MUTANT_GIVEN_BACK
            lent = false
#endif
            }
#endif
        od;
        r++
    :: else -> break
    od;
end_reads:
    do /* messages of cancelled receives */
    :: atomic { to_receiver?DATA, n -> assert(cancelled[n]) }
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. MESSAGES - 1) { credit[i] = NONE }
        run sender();
        run receiver()
    }
}
