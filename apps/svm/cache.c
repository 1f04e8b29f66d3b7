#include "apps/svm/cache.h"

#include "apps/svm/memory.h"

#include <string.h>

enum { MOST = 1 << 17, WAYS = 8, MOST_WAYS = 64 };

/* Slot `set + way * sets` is one of the `ways` of a set. */
typedef struct slot {
    int64_t id;              /* plus 1; 0: it is empty */
    uint64_t use, last_take; /* 0: never */
} slot;

struct tutti_svm_cache {
    size_t bytes, element;
    int64_t rows, sets, ways; /* sets: since it was cleared; ways: as rows leave room for */
    char *data;
    slot *slot;
    uint64_t use, takes;
};

static int64_t count_slots(const tutti_svm_cache *c)
{
    const size_t slots = c->bytes / ((size_t)(c->rows ? c->rows : 1) * c->element);
    return slots < MOST ? (int64_t)slots : MOST;
}

tutti_status tutti_svm_cache_new(
    size_t bytes, size_t element, int64_t rows, tutti_svm_cache **cache)
{
    tutti_svm_cache *c = tutti_svm_new(1, sizeof *c);
    if (!c) return TUTTI_ERR_NOMEM;
    *c = (tutti_svm_cache){.bytes = bytes,
        .element = element,
        .slot = tutti_svm_new(MOST, sizeof *c->slot),
        .data = malloc(bytes + 1)};
    if (!c->slot || !c->data) {
        tutti_svm_cache_free(c);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a kernel cache of %zu MB (--cache-mb)",
            bytes / 1000000);
    }
    tutti_svm_cache_clear(c, rows);
    *cache = c;
    return TUTTI_OK;
}

void tutti_svm_cache_begin(tutti_svm_cache *c)
{
    c->use++;
}

void *tutti_svm_cache_take(tutti_svm_cache *c, int64_t id, int *known)
{
    const int64_t set = c->sets ? (int64_t)((uint64_t)id % (uint64_t)c->sets) : 0;
    int64_t found = -1;
    *known = 0;
    for (int64_t s = set; s < c->sets * c->ways && !*known; s += c->sets) {
        const slot *k = &c->slot[s];
        *known = k->id == id + 1;
        if (*known || (k->use != c->use && (found < 0 || k->last_take < c->slot[found].last_take)))
            found = s;
    }
    if (found < 0) return NULL;
    c->slot[found] = (slot){id + 1, c->use, ++c->takes};
    return c->data + (size_t)found * (size_t)c->rows * c->element;
}

void tutti_svm_cache_keep(tutti_svm_cache *c, int64_t rows, const int64_t which[])
{
    const size_t e = c->element;
    for (int64_t s = 0; s < c->sets * c->ways; s++) {
        const char *from = c->data + (size_t)s * (size_t)c->rows * e;
        char *to = c->data + (size_t)s * (size_t)rows * e;
        for (int64_t i = 0; i < rows && c->slot[s].id && e == sizeof(float); i++)
            ((float *)(void *)to)[i] = ((const float *)(const void *)from)[which[i]];
        for (int64_t i = 0; i < rows && c->slot[s].id && e == sizeof(double); i++)
            ((double *)(void *)to)[i] = ((const double *)(const void *)from)[which[i]];
    }
    c->rows = rows;
    if (c->sets) c->ways = count_slots(c) / c->sets;
    if (c->ways > MOST_WAYS) c->ways = MOST_WAYS;
}

void tutti_svm_cache_clear(tutti_svm_cache *c, int64_t rows)
{
    memset(c->slot, 0, MOST * sizeof *c->slot);
    c->rows = rows;
    const int64_t slots = count_slots(c);
    c->ways = slots < WAYS ? slots : WAYS;
    c->sets = c->ways ? slots / c->ways : 0;
}

void tutti_svm_cache_free(tutti_svm_cache *c)
{
    if (!c) return;
    free(c->slot);
    free(c->data);
    free(c);
}
