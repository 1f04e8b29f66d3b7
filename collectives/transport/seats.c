#include "collectives/transport/seats.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct tutti_seat {
    tutti_seat *next; /* in its rank's line */
    int rank, lane, tag;
    int met;
    int size, of[]; /* its ranks */
};

struct tutti_seats {
    pthread_mutex_t lock; /* protects what follows; no other lock is taken under it */
    int ranks, seats;
    tutti_seat **line; /* [ranks] the oldest of those that have not left */
};

tutti_status tutti_seats_new(int ranks, int seats, tutti_seats **all)
{
    if (ranks < 1 || seats < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "%d seats for each of %d ranks", seats, ranks);
    tutti_seats *s = calloc(1, sizeof *s);
    tutti_seat **line = calloc((size_t)ranks, sizeof(tutti_seat *));
    if (!s || !line) {
        free(s);
        free(line);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the seats of %d ranks", ranks);
    }
    s->ranks = ranks;
    s->seats = seats;
    s->line = line;
    pthread_mutex_init(&s->lock, NULL);
    *all = s;
    return TUTTI_OK;
}

void tutti_seats_free(tutti_seats *all)
{
    if (!all) return;
    for (int r = 0; r < all->ranks; r++)
        while (all->line[r]) {
            tutti_seat *next = all->line[r]->next;
            free(all->line[r]);
            all->line[r] = next;
        }
    pthread_mutex_destroy(&all->lock);
    free(all->line);
    free(all);
}

static int is_same(const tutti_seat *a, const tutti_seat *b)
{
    return a->lane == b->lane && a->tag == b->tag && a->size == b->size &&
           !memcmp(a->of, b->of, (size_t)a->size * sizeof *a->of);
}

/* The part of a collective that sits on this rank, or NULL. Lock held. */
static tutti_seat *sitting(const tutti_seats *all, int rank, const tutti_seat *like)
{
    tutti_seat *s = all->line[rank];
    for (int n = 0; s && n < all->seats; n++, s = s->next)
        if (is_same(s, like)) return s;
    return NULL;
}

static void leave(tutti_seats *all, const tutti_seat *seat)
{
    tutti_seat **at = &all->line[seat->rank];
    while (*at && *at != seat) at = &(*at)->next;
    if (*at) *at = seat->next;
}

/* Lets this collective leave if it sits on all its ranks; returns whether it does. */
static int try_leave(tutti_seats *all, const tutti_seat *like)
{
    for (int m = 0; m < like->size; m++)
        if (!sitting(all, like->of[m], like)) return 0;
    for (int m = like->size - 1; m >= 0; m--) {
        tutti_seat *part = sitting(all, like->of[m], like);
        leave(all, part);
        part->met = 1;
    }
    return 1;
}

/* Who leaves lets others sit down, who may then leave. Lock held. */
static void settle(tutti_seats *all)
{
    for (int moved = 1; moved;) {
        moved = 0;
        for (int r = 0; r < all->ranks && !moved; r++) {
            const tutti_seat *s = all->line[r];
            for (int n = 0; s && n < all->seats && !moved; n++, s = s->next)
                moved = try_leave(all, s);
        }
    }
}

tutti_status tutti_seats_take(tutti_seats *all, int rank, int lane, int tag,
    const tutti_members *members, tutti_seat **seat)
{
    int size = members ? members->size : all->ranks;
    tutti_seat *s = calloc(1, sizeof *s + (size_t)size * sizeof *s->of);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a seat");
    s->rank = rank;
    s->lane = lane;
    s->tag = tag;
    s->size = size;
    for (int m = 0; m < size; m++) s->of[m] = members ? members->of[m] : m;
    pthread_mutex_lock(&all->lock);
    tutti_seat **end = &all->line[rank];
    while (*end) end = &(*end)->next;
    *end = s;
    settle(all);
    pthread_mutex_unlock(&all->lock);
    *seat = s;
    return TUTTI_OK;
}

int tutti_seats_met(tutti_seats *all, const tutti_seat *seat)
{
    pthread_mutex_lock(&all->lock);
    int met = seat->met;
    pthread_mutex_unlock(&all->lock);
    return met;
}

void tutti_seats_give(tutti_seats *all, tutti_seat *seat)
{
    pthread_mutex_lock(&all->lock);
    if (!seat->met) {
        leave(all, seat);
        settle(all);
    }
    pthread_mutex_unlock(&all->lock);
    free(seat);
}
