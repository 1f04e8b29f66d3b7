/* Two ends of a connection in shared memory that sleep when nothing can move, without a limit (collectives/transport/shm.c:
 * tutti_shm_sleep): each writes MESSAGES messages into the other's ring, which has room for ROOM, and reads its own. Who has
 * written or made room then looks whether the other sleeps. Who wants to sleep says so, looks once more, and sleeps until it
 * is woken. Counts and words are read and written in one order (sequentially consistent). That nobody sleeps for ever is
 * that all of this ends.
 *
 *   LOOKS_BEFORE   who falls asleep looks before it says so
 *   COUNTS_AFTER   a writer looks who sleeps before its count has grown
 *   ROOM_SILENT    a reader wakes nobody */
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef ROOM
#define ROOM 1
#endif

byte written[2], got[2]; /* of the ring of each end */
bool asleep[2];

#define other (1 - r)
#define can_read (got[r] < written[r])
#define can_write (sent < MESSAGES && written[other] - got[other] < ROOM)

inline wake() {
    if
    :: asleep[other] -> asleep[other] = false
    :: else
    fi
}

proctype end(byte r) {
    byte sent;
    do
    :: can_read ->
        got[r]++;
#ifndef MUTANT_ROOM_SILENT
        wake()
#endif
    :: can_write ->
        sent++;
#ifdef MUTANT_COUNTS_AFTER
        wake();
        written[other]++
#else
        written[other]++;
        wake()
#endif
    :: !can_read && sent == MESSAGES && got[r] == MESSAGES -> break
    :: !can_read && !can_write && (sent < MESSAGES || got[r] < MESSAGES) ->
        asleep[r] = true;
#ifndef MUTANT_LOOKS_BEFORE
        if
        :: can_read || can_write -> asleep[r] = false
        :: else
        fi;
#endif
        !asleep[r]
    od
}

init {
    atomic { run end(0); run end(1) }
}
