/* The internals of a membership: membership_table.c (the ranks that a machine knows), membership_change.c (how the list
 * changes), and above them membership_events.c. */
#ifndef TUTTI_MEMBERSHIP_PARTS_H
#define TUTTI_MEMBERSHIP_PARTS_H

#include "designs/membership/membership.h"

typedef tutti_membership_machine machine;
typedef tutti_membership_message message;

/* The places of a set, one after the other. */
#define EACH(place, set)                                                                           \
    for (uint64_t place##_rest = (set); place##_rest; place##_rest &= place##_rest - 1)            \
        for (int place = __builtin_ctzll(place##_rest), place##_once = 1; place##_once;            \
             place##_once = 0)

static inline uint64_t bit_of(int place)
{
    return (uint64_t)1 << place;
}

static inline int count_of(uint64_t set)
{
    return __builtin_popcountll(set);
}

static inline uint64_t lost_of(const machine *m)
{
    return m->gone | m->silent;
}

/* The place of a rank; -1: it is unknown. */
int tutti_membership_find(const machine *m, int64_t id);
/* The place with the least id; -1: the set is empty. */
int tutti_membership_least(const machine *m, uint64_t set);
/* The places that are not free. If none is, newcomers that are certainly dead, and in no list, give theirs up. */
uint64_t tutti_membership_taken(const machine *m);
/* A place for a rank that is unknown; -1: there is none. */
int tutti_membership_add(machine *m, const tutti_membership_entry *entry);
/* The place of the coordinator; -1: all that are known are lost. */
int tutti_membership_coordinator(const machine *m);
/* Those that are in the last list known to be committed, or in one that may be. */
uint64_t tutti_membership_known(const machine *m);
void tutti_membership_fill(const machine *m, message *to, uint64_t set, uint64_t fresh);
void tutti_membership_send(const machine *m, uint64_t to, const message *what);
/* Shows guests who is there: the members, and the guests before each. */
void tutti_membership_show(const machine *m, uint64_t to);
/* Whether this is a newcomer that is connected to all it should be. It waits for no other newcomer that it has lost:
 * members give that one up, too, or take it in before this one, and then show a new list. */
int tutti_membership_is_connected(const machine *m);
/* A newcomer that is connected to all says so; returns whether it is. */
int tutti_membership_say_ready(machine *m);
/* The guests that may be taken in together with these members. */
uint64_t tutti_membership_ready_guests(const machine *m, uint64_t members);
void tutti_membership_stop(machine *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* No deadline: nothing is waited for. */
void tutti_membership_rest(machine *m, tutti_membership_phase phase);
/* How long until tick does something about the phase; of a newcomer the deadline stays. */
void tutti_membership_wait(machine *m, tutti_membership_phase phase, double wait_s);

/* ---- membership_change.c ---- */

/* What is known about losses has changed. */
void tutti_membership_reconsider(machine *m);
/* This rank suspects these, and says so. */
void tutti_membership_suspect(machine *m, uint64_t set);
void tutti_membership_propose(machine *m);
/* The deadline of the phase has passed. */
void tutti_membership_expire(machine *m);
/* ACKs the proposal that it follows, or counts its own ACK, once it may. */
void tutti_membership_try_ack(machine *m);
void tutti_membership_on_propose(machine *m, int from, const message *what);
void tutti_membership_on_ack(machine *m, int from, const message *what);
void tutti_membership_on_refuse(machine *m, int from, const message *what);
void tutti_membership_on_commit(machine *m, int from, const message *what);

#endif
