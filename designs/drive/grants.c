#include "designs/drive/grants.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FIRST_ROOM = 256 };

tutti_status tutti_grants_open(
    tutti_grants *grants, int64_t first, int parts, int64_t window, int most)
{
    *grants = (tutti_grants){.parts = parts,
        .room = FIRST_ROOM,
        .lowest = first,
        .end = first,
        .window = window,
        .most = most};
    grants->reports = calloc(FIRST_ROOM, sizeof *grants->reports);
    if (grants->reports) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for what the ranks have ready");
}

void tutti_grants_close(tutti_grants *grants)
{
    free(grants->reports);
    free(grants->heap);
    *grants = (tutti_grants){0};
}

/* ---- reports ---- */

static int *reports_of(const tutti_grants *g, int64_t sequence)
{
    return &g->reports[sequence & (g->room - 1)];
}

static tutti_status widen_ring(tutti_grants *g, int64_t end)
{
    int64_t room = g->room;
    while (end - g->lowest > room) room *= 2;
    if (room == g->room) return TUTTI_OK;
    int *wider = calloc((size_t)room, sizeof *wider);
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for what the ranks have ready");
    for (int64_t s = g->lowest; s < g->end; s++) wider[s & (room - 1)] = *reports_of(g, s);
    free(g->reports);
    g->reports = wider;
    g->room = room;
    return TUTTI_OK;
}

tutti_status tutti_grants_report(tutti_grants *grants, int64_t sequence, int *complete)
{
    tutti_grants *g = grants;
    *complete = 0;
    if (sequence < g->lowest || (sequence < g->end && *reports_of(g, sequence) == g->parts))
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "collective #%" PRId64 " is reported ready by more ranks than exist", sequence);
    tutti_status status = widen_ring(g, sequence + 1);
    if (status) return status;
    for (; g->end <= sequence; g->end++) *reports_of(g, g->end) = 0;
    *complete = ++*reports_of(g, sequence) == g->parts;
    while (g->lowest < g->end && *reports_of(g, g->lowest) == g->parts) g->lowest++;
    return TUTTI_OK;
}

/* ---- candidates: a heap ---- */

static int goes_before(const tutti_candidate *a, const tutti_candidate *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->sequence < b->sequence;
}

static void swap_candidates(tutti_candidate *a, tutti_candidate *b)
{
    tutti_candidate c = *a;
    *a = *b;
    *b = c;
}

tutti_status tutti_grants_add(tutti_grants *grants, const tutti_candidate *candidate)
{
    tutti_grants *g = grants;
    if (g->candidates == g->heap_room) {
        int room = g->heap_room ? 2 * g->heap_room : FIRST_ROOM;
        tutti_candidate *wider = realloc(g->heap, (size_t)room * sizeof *wider);
        if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for collectives that wait");
        g->heap = wider;
        g->heap_room = room;
    }
    int at = g->candidates++;
    g->heap[at] = *candidate;
    for (int above; at && goes_before(&g->heap[at], &g->heap[above = (at - 1) / 2]); at = above)
        swap_candidates(&g->heap[at], &g->heap[above]);
    return TUTTI_OK;
}

static void remove_first(tutti_grants *g)
{
    tutti_candidate *h = g->heap;
    h[0] = h[--g->candidates];
    for (int at = 0;;) {
        int best = at;
        for (int below = 2 * at + 1; below <= 2 * at + 2 && below < g->candidates; below++)
            if (goes_before(&h[below], &h[best])) best = below;
        if (best == at) return;
        swap_candidates(&h[at], &h[best]);
        at = best;
    }
}

static int has_room(const tutti_grants *g, int64_t bytes)
{
    if (!g->granted) return 1;
    return g->granted < g->most && (!g->window || g->bytes + bytes <= g->window);
}

int tutti_grants_next(tutti_grants *grants, int64_t *sequence)
{
    tutti_grants *g = grants;
    if (!g->candidates || !has_room(g, g->heap[0].bytes)) return 0;
    *sequence = g->heap[0].sequence;
    g->bytes += g->heap[0].bytes;
    g->granted++;
    remove_first(g);
    return 1;
}

void tutti_grants_end(tutti_grants *grants, int64_t bytes)
{
    grants->bytes -= bytes;
    grants->granted--;
}
