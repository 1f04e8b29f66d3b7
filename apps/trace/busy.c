#include "apps/trace/busy.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

static void join(tutti_busy *b, double begin_ms, double end_ms)
{
    if (b->count && begin_ms <= b->end_ms[b->count - 1]) {
        b->end_ms[b->count - 1] = fmax(b->end_ms[b->count - 1], end_ms);
        return;
    }
    b->before_ms[b->count] =
        b->count ? b->before_ms[b->count - 1] + b->end_ms[b->count - 1] - b->begin_ms[b->count - 1]
                 : 0;
    b->begin_ms[b->count] = begin_ms;
    b->end_ms[b->count++] = end_ms;
}

tutti_status tutti_busy_find(
    const tutti_timeline *t, int rank, int (*counts)(tutti_span_kind kind), tutti_busy *b)
{
    int64_t first = t->of_rank[rank], last = t->of_rank[rank + 1];
    size_t bytes = (size_t)(last - first + 1) * sizeof(double);
    *b = (tutti_busy){
        .begin_ms = malloc(bytes), .end_ms = malloc(bytes), .before_ms = malloc(bytes)};
    if (!b->begin_ms || !b->end_ms || !b->before_ms)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to study a trace");
    for (int64_t i = first; i < last; i++)
        if (counts(t->event[i].kind)) join(b, t->event[i].begin_ms, t->event[i].end_ms);
    return TUTTI_OK;
}

void tutti_busy_free(tutti_busy *busy)
{
    free(busy->begin_ms);
    free(busy->end_ms);
    free(busy->before_ms);
    *busy = (tutti_busy){0};
}

/* The busy time before t. */
static double before(const tutti_busy *b, double t_ms)
{
    int64_t low = 0, high = b->count; /* intervals that begin before t */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (b->begin_ms[middle] < t_ms)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return 0;
    return b->before_ms[low - 1] + fmin(t_ms, b->end_ms[low - 1]) - b->begin_ms[low - 1];
}

double tutti_busy_within(const tutti_busy *busy, double begin_ms, double end_ms)
{
    return before(busy, end_ms) - before(busy, begin_ms);
}
