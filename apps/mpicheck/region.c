#include "apps/mpicheck/region.h"

#include "apps/mpicheck/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes [from, to), counted from the lowest byte of a layout. */
typedef struct piece {
    uint32_t from, to;
} piece;

/* The bytes of `elements` elements of a type: pieces in ascending order that do not touch. */
typedef struct mpicheck_layout {
    int references; /* the table's, and one per region */
    int64_t elements;
    size_t count;
    piece pieces[];
} mpicheck_layout;

/* The last layout of each type that was asked for; `lock` protects the table and all layouts' references. */
static mpicheck_table layouts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const int64_t most_span = 1 << 28;
/* Receives that write a byte twice are looked for in buffers of up to this size. */
static const int64_t most_searched = 1 << 22;

/* A type's numbers, in bytes. */
typedef struct measures {
    MPI_Count size;
    MPI_Aint low, span, extent; /* the true lower bound and extent; the extent */
} measures;

static measures measure(MPI_Datatype type)
{
    measures m = {0};
    MPI_Aint bound;
    if (PMPI_Type_size_x(type, &m.size) != MPI_SUCCESS || m.size < 0) return (measures){0};
    PMPI_Type_get_true_extent(type, &m.low, &m.span);
    PMPI_Type_get_extent(type, &bound, &m.extent);
    return m;
}

/* Whether every element begins after all bytes of the one before. */
static bool in_order(const measures *m, int64_t count)
{
    return count == 1 || m->extent >= m->span;
}

/* Bytes that `count` elements span; *low: where they begin. */
static int64_t span_of(const measures *m, int64_t count, int64_t *low)
{
    int64_t last = (count - 1) * (int64_t)m->extent;
    *low = m->low + (last < 0 ? last : 0);
    return m->span + (last < 0 ? -last : last);
}

/* Whether the type is made without gaps, as far as its numbers and its outermost constructor say. */
static bool plain(MPI_Datatype type, const measures *m)
{
    int integers, addresses, datatypes, combiner;
    if (m->size != m->span) return false;
    PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_DUP ||
           combiner == MPI_COMBINER_CONTIGUOUS || m->span > most_span;
}

void mpicheck_used_add(mpicheck_used *used, const void *buffer, int64_t offset, int64_t count,
    MPI_Datatype type, int peer, bool writes)
{
    if (count <= 0 || type == MPI_DATATYPE_NULL) return;
    const measures m = measure(type);
    if (m.size == 0) return;
    int64_t low, span = span_of(&m, count, &low);
    mpicheck_region region = {
        .count = count,
        .type = type,
        .extent = m.extent,
        .peer = peer,
        .writes = writes,
        .dense = plain(type, &m) && (count == 1 || m.extent == m.span),
    };
    region.low = (uintptr_t)buffer + (uintptr_t)offset + (uintptr_t)low;
    region.high = region.low + (uintptr_t)span;
    if (used->count == used->capacity) {
        used->capacity = used->capacity ? 2 * used->capacity : 2;
        used->regions = realloc(used->regions, sizeof(mpicheck_region) * (size_t)used->capacity);
        if (!used->regions) abort();
    }
    if (used->count == 0 || region.low < used->low) used->low = region.low;
    if (used->count == 0 || region.high > used->high) used->high = region.high;
    used->regions[used->count++] = region;
}

/* ---- layouts ---- */

/* Under the lock. */
static void release(mpicheck_layout *layout)
{
    if (layout && --layout->references == 0) free(layout);
}

