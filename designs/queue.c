#include "designs/queue.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

tutti_status tutti_queue_open(tutti_queue *queue, int lanes)
{
    *queue = (tutti_queue){.lanes = lanes, .room = FIRST_ROOM};
    queue->ring = calloc(FIRST_ROOM, sizeof *queue->ring);
    queue->cursor = calloc((size_t)lanes, sizeof *queue->cursor);
    if (queue->ring && queue->cursor) return TUTTI_OK;
    tutti_queue_close(queue);
    return tutti_fail(TUTTI_ERR_NOMEM, "collective queue: no memory");
}

void tutti_queue_close(tutti_queue *queue)
{
    free(queue->ring);
    free(queue->cursor);
    memset(queue, 0, sizeof *queue);
}

static tutti_status double_room(tutti_queue *q)
{
    tutti_entry *wider = calloc((size_t)q->room * 2, sizeof *wider);
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "collective queue: no memory");
    for (int64_t s = q->lowest; s < q->next; s++)
        wider[s & (2 * q->room - 1)] = *tutti_queue_get(q, s);
    free(q->ring);
    q->ring = wider;
    q->room *= 2;
    return TUTTI_OK;
}

tutti_status tutti_queue_reserve(
    tutti_queue *queue, int lane, int64_t index, const char *name, int64_t *sequence)
{
    if (queue->next - queue->lowest == queue->room) {
        tutti_status status = double_room(queue);
        if (status) return status;
    }
    *sequence = queue->next++;
    *tutti_queue_get(queue, *sequence) = (tutti_entry){.sequence = *sequence,
        .index = index,
        .lane = lane,
        .state = TUTTI_ENTRY_RESERVED,
        .name = name};
    return TUTTI_OK;
}

tutti_entry *tutti_queue_get(tutti_queue *queue, int64_t sequence)
{
    return &queue->ring[sequence & (queue->room - 1)];
}

tutti_entry *tutti_queue_startable(tutti_queue *queue, int lane)
{
    int64_t *cursor = &queue->cursor[lane];
    for (; *cursor < queue->next; ++*cursor) {
        if (*cursor < queue->lowest) continue;
        tutti_entry *entry = tutti_queue_get(queue, *cursor);
        if (entry->lane != lane || entry->state == TUTTI_ENTRY_STARTED ||
            entry->state == TUTTI_ENTRY_GONE)
            continue;
        return entry->state == TUTTI_ENTRY_READY ? entry : NULL;
    }
    return NULL;
}

void tutti_queue_start(tutti_queue *queue, tutti_entry *entry)
{
    entry->state = TUTTI_ENTRY_STARTED;
    queue->started++;
}

void tutti_queue_forget(tutti_queue *queue, tutti_entry *entry)
{
    if (entry->state == TUTTI_ENTRY_STARTED) queue->started--;
    entry->state = TUTTI_ENTRY_GONE;
    while (queue->lowest < queue->next &&
           tutti_queue_get(queue, queue->lowest)->state == TUTTI_ENTRY_GONE)
        queue->lowest++;
}

static tutti_entry *next_from(tutti_queue *queue, int64_t from, tutti_entry_state least)
{
    if (from < queue->lowest) from = queue->lowest;
    for (int64_t s = from; s < queue->next; s++) {
        tutti_entry *entry = tutti_queue_get(queue, s);
        if (entry->state >= least) return entry;
    }
    return NULL;
}

tutti_entry *tutti_queue_next_started(tutti_queue *queue, int64_t from)
{
    return next_from(queue, from, TUTTI_ENTRY_STARTED);
}

tutti_entry *tutti_queue_next_posted(tutti_queue *queue, int64_t from)
{
    return next_from(queue, from, TUTTI_ENTRY_READY);
}

int64_t tutti_queue_ready_group(const tutti_queue *queue)
{
    int64_t s = queue->lowest;
    for (; s < queue->next; s++) {
        const tutti_entry *entry = &queue->ring[s & (queue->room - 1)];
        if (s > queue->lowest && entry->index == 0) break;
        if (entry->state != TUTTI_ENTRY_READY) return 0;
    }
    return s - queue->lowest;
}
