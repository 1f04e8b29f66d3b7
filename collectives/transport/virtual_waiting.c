#include "collectives/transport/virtual_waiting.h"

#include "dag/base/log.h"

#include <stdlib.h>

static size_t hash_key(int from, int to, int lane, int tag)
{
    uint64_t h = (uint64_t)(unsigned)from * 0x9e3779b97f4a7c15u;
    h = (h ^ (unsigned)to) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 32) ^ (unsigned)lane) * 0xc4ceb9fe1a85ec53u;
    h = (h ^ (h >> 29) ^ (unsigned)tag) * 0x9e3779b97f4a7c15u;
    return (size_t)(h ^ (h >> 32));
}

static tutti_virtual_waiting *look_up(
    const tutti_virtual_table *t, int from, int to, int lane, int tag)
{
    size_t i = hash_key(from, to, lane, tag) & (t->slots - 1);
    for (;; i = (i + 1) & (t->slots - 1)) {
        tutti_virtual_waiting *w = &t->slot[i];
        if (w->lane < 0 || (w->from == from && w->to == to && w->lane == lane && w->tag == tag))
            return w;
    }
}

static tutti_status grow_table(tutti_virtual_table *t)
{
    const tutti_virtual_table old = *t;
    t->slots = old.slots ? 2 * old.slots : 1024;
    t->slot = malloc(t->slots * sizeof *t->slot);
    if (!t->slot) {
        *t = old;
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for messages of %zu kinds", 2 * old.slots);
    }
    for (size_t i = 0; i < t->slots; i++) t->slot[i] = (tutti_virtual_waiting){.lane = -1};
    for (size_t i = 0; i < old.slots; i++) {
        const tutti_virtual_waiting *w = &old.slot[i];
        if (w->lane >= 0) *look_up(t, w->from, w->to, w->lane, w->tag) = *w;
    }
    free(old.slot);
    return TUTTI_OK;
}

static uint64_t bit_of(int lane)
{
    return (uint64_t)1 << (lane & 63);
}

/* Those that wait with this key. NULL: no memory. */
static tutti_virtual_waiting *find_waiting(
    tutti_virtual_table *t, int from, int to, int lane, int tag)
{
    if (2 * t->used >= t->slots && grow_table(t)) return NULL;
    tutti_virtual_waiting *w = look_up(t, from, to, lane, tag);
    if (w->lane < 0) {
        *w = (tutti_virtual_waiting){.from = from, .to = to, .lane = lane, .tag = tag};
        t->used++;
        if (from == TUTTI_ANY_RANK) t->any |= bit_of(lane);
    }
    return w;
}

void tutti_virtual_append(tutti_virtual_waiting *w, tutti_message *m)
{
    m->waits = 1;
    m->next = NULL;
    m->before = w->last;
    if (w->last)
        w->last->next = m;
    else
        w->first = m;
    w->last = m;
}

void tutti_virtual_remove(tutti_virtual_waiting *w, tutti_message *m)
{
    m->waits = 0;
    if (m->before)
        m->before->next = m->next;
    else
        w->first = m->next;
    if (m->next)
        m->next->before = m->before;
    else
        w->last = m->before;
}

/* The first receive from any rank with this key: sends for it that are here already wait for it from now on, in the
 * order in which they were posted. */
static void gather_sends(const tutti_virtual_table *t, tutti_virtual_waiting *any)
{
    for (;;) {
        tutti_virtual_waiting *oldest = NULL;
        for (size_t i = 0; i < t->slots; i++) {
            tutti_virtual_waiting *w = &t->slot[i];
            if (w == any || w->lane != any->lane || w->to != any->to || w->tag != any->tag)
                continue;
            if (w->first && (!oldest || w->first->number < oldest->first->number)) oldest = w;
        }
        if (!oldest) return;
        tutti_message *m = oldest->first;
        tutti_virtual_remove(oldest, m);
        tutti_virtual_append(any, m);
    }
}

tutti_virtual_waiting *tutti_virtual_waiting_for(tutti_virtual_table *t, const tutti_message *m)
{
    if (t->any & bit_of(m->lane)) {
        tutti_virtual_waiting *any = look_up(t, TUTTI_ANY_RANK, m->to, m->lane, m->tag);
        if (any->lane >= 0) return any;
    }
    tutti_virtual_waiting *found = find_waiting(t, m->from, m->to, m->lane, m->tag);
    if (found && m->from == TUTTI_ANY_RANK) gather_sends(t, found);
    return found;
}
