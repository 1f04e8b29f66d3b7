#include "designs/attach/priorities.h"

#include "dag/base/log.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_ROOM = 64 };

typedef struct tutti_priority_of {
    const void *data;
    int priority;
    int dropped; /* it has none any more */
} slot;

/* The slot of these data, or a free one for them. */
static slot *slot_of(slot slots[], int room, const void *data)
{
    uint64_t hash = (uint64_t)(uintptr_t)data * 0x9e3779b97f4a7c15u >> 32;
    int at = (int)(hash & (unsigned)(room - 1));
    while (slots[at].data && slots[at].data != data) at = (at + 1) & (room - 1);
    return &slots[at];
}

/* Keeps at least half of the slots free. */
static tutti_status widen_table(tutti_priorities *p)
{
    int room = p->room ? 2 * p->room : FIRST_ROOM;
    if (2 * (p->used + 1) <= p->room) return TUTTI_OK;
    slot *wider = calloc((size_t)room, sizeof *wider);
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_priority: no memory");
    for (int i = 0; i < p->room; i++)
        if (p->slot[i].data) *slot_of(wider, room, p->slot[i].data) = p->slot[i];
    free(p->slot);
    p->slot = wider;
    p->room = room;
    return TUTTI_OK;
}

tutti_status tutti_priorities_give(tutti_priorities *priorities, const void *data, int priority)
{
    tutti_priorities *p = priorities;
    if (!data) {
        p->otherwise = priority;
        return TUTTI_OK;
    }
    tutti_status status = widen_table(p);
    if (status) return status;
    slot *s = slot_of(p->slot, p->room, data);
    p->used += !s->data;
    *s = (slot){.data = data, .priority = priority, .dropped = priority == p->otherwise};
    return TUTTI_OK;
}

int tutti_priorities_find(const tutti_priorities *priorities, const void *data)
{
    const tutti_priorities *p = priorities;
    const slot *s = data && p->room ? slot_of(p->slot, p->room, data) : NULL;
    return s && s->data && !s->dropped ? s->priority : p->otherwise;
}

void tutti_priorities_drop(tutti_priorities *p, const void *data)
{
    slot *s = p->room ? slot_of(p->slot, p->room, data) : NULL;
    if (s && s->data) s->dropped = 1;
}

void tutti_priorities_free(tutti_priorities *priorities)
{
    free(priorities->slot);
    *priorities = (tutti_priorities){0};
}
