/* The table of ranks that a machine knows, and what the other files do with it. */
#include "designs/membership/membership_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int tutti_membership_find(const machine *m, int64_t id)
{
    EACH (p, m->used)
        if (m->id[p] == id) return p;
    return -1;
}

int tutti_membership_least(const machine *m, uint64_t set)
{
    int least = -1;
    EACH (p, set)
        if (least < 0 || m->id[p] < m->id[least]) least = p;
    return least;
}

uint64_t tutti_membership_taken(const machine *m)
{
    const uint64_t listed = tutti_membership_known(m) | m->proposal.members;
    if (~m->used || !m->epoch) return m->used;
    return m->used & ~(m->guests & m->gone & ~listed);
}

int tutti_membership_add(machine *m, const tutti_membership_entry *e)
{
    const uint64_t taken = tutti_membership_taken(m);
    if (!~taken) return -1;
    const int p = __builtin_ctzll(~taken);
    const uint64_t others = ~bit_of(p);
    m->used |= bit_of(p);
    m->gone &= others;
    m->silent &= others;
    m->linked &= others;
    m->asked &= others;
    m->guests &= others;
    EACH (q, m->used)
        m->reach[q] &= others; /* they were connected to the rank that had this place */
    m->id[p] = e->id;
    m->reach[p] = 0;
    m->newest[p] = m->before[p] = -1;
    memcpy(m->address[p], e->address, TUTTI_MEMBERSHIP_ADDRESS);
    return p;
}

int tutti_membership_coordinator(const machine *m)
{
    return tutti_membership_least(m, m->base.members & ~lost_of(m));
}

uint64_t tutti_membership_known(const machine *m)
{
    uint64_t known = m->base.members;
    for (int i = 0; i < m->pendings; i++) known |= m->pending[i].members;
    return known;
}

void tutti_membership_fill(const machine *m, message *to, uint64_t set, uint64_t fresh)
{
    to->n = 0;
    while (set) {
        const int p = tutti_membership_least(m, set);
        tutti_membership_entry *e = &to->entry[to->n++];
        *e = (tutti_membership_entry){.id = m->id[p], .fresh = !!(fresh & bit_of(p))};
        memcpy(e->address, m->address[p], sizeof e->address);
        set &= ~bit_of(p);
    }
}

void tutti_membership_send(const machine *m, uint64_t to, const message *what)
{
    EACH (p, to & ~bit_of(m->self) & ~m->gone) m->acts.send(m->acts.ctx, m->id[p], what);
}

void tutti_membership_stop(machine *m, const char *format, ...)
{
    char why[TUTTI_MEMBERSHIP_WHY];
    va_list args;
    if (m->phase == TUTTI_MEMBERSHIP_ENDED) return;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    tutti_membership_rest(m, TUTTI_MEMBERSHIP_ENDED);
    m->acts.stop(m->acts.ctx, why);
}

void tutti_membership_rest(machine *m, tutti_membership_phase phase)
{
    m->phase = phase;
    m->due_s = INFINITY;
}

void tutti_membership_wait(machine *m, tutti_membership_phase phase, double wait_s)
{
    m->phase = phase;
    if (m->epoch) m->due_s = m->now_s + wait_s;
}

void tutti_membership_show(const machine *m, uint64_t to)
{
    message view = {.kind = TUTTI_MEMBERSHIP_VIEW, .epoch = m->base.epoch};
    EACH (p, to) {
        uint64_t earlier = 0;
        EACH (q, m->guests & ~lost_of(m))
            if (m->id[q] < m->id[p]) earlier |= bit_of(q);
        tutti_membership_fill(m, &view, m->base.members | earlier, earlier);
        tutti_membership_send(m, bit_of(p), &view);
    }
}

int tutti_membership_is_connected(const machine *m)
{
    const uint64_t waited_for = m->view & ~(m->guests & lost_of(m));
    return !m->epoch && m->view && !(waited_for & ~m->linked);
}

int tutti_membership_say_ready(machine *m)
{
    message ready = {.kind = TUTTI_MEMBERSHIP_READY, .epoch = m->base.epoch};
    if (!tutti_membership_is_connected(m)) return 0;
    tutti_membership_fill(m, &ready, m->linked, 0);
    tutti_membership_send(m, m->base.members, &ready);
    return 1;
}

uint64_t tutti_membership_ready_guests(const machine *m, uint64_t members)
{
    uint64_t list = members, left = m->guests & ~lost_of(m) & ~members;
    while (left && count_of(list) < m->options.most) {
        const int g = tutti_membership_least(m, left);
        uint64_t reached = m->reach[g];
        EACH (p, list)
            if (m->guests & bit_of(p) && m->reach[p] & bit_of(g)) reached |= bit_of(p);
        if (!(list & ~reached)) list |= bit_of(g);
        left &= ~bit_of(g);
    }
    return list & ~members;
}