/* The pieces of a row of zero and nonzero bytes. */
static mpicheck_layout *pieces_of(const unsigned char *row, size_t length)
{
    size_t room = 16;
    mpicheck_layout *layout = malloc(sizeof(*layout) + room * sizeof(piece));
    if (!layout) abort();
    layout->count = 0;
    for (const unsigned char *end = row + length, *at = row;
         (at = memchr(at, 0xff, (size_t)(end - at)));) {
        const unsigned char *to = memchr(at, 0, (size_t)(end - at));
        if (!to) to = end;
        if (layout->count == room) {
            room *= 2;
            layout = realloc(layout, sizeof(*layout) + room * sizeof(piece));
            if (!layout) abort();
        }
        layout->pieces[layout->count++] = (piece){(uint32_t)(at - row), (uint32_t)(to - row)};
        at = to;
    }
    return layout;
}

/* NULL: the type spans too much, or MPI does not tell. */
static mpicheck_layout *make(MPI_Datatype type, int64_t elements, const measures *m)
{
    int64_t low, span = span_of(m, elements, &low);
    int packed = 0, at = 0;
    if (span > most_span || elements > most_span || m->size * elements > most_span) return NULL;
    if (PMPI_Pack_size((int)elements, type, MPI_COMM_SELF, &packed) != MPI_SUCCESS) return NULL;
    unsigned char *row = calloc((size_t)span, 1), *ones = malloc((size_t)packed + 1);
    if (!row || !ones) abort();
    memset(ones, 0xff, (size_t)packed);
    void *buffer = (void *)((uintptr_t)row - (uintptr_t)low);
    int rc = PMPI_Unpack(ones, packed, &at, buffer, (int)elements, type, MPI_COMM_SELF);
    mpicheck_layout *layout = rc == MPI_SUCCESS ? pieces_of(row, (size_t)span) : NULL;
    if (layout) {
        layout->references = 1;
        layout->elements = elements;
    }
    free(row);
    free(ones);
    return layout;
}

/* Gives the region its layout; false: unknown. Dense regions need none. */
static bool lay_out(mpicheck_region *region)
{
    if (region->dense || region->layout) return true;
    const measures m = measure(region->type);
    int64_t elements = in_order(&m, region->count) ? 1 : region->count;
    uint64_t key = MPICHECK_KEY(region->type);
    pthread_mutex_lock(&lock);
    mpicheck_layout *layout = mpicheck_table_find(&layouts, key);
    if (!layout || layout->elements != elements) {
        release(mpicheck_table_remove(&layouts, key));
        layout = make(region->type, elements, &m);
        if (layout) mpicheck_table_add(&layouts, key, layout);
    }
    if (layout) layout->references++;
    region->layout = layout;
    pthread_mutex_unlock(&lock);
    return layout != NULL;
}

void mpicheck_used_keep(mpicheck_used *used, MPI_Datatype type)
{
    for (int i = 0; i < used->count; i++) {
        mpicheck_region *region = &used->regions[i];
        if (region->type != type || region->dense || lay_out(region)) continue;
        /* Its bytes can no longer be found out: it clashes with nothing. */
        region->low = region->high = 0;
        region->dense = true;
    }
}

void mpicheck_region_forget(MPI_Datatype type)
{
    pthread_mutex_lock(&lock);
    release(mpicheck_table_remove(&layouts, MPICHECK_KEY(type)));
    pthread_mutex_unlock(&lock);
}

void mpicheck_used_free(mpicheck_used *used)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < used->count; i++) release(used->regions[i].layout);
    pthread_mutex_unlock(&lock);
    free(used->regions);
    *used = (mpicheck_used){0};
}

/* ---- comparing ---- */

/* A place in a region: its pieces in ascending order. */
typedef struct cursor {
    const mpicheck_region *region;
    int64_t period, periods; /* repetitions of the layout */
    uintptr_t stride;        /* from one to the next */
    size_t index;
    uintptr_t from, to; /* the piece */
} cursor;

/* Loads the current piece; false when all pieces are done. */
static bool load(cursor *c)
{
    const mpicheck_region *r = c->region;
    if (c->period >= c->periods) return false;
    c->from = r->low;
    c->to = r->high;
    if (r->dense) return true;
    uintptr_t base = r->low + (uintptr_t)c->period * c->stride;
    c->from = base + r->layout->pieces[c->index].from;
    c->to = base + r->layout->pieces[c->index].to;
    return true;
}

