#include "designs/queue/queue.h"

#include "dag/base/log.h"
#include "designs/passes/chunk.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 32 };
static const tutti_entry_list empty_list = {.first = -1, .last = -1};

tutti_status tutti_queue_open(tutti_queue *queue, int lanes, int lines)
{
    *queue = (tutti_queue){.lanes = lanes, .lines = lines, .room = FIRST_ROOM, .prior_from = -1};
    queue->ring = calloc(FIRST_ROOM, sizeof *queue->ring);
    queue->cursor = calloc((size_t)lines, sizeof *queue->cursor);
    queue->bytes_in_flight = calloc((size_t)lines, sizeof *queue->bytes_in_flight);
    queue->ready = calloc((size_t)lines, sizeof *queue->ready);
    queue->granted = calloc((size_t)lines, sizeof *queue->granted);
    if (!queue->ring || !queue->cursor || !queue->bytes_in_flight || !queue->ready ||
        !queue->granted) {
        tutti_queue_close(queue);
        return tutti_fail(TUTTI_ERR_NOMEM, "collective queue: no memory");
    }
    queue->flight = queue->fresh = empty_list;
    for (int i = 0; i < lines; i++) queue->ready[i] = queue->granted[i] = empty_list;
    return TUTTI_OK;
}

void tutti_queue_close(tutti_queue *queue)
{
    free(queue->ring);
    free(queue->cursor);
    free(queue->bytes_in_flight);
    free(queue->ready);
    free(queue->granted);
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
    tutti_queue *queue, const tutti_place *place, const char *name, int64_t *sequence)
{
    int chunks = tutti_chunk_count(place);
    while (queue->next - queue->lowest + chunks > queue->room) {
        tutti_status status = double_room(queue);
        if (status) return status;
    }
    *sequence = queue->next;
    if (place->index == 0) queue->base = queue->next;
    if (place->priority && queue->prior_from < 0) queue->prior_from = queue->next;
    for (int i = 0; i < chunks; i++, queue->next++)
        *tutti_queue_get(queue, queue->next) = (tutti_entry){.sequence = queue->next,
            .message = -1,
            .index = place->index,
            .base = queue->base,
            .chunk = i,
            .chunks = chunks,
            .slots = place->slots,
            .ordered = queue->ordering && place->slots == queue->slots,
            .prior = queue->prior_from >= 0,
            .priority = place->priority,
            .lane = tutti_chunk_lane(place, i),
            .state = TUTTI_ENTRY_RESERVED,
            .before = -1,
            .after = -1,
            .left = chunks,
            .name = name};
    return TUTTI_OK;
}

tutti_entry *tutti_queue_get(tutti_queue *queue, int64_t sequence)
{
    return &queue->ring[sequence & (queue->room - 1)];
}

static tutti_entry *find_entry(tutti_queue *queue, int64_t sequence)
{
    return sequence < 0 ? NULL : tutti_queue_get(queue, sequence);
}

/* The entry at this slot; NULL: not known, or not submitted yet. */
static tutti_entry *at_slot(tutti_queue *queue, int64_t slot)
{
    tutti_entry *entry = tutti_queue_get(queue, slot);
    if (!entry->ordered) return entry;
    int64_t sequence = queue->order ? entry->base + queue->order[slot - entry->base] : queue->next;
    return sequence < queue->next ? tutti_queue_get(queue, sequence) : NULL;
}

int64_t tutti_entry_bytes(const tutti_entry *entry)
{
    int known = (unsigned)entry->args.dtype < TUTTI_DTYPE_COUNT;
    return known ? entry->args.count * (int64_t)tutti_dtype_bytes(entry->args.dtype) : 0;
}

int tutti_queue_line(const tutti_queue *queue, const tutti_entry *entry)
{
    return queue->lines == 1 ? 0 : entry->lane;
}

