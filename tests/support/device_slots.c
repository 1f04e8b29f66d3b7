#include "tests/support/device_slots.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct tutti_device_slot {
    tutti_device_slot *next; /* in its rank's queue */
    int rank, lane, tag;
    int complete;
    int size, of[]; /* its ranks */
};

struct tutti_device_slots {
    pthread_mutex_t lock; /* protects what follows; no other lock is taken under it */
    int ranks, device_slots;
    tutti_device_slot **line; /* [ranks] the oldest that has not completed */
};

tutti_status tutti_device_slots_new(int ranks, int device_slots, tutti_device_slots **all)
{
    if (ranks < 1 || device_slots < 1)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%d device slots for each of %d ranks", device_slots, ranks);
    tutti_device_slots *s = calloc(1, sizeof *s);
    tutti_device_slot **line = calloc((size_t)ranks, sizeof(tutti_device_slot *));
    if (!s || !line) {
        free(s);
        free(line);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the device slots of %d ranks", ranks);
    }
    s->ranks = ranks;
    s->device_slots = device_slots;
    s->line = line;
    pthread_mutex_init(&s->lock, NULL);
    *all = s;
    return TUTTI_OK;
}

void tutti_device_slots_free(tutti_device_slots *all)
{
    if (!all) return;
    for (int r = 0; r < all->ranks; r++)
        while (all->line[r]) {
            tutti_device_slot *next = all->line[r]->next;
            free(all->line[r]);
            all->line[r] = next;
        }
    pthread_mutex_destroy(&all->lock);
    free(all->line);
    free(all);
}

static int is_same(const tutti_device_slot *a, const tutti_device_slot *b)
{
    return a->lane == b->lane && a->tag == b->tag && a->size == b->size &&
           !memcmp(a->of, b->of, (size_t)a->size * sizeof *a->of);
}

/* A rank's part of a collective if it has a slot, or NULL. Lock held. */
static tutti_device_slot *find_holder(
    const tutti_device_slots *all, int rank, const tutti_device_slot *like)
{
    tutti_device_slot *s = all->line[rank];
    for (int n = 0; s && n < all->device_slots; n++, s = s->next)
        if (is_same(s, like)) return s;
    return NULL;
}

static void leave_queue(tutti_device_slots *all, const tutti_device_slot *device_slot)
{
    tutti_device_slot **at = &all->line[device_slot->rank];
    while (*at && *at != device_slot) at = &(*at)->next;
    if (*at) *at = device_slot->next;
}

/* Completes this collective if it has a slot on all its ranks; returns whether it did. */
static int try_complete(tutti_device_slots *all, const tutti_device_slot *like)
{
    for (int m = 0; m < like->size; m++)
        if (!find_holder(all, like->of[m], like)) return 0;
    for (int m = like->size - 1; m >= 0; m--) {
        tutti_device_slot *part = find_holder(all, like->of[m], like);
        leave_queue(all, part);
        part->complete = 1;
    }
    return 1;
}

/* Completes all that can complete: each one frees slots for others. Lock held. */
static void complete_all(tutti_device_slots *all)
{
    for (int moved = 1; moved;) {
        moved = 0;
        for (int r = 0; r < all->ranks && !moved; r++) {
            const tutti_device_slot *s = all->line[r];
            for (int n = 0; s && n < all->device_slots && !moved; n++, s = s->next)
                moved = try_complete(all, s);
        }
    }
}

tutti_status tutti_device_slots_take(tutti_device_slots *all, int rank, int lane, int tag,
    const tutti_members *members, tutti_device_slot **device_slot)
{
    int size = members ? members->size : all->ranks;
    tutti_device_slot *s = calloc(1, sizeof *s + (size_t)size * sizeof *s->of);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a device slot");
    s->rank = rank;
    s->lane = lane;
    s->tag = tag;
    s->size = size;
    for (int m = 0; m < size; m++) s->of[m] = members ? members->of[m] : m;
    pthread_mutex_lock(&all->lock);
    tutti_device_slot **end = &all->line[rank];
    while (*end) end = &(*end)->next;
    *end = s;
    complete_all(all);
    pthread_mutex_unlock(&all->lock);
    *device_slot = s;
    return TUTTI_OK;
}

int tutti_device_slots_complete(tutti_device_slots *all, const tutti_device_slot *device_slot)
{
    pthread_mutex_lock(&all->lock);
    int complete = device_slot->complete;
    pthread_mutex_unlock(&all->lock);
    return complete;
}

void tutti_device_slots_release(tutti_device_slots *all, tutti_device_slot *device_slot)
{
    pthread_mutex_lock(&all->lock);
    if (!device_slot->complete) {
        leave_queue(all, device_slot);
        complete_all(all);
    }
    pthread_mutex_unlock(&all->lock);
    free(device_slot);
}
