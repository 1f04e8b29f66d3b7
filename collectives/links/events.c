#include "collectives/links/events.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

static int is_before(const tutti_timed_event *a, const tutti_timed_event *b)
{
    return a->at_s < b->at_s || (a->at_s == b->at_s && a->number < b->number);
}

tutti_status tutti_events_add(tutti_events *q, double at_s, int64_t what)
{
    if (q->n == q->room) {
        int room = q->room ? 2 * q->room : 64;
        tutti_timed_event *larger = realloc(q->heap, (size_t)room * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d events", room);
        q->heap = larger;
        q->room = room;
    }
    const tutti_timed_event event = {at_s, q->added++, what};
    int i = q->n++;
    for (; i && is_before(&event, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = event;
    return TUTTI_OK;
}

double tutti_events_next(const tutti_events *q)
{
    return q->n ? q->heap[0].at_s : HUGE_VAL;
}

int tutti_events_take(tutti_events *q, double until_s, tutti_timed_event *event)
{
    if (!q->n || q->heap[0].at_s > until_s) return 0;
    *event = q->heap[0];
    const tutti_timed_event last = q->heap[--q->n];
    int i = 0;
    for (int child; (child = 2 * i + 1) < q->n; i = child) {
        if (child + 1 < q->n && is_before(&q->heap[child + 1], &q->heap[child])) child++;
        if (!is_before(&q->heap[child], &last)) break;
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = last;
    return 1;
}

void tutti_events_free(tutti_events *q)
{
    free(q->heap);
    *q = (tutti_events){.heap = NULL};
}
