#include "collectives/buf/buf.h"
#include "dag/base/log.h"

#include <stdlib.h>

/* The 64 bytes before a block hold its size class, so that the block itself stays aligned. */
typedef struct head {
    struct head *next;
    int class;
    int ordinary; /* not from the pool's source */
} head;

enum { HEAD_BYTES = 64, CLASSES = 192 };
_Static_assert(sizeof(head) <= HEAD_BYTES, "a block's head fits before it");

struct tutti_pool {
    tutti_pool_source source; /* take NULL: ordinary memory */
    head *idle[CLASSES];
    int64_t made;
};

/* Four classes per doubling: above 256 bytes, less than a fifth of a block is slack. */
static size_t class_bytes(int class)
{
    return ((size_t)(4 + class % 4) << (class / 4)) * 64;
}

tutti_status tutti_pool_new_from(const tutti_pool_source *source, tutti_pool **pool)
{
    tutti_status status = tutti_pool_new(pool);
    if (!status) (*pool)->source = *source;
    return status;
}

tutti_status tutti_pool_new(tutti_pool **pool)
{
    tutti_pool *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a pool of buffers");
    *pool = p;
    return TUTTI_OK;
}

void tutti_pool_free(tutti_pool *pool)
{
    for (int c = 0; pool && c < CLASSES; c++) {
        for (head *h = pool->idle[c], *next; h; h = next) {
            next = h->next;
            if (h->ordinary)
                free(h);
            else
                pool->source.give(pool->source.ctx, h);
        }
    }
    free(pool);
}

/* NULL: no memory. */
static head *new_block(const tutti_pool *pool, int class)
{
    const size_t bytes = HEAD_BYTES + class_bytes(class);
    void *memory;
    const int ordinary =
        !pool->source.take || pool->source.take(pool->source.ctx, bytes, &memory) != TUTTI_OK;
    head *h = ordinary ? aligned_alloc(HEAD_BYTES, bytes) : memory;
    if (h) *h = (head){.class = class, .ordinary = ordinary};
    return h;
}

tutti_status tutti_pool_take(tutti_pool *pool, size_t bytes, void **block)
{
    int c = 0;
    while (c < CLASSES && class_bytes(c) < bytes) c++;
    head *h = c < CLASSES ? pool->idle[c] : NULL;
    if (h) {
        pool->idle[c] = h->next;
    } else {
        if (c < CLASSES) h = new_block(pool, c);
        pool->made += h != NULL;
        if (!h) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a buffer of %zu bytes", bytes);
    }
    *block = (char *)h + HEAD_BYTES;
    return TUTTI_OK;
}

int64_t tutti_pool_made(const tutti_pool *pool)
{
    return pool->made;
}

void tutti_pool_give(tutti_pool *pool, void *block)
{
    if (!block) return;
    head *h = (head *)((char *)block - HEAD_BYTES);
    h->next = pool->idle[h->class];
    pool->idle[h->class] = h;
}