/* The turns of a group that follows an order are consecutive: until all of it has started, no other has a turn. */
int tutti_queue_has_turn(tutti_queue *queue, const tutti_entry *entry, int64_t turn)
{
    return turn >= (entry->ordered ? tutti_queue_get(queue, entry->base) : entry)->turn;
}

/* Each line has its own window: with a shared one, two ranks could each fill it with what the other waits for, and
 * deadlock. */
static int has_room(const tutti_queue *queue, const tutti_entry *entry)
{
    int64_t bytes_in_flight = queue->bytes_in_flight[tutti_queue_line(queue, entry)];
    return !entry->ordered || !queue->window || !bytes_in_flight ||
           bytes_in_flight + tutti_entry_bytes(entry) <= queue->window;
}

tutti_entry *tutti_queue_startable(tutti_queue *queue, int line)
{
    int64_t *cursor = &queue->cursor[line];
    if (*cursor < queue->lowest) *cursor = queue->lowest;
    for (; *cursor < queue->next; ++*cursor) {
        tutti_entry *entry = at_slot(queue, *cursor);
        if (!entry) return NULL;
        if (tutti_queue_line(queue, entry) != line || entry->state == TUTTI_ENTRY_STARTED ||
            entry->state == TUTTI_ENTRY_GONE)
            continue;
        if (entry->prior) return find_entry(queue, queue->granted[line].first);
        return entry->state == TUTTI_ENTRY_READY && has_room(queue, entry) ? entry : NULL;
    }
    return NULL;
}

tutti_entry *tutti_queue_oldest(tutti_queue *queue)
{
    for (int64_t slot = queue->lowest; slot < queue->next; slot++) {
        tutti_entry *entry = at_slot(queue, slot);
        if (!entry) entry = tutti_queue_get(queue, slot);
        if (entry->state != TUTTI_ENTRY_GONE) return entry;
    }
    return NULL;
}

/* The last chunk of this entry's node. The queue keeps it at least as long as those before it. */
static tutti_entry *last_chunk(tutti_queue *queue, const tutti_entry *entry)
{
    return tutti_queue_get(queue, entry->sequence - entry->chunk + entry->chunks - 1);
}

int tutti_queue_is_last(tutti_queue *queue, const tutti_entry *entry)
{
    return last_chunk(queue, entry)->left == 1;
}

/* ---- lists ---- */

static void append_entry(tutti_queue *queue, tutti_entry_list *list, tutti_entry *entry)
{
    entry->in = list;
    entry->before = list->last;
    entry->after = -1;
    *(list->last < 0 ? &list->first : &tutti_queue_get(queue, list->last)->after) = entry->sequence;
    list->last = entry->sequence;
}

static void remove_entry(tutti_queue *queue, tutti_entry *entry)
{
    tutti_entry_list *list = entry->in;
    int64_t before = entry->before, after = entry->after;
    *(before < 0 ? &list->first : &tutti_queue_get(queue, before)->after) = after;
    *(after < 0 ? &list->last : &tutti_queue_get(queue, after)->before) = before;
    entry->before = entry->after = -1;
    entry->in = NULL;
}

/* Whether it is ready and waits for its grant. */
static int is_ungranted(const tutti_queue *queue, const tutti_entry *entry)
{
    return entry->prior && entry->state == TUTTI_ENTRY_READY &&
           entry->in != &queue->granted[tutti_queue_line(queue, entry)];
}

static void leave_ready(tutti_queue *queue, tutti_entry *entry)
{
    queue->ungranted -= is_ungranted(queue, entry);
    remove_entry(queue, entry);
}

void tutti_queue_ready(tutti_queue *queue, tutti_entry *entry)
{
    entry->state = TUTTI_ENTRY_READY;
    tutti_entry_list *ready = &queue->ready[tutti_queue_line(queue, entry)];
    append_entry(queue, entry->prior ? &queue->fresh : ready, entry);
    queue->ungranted += entry->prior;
}

