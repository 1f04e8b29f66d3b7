/* States that an exploration has seen. [P] */
#ifndef TUTTI_TEST_SEEN_H
#define TUTTI_TEST_SEEN_H

#include <stdint.h>
#include <stdlib.h>

/* Open addressing, 0 is empty. The caller frees slot. */
typedef struct seen_states {
    uint64_t *slot;
    size_t room, used;
} seen_states;

static inline int seen_insert(seen_states *s, uint64_t state)
{
    size_t at = state & (s->room - 1);
    while (s->slot[at] && s->slot[at] != state) at = (at + 1) & (s->room - 1);
    if (s->slot[at]) return 0;
    s->slot[at] = state;
    s->used++;
    return 1;
}

/* Whether the state is new; -1: no memory. */
static inline int seen_add(seen_states *s, uint64_t state)
{
    if (2 * s->used >= s->room) {
        seen_states wider = {.room = s->room ? 2 * s->room : 4096};
        wider.slot = calloc(wider.room, sizeof *wider.slot);
        if (!wider.slot) return -1;
        for (size_t i = 0; i < s->room; i++)
            if (s->slot[i]) seen_insert(&wider, s->slot[i]);
        free(s->slot);
        *s = wider;
    }
    return seen_insert(s, state | 1);
}

#endif
