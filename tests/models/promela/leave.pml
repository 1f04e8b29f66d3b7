/* How ranks leave (designs/thread/comm_thread.c, designs/drive/driver_fail.c, designs/verify/shutdown.h): each of P ranks has a
 * main thread, which queues NOTES notes for the next rank in its outbox and then closes, and a comm thread, which sends
 * what is in the outbox when it comes by. Ranks but 0 also wait for the notes of the rank before them, before or after they
 * have queued their own, as workers of a store wait for the last word of its servers. Such a wait ends, too, when that rank
 * has left: then all of its notes must be there.
 *
 * Who closes empties its outbox, sends BYE to all, waits for theirs, sends LAST, waits for theirs, and tears down. What it has
 * sent and nobody has received by then is lost; so is what comes to one who has torn down. It asserts that nothing is.
 *
 *   NO_FLUSH         who closes leaves its outbox as it is
 *   BYE_FIRST        BYE goes before what is in the outbox
 *   LEAVES_AT_ONCE   who closes tears down without a word, as ranks did that compared nothing
 *   NO_LAST          who has heard every BYE tears down, with what it has sent under way */
#ifndef P
#define P 3
#endif
#ifndef NOTES
#define NOTES 2
#endif

mtype = { NOTE, BYE, LAST };
chan wire[P * P] = [NOTES + 2] of { mtype };
#define way(a, b) wire[(a) * P + (b)]
#define next(r) (((r) + 1) % P)
#define before(r) (((r) + P - 1) % P)
#define has(set, i) ((set >> (i)) & 1)
#define ALL(r) (((1 << P) - 1) & ~(1 << (r)))

byte outbox[P], wrote[P], got[P];
byte byes[P], lasts[P]; /* bits: from whom */
bool stop[P], closed[P];

inline queue_notes(r) {
    do
    :: wrote[r] < NOTES -> atomic { outbox[r]++; wrote[r]++ }
    :: else -> break
    od
}

proctype main_thread(byte r) {
    bool waited = (r == 0);
    if
    :: queue_notes(r)
    :: !waited -> (got[r] == NOTES || has(byes[r], before(r))); assert(got[r] == NOTES); waited = true; queue_notes(r)
    fi;
    if
    :: waited
    :: else -> (got[r] == NOTES || has(byes[r], before(r))); assert(got[r] == NOTES)
    fi;
    stop[r] = true
}

inline send_outbox(r) {
    do
    :: outbox[r] -> way(r, next(r))!NOTE; outbox[r]--
    :: else -> break
    od
}

inline tell(r, what) {
    for (to : 0 .. P - 1) {
        if
        :: to != r -> way(r, to)!what
        :: else
        fi
    }
}

/* Nothing of this rank is under way. */
inline test_sent(r) {
    sent = true;
    for (to : 0 .. P - 1) { sent = sent && (to == r || len(way(r, to)) == 0) }
}

inline receive(r) {
    if
    :: m == NOTE -> got[r]++
    :: m == BYE -> byes[r] = byes[r] | (1 << from)
    :: m == LAST -> lasts[r] = lasts[r] | (1 << from)
    fi
}

proctype comm_thread(byte r) {
    mtype m;
    byte from, to;
    bool left, last, sent;
    do
    :: atomic { outbox[r] && !left -> send_outbox(r) }
    :: atomic { way(0, r)?m -> from = 0; receive(r) }
    :: atomic { way(1, r)?m -> from = 1; receive(r) }
#if P > 2
    :: atomic { way(2, r)?m -> from = 2; receive(r) }
#endif
#ifdef MUTANT_LEAVES_AT_ONCE
    :: atomic { stop[r] -> break }
#else
    :: atomic { stop[r] && !left ->
#ifdef MUTANT_BYE_FIRST
        tell(r, BYE); send_outbox(r);
#elif defined(MUTANT_NO_FLUSH)
        tell(r, BYE);
#else
        send_outbox(r); tell(r, BYE);
#endif
        left = true }
#ifdef MUTANT_NO_LAST
    :: atomic { left && byes[r] == ALL(r) -> break }
#else
    :: atomic { left && !last && byes[r] == ALL(r) -> test_sent(r);
        if
        :: sent -> tell(r, LAST); last = true
        :: else
        fi }
    :: atomic { last && lasts[r] == ALL(r) -> test_sent(r);
        if
        :: sent -> break
        :: else
        fi }
#endif
#endif
    od;
    atomic {
        closed[r] = true;
        for (to : 0 .. P - 1) {
            do /* what was under way is lost */
            :: to != r && len(way(r, to)) -> way(r, to)?m; assert(m == LAST)
            :: else -> break
            od;
            do /* nobody receives it */
            :: to != r && len(way(to, r)) -> way(to, r)?m; assert(false)
            :: else -> break
            od
        }
        outbox[r] = 0
    }
}

init {
    byte r;
    atomic { for (r : 0 .. P - 1) { run main_thread(r); run comm_thread(r) } }
    /* all have closed, and every note has come */
    (closed[0] && closed[1] && closed[P - 1]);
    assert(got[0] == NOTES && got[1] == NOTES && got[P - 1] == NOTES)
}