tutti_entry *tutti_queue_report(tutti_queue *queue)
{
    tutti_entry *entry = find_entry(queue, queue->fresh.first);
    if (!entry) return NULL;
    remove_entry(queue, entry);
    append_entry(queue, &queue->ready[tutti_queue_line(queue, entry)], entry);
    return entry;
}

int tutti_queue_grant(tutti_queue *queue, tutti_entry *entry)
{
    if (!is_ungranted(queue, entry)) return 0;
    leave_ready(queue, entry);
    append_entry(queue, &queue->granted[tutti_queue_line(queue, entry)], entry);
    return 1;
}

void tutti_queue_start(tutti_queue *queue, tutti_entry *entry)
{
    leave_ready(queue, entry);
    append_entry(queue, &queue->flight, entry);
    entry->state = TUTTI_ENTRY_STARTED;
    queue->started++;
    queue->bytes_in_flight[tutti_queue_line(queue, entry)] += tutti_entry_bytes(entry);
}

/* How many entries from `lowest` on can be dropped: those that are gone. A group that follows an order is dropped as
 * a whole, because its slots are found through its entries. */
static int64_t count_forgettable(tutti_queue *queue)
{
    const tutti_entry *first = tutti_queue_get(queue, queue->lowest);
    int64_t least = first->ordered ? queue->slots : 1, gone = queue->gone;
    if (queue->lowest + least > queue->next) return 0;
    while (gone < least && tutti_queue_get(queue, queue->lowest + gone)->state == TUTTI_ENTRY_GONE)
        gone++;
    queue->gone = gone == least ? 0 : gone;
    return gone == least ? gone : 0;
}

void tutti_queue_forget(tutti_queue *queue, tutti_entry *entry)
{
    if (entry->state == TUTTI_ENTRY_STARTED) {
        remove_entry(queue, entry);
        queue->started--;
        queue->bytes_in_flight[tutti_queue_line(queue, entry)] -= tutti_entry_bytes(entry);
    } else if (entry->state == TUTTI_ENTRY_READY) {
        leave_ready(queue, entry);
    }
    entry->state = TUTTI_ENTRY_GONE;
    last_chunk(queue, entry)->left--;
    while (queue->lowest < queue->next) {
        int64_t gone = count_forgettable(queue);
        if (!gone) break;
        queue->lowest += gone;
    }
}

tutti_entry *tutti_queue_first_started(tutti_queue *queue)
{
    return find_entry(queue, queue->flight.first);
}

tutti_entry *tutti_queue_after(tutti_queue *queue, const tutti_entry *entry)
{
    return find_entry(queue, entry->after);
}

tutti_entry *tutti_queue_first_ready(tutti_queue *queue, int line)
{
    const tutti_entry_list *list[] = {&queue->granted[line], &queue->ready[line], &queue->fresh};
    int i = 0;
    while (i < 2 && list[i]->first < 0) i++;
    return find_entry(queue, list[i]->first);
}

int64_t tutti_queue_ready_group(tutti_queue *queue)
{
    int64_t s = queue->group_end > queue->lowest ? queue->group_end : queue->lowest;
    int whole = 1;
    for (; s < queue->next; s++) {
        const tutti_entry *entry = &queue->ring[s & (queue->room - 1)];
        if (entry->base > queue->lowest) break;
        whole = entry->state == TUTTI_ENTRY_READY;
        if (!whole) break;
    }
    queue->group_end = s;
    return whole ? s - queue->lowest : 0;
}

tutti_entry *tutti_queue_alone(tutti_queue *queue, int line)
{
    if (queue->started || queue->lowest == queue->next) return NULL;
    tutti_entry *oldest = tutti_queue_get(queue, queue->lowest);
    int ready =
        queue->singly ? oldest->state == TUTTI_ENTRY_READY : tutti_queue_ready_group(queue) > 0;
    return ready && tutti_queue_line(queue, oldest) == line ? oldest : NULL;
}