static bool next(cursor *c)
{
    size_t count = c->region->dense ? 1 : c->region->layout->count;
    if (++c->index == count) {
        c->index = 0;
        c->period++;
    }
    return load(c);
}

/* At the first repetition that may reach beyond `from`. */
static bool begin(cursor *c, const mpicheck_region *region, uintptr_t from)
{
    *c = (cursor){.region = region, .periods = 1};
    if (!region->dense && region->layout->elements == 1 && region->count > 1) {
        c->periods = region->count;
        c->stride = (uintptr_t)region->extent;
        if (from > region->low) c->period = (int64_t)((from - region->low) / c->stride);
        if (c->period > 0) c->period--;
    }
    return load(c);
}

/* The first byte that both have; 0: none. */
static uintptr_t common(mpicheck_region *a, mpicheck_region *b)
{
    uintptr_t low = a->low > b->low ? a->low : b->low;
    cursor x, y;
    if (a->low >= b->high || b->low >= a->high) return 0;
    if (!lay_out(a) || !lay_out(b)) return 0;
    bool more = begin(&x, a, low) && begin(&y, b, low);
    while (more) {
        if (x.to <= y.from)
            more = next(&x);
        else if (y.to <= x.from)
            more = next(&y);
        else
            return x.from > y.from ? x.from : y.from;
    }
    return 0;
}

static bool clash(mpicheck_region *a, mpicheck_region *b, mpicheck_clash *found)
{
    if (!a->writes && !b->writes) return false;
    *found = (mpicheck_clash){.a = a, .b = b, .at = common(a, b)};
    return found->at != 0;
}

bool mpicheck_used_clash(const mpicheck_used *a, const mpicheck_used *b, mpicheck_clash *found)
{
    if (a->count == 0 || b->count == 0 || a->low >= b->high || b->low >= a->high) return false;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++)
            if (clash(&a->regions[i], &b->regions[j], found)) return true;
    return false;
}

/* Whether elements of one region share bytes, as far as that is cheap to find out. */
static bool repeats(mpicheck_region *region)
{
    if (region->dense) return false;
    const measures m = measure(region->type);
    int64_t span = (int64_t)(region->high - region->low), bytes = 0;
    if (m.size * region->count > span) return true;
    if (in_order(&m, region->count) || span > most_searched || !lay_out(region)) return false;
    for (size_t i = 0; i < region->layout->count; i++)
        bytes += region->layout->pieces[i].to - region->layout->pieces[i].from;
    return bytes < m.size * region->count;
}

static int by_address(const void *a, const void *b)
{
    const mpicheck_region *x = *(mpicheck_region *const *)a, *y = *(mpicheck_region *const *)b;
    return (x->low > y->low) - (x->low < y->low);
}

/* Regions in the order of their addresses: one is compared with those that begin before it ends. */
bool mpicheck_used_clash_within(const mpicheck_used *used, mpicheck_clash *found)
{
    bool clashes = false;
    if (used->count == 0) return false;
    mpicheck_region **sorted = malloc(sizeof(*sorted) * (size_t)used->count);
    if (!sorted) abort();
    for (int i = 0; i < used->count; i++) sorted[i] = &used->regions[i];
    qsort(sorted, (size_t)used->count, sizeof(*sorted), by_address);
    for (int i = 0; i < used->count && !clashes; i++) {
        mpicheck_region *one = sorted[i];
        if (one->writes && repeats(one)) {
            *found = (mpicheck_clash){.a = one, .b = one, .at = one->low};
            clashes = true;
        }
        for (int j = i + 1; j < used->count && sorted[j]->low < one->high && !clashes; j++)
            clashes = clash(one, sorted[j], found);
    }
    free(sorted);
    return clashes;
}
