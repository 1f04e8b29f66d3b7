#include "collectives/cache.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* A training step needs a few hundred at most, but the cache of a program whose counts never repeat must
 * not grow forever. */
enum { BUCKETS = 256, MOST_ENTRIES = 1024 };

struct tutti_cache {
    tutti_cache_entry *bucket[BUCKETS];
    int entries;
};

tutti_status tutti_cache_new(tutti_cache **cache)
{
    tutti_cache *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a cache of schedules");
    *cache = c;
    return TUTTI_OK;
}

static void forget_unused(tutti_cache *c)
{
    for (int b = 0; b < BUCKETS; b++) {
        for (tutti_cache_entry **link = &c->bucket[b]; *link;) {
            tutti_cache_entry *e = *link;
            if (e->users) {
                link = &e->next;
                continue;
            }
            *link = e->next;
            tutti_sched_free(e->sched);
            free(e);
            c->entries--;
        }
    }
}

void tutti_cache_free(tutti_cache *cache)
{
    if (!cache) return;
    forget_unused(cache);
    free(cache);
}

static int same_counts(const tutti_sched_shape *a, const tutti_sched_shape *b)
{
    if (!a->counts || !b->counts) return a->counts == b->counts;
    size_t counts = (size_t)a->P * (a->kind == TUTTI_ALLTOALL ? 2 : 1);
    return !memcmp(a->counts, b->counts, counts * sizeof *a->counts);
}

static int same_shape(const tutti_sched_shape *a, const tutti_sched_shape *b)
{
    return a->kind == b->kind && a->count == b->count && a->root == b->root &&
           a->segment == b->segment && a->in_place == b->in_place && a->ordered == b->ordered &&
           a->wide == b->wide && a->extras == b->extras && a->radix == b->radix &&
           a->forest == b->forest && a->rank == b->rank && a->P == b->P && same_counts(a, b);
}

static unsigned bucket_of(const tutti_sched_shape *shape)
{
    uint64_t h = (uint64_t)shape->count * 8 + (uint64_t)shape->kind;
    h = (h ^ (uint64_t)shape->root << 40) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 56) % BUCKETS;
}

tutti_status tutti_cache_get(tutti_cache *c, tutti_sched_builder build,
    const tutti_sched_shape *shape, tutti_cache_entry **entry)
{
    tutti_cache_entry **bucket = &c->bucket[bucket_of(shape)], *e = *bucket;
    while (e && !(e->build == build && same_shape(&e->sched->shape, shape))) e = e->next;
    if (!e) {
        if (c->entries >= MOST_ENTRIES) forget_unused(c);
        e = malloc(sizeof *e);
        if (!e) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a schedule");
        *e = (tutti_cache_entry){.build = build};
        tutti_status status = build(shape, &e->sched);
        if (status) {
            free(e);
            return status;
        }
        e->next = *bucket;
        *bucket = e;
        c->entries++;
    }
    e->users++;
    *entry = e;
    return TUTTI_OK;
}

void tutti_cache_drop(tutti_cache_entry *entry)
{
    if (entry) entry->users--;
}
