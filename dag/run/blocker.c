#include "dag/run/blocker.h"

#include "dag/base/log.h"
#include "dag/graph/edges.h"
#include "dag/run/sequence.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* An unfinished instance and the way from it to its root. */
typedef struct way {
    int64_t next; /* the predecessor followed; -1: this is a root */
    int64_t root;
} way;

typedef struct search {
    const tutti_ledger_item *item;
    way *way; /* [items]; instances are numbered by their index in item */
} search;

/* When it began; INFINITY if it has not. */
static double began(const search *s, int64_t i)
{
    return s->item[i].began_s > 0 ? s->item[i].began_s : INFINITY;
}

static void follow(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    search *s = ctx;
    if (from == to || s->item[to].began_s > 0) return; /* what has begun waits for nothing */
    if (edge == TUTTI_EDGE_START && s->item[from].began_s > 0) return;
    way *w = &s->way[to];
    if (w->next >= 0 && began(s, s->way[from].root) >= began(s, w->root)) return;
    *w = (way){.next = from, .root = s->way[from].root};
}

static int tensors_of(const tutti_ledger_item item[], int64_t items)
{
    int most = -1;
    for (int64_t i = 0; i < items; i++)
        for (int a = 0; a < item[i].task.accesses; a++)
            if (item[i].task.access[a].tensor > most) most = item[i].task.access[a].tensor;
    return most + 1;
}

/* Fills the ways, in program order, so that a predecessor's root is known before it is followed. */
static tutti_status find_ways(search *s, int64_t items)
{
    tutti_edges *edges = NULL;
    tutti_status status = tutti_edges_new(tensors_of(s->item, items), &edges);
    for (int64_t i = 0; i < items && !status; i++) {
        const tutti_task *task = &s->item[i].task;
        s->way[i] = (way){.next = -1, .root = i};
        status = tutti_edges_add(edges, i, task->accesses, task->access, follow, s);
    }
    tutti_edges_free(edges);
    return status;
}

/* How long it has run; it may have begun after now_s was read. */
static double age(const tutti_ledger_item *item, double now_s)
{
    return now_s > item->began_s ? now_s - item->began_s : 0;
}

/* Like snprintf, but returns how much was written. */
__attribute__((format(printf, 3, 4))) static size_t print(
    char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, size, format, args);
    va_end(args);
    return wanted < 0 ? 0 : (size_t)wanted < size ? (size_t)wanted : size - 1;
}

/* Writes "task "x", running for 5.2 s" and the like. */
static void describe_root(
    const tutti_ledger_item *root, double now_s, const char *running, char *text, size_t size)
{
    double age_s = age(root, now_s);
    const int is_part = tutti_sequence_slot(root->task.sequence) > 0; /* whose number others have */
    if (is_part && root->began_s > 0)
        snprintf(text, size, "collective \"%s\" of a group or an edge, posted %.1f s ago",
            root->task.name, age_s);
    else if (root->task.sequence >= 0 && root->began_s > 0)
        snprintf(text, size, "collective #%lld \"%s\", posted %.1f s ago",
            (long long)tutti_sequence_number(root->task.sequence), root->task.name, age_s);
    else if (root->began_s > 0)
        snprintf(text, size, "task \"%s\", running for %.1f s", root->task.name, age_s);
    else if (*running)
        snprintf(text, size, "task \"%s\", for which no worker is free (they run %s)",
            root->task.name, running);
    else
        snprintf(text, size, "task \"%s\", which no worker has begun", root->task.name);
}

static void describe(
    const search *s, int64_t target, double now_s, const char *running, tutti_blocker *blocker)
{
    int64_t direct = s->way[target].next, root = s->way[target].root;
    char *text = blocker->text;
    size_t size = sizeof blocker->text, used = 0;
    int between = -1;
    for (int64_t i = direct; i >= 0 && i != root; i = s->way[i].next) between++;
    if (between > 0)
        used = print(text, size, "task \"%s\", which waits, through %d others, for ",
            s->item[direct].task.name, between);
    else if (between == 0)
        used = print(text, size, "task \"%s\", which waits for ", s->item[direct].task.name);
    describe_root(&s->item[root], now_s, running, text + used, size - used);
}

static void list_running(
    const tutti_ledger_item item[], int64_t items, double now_s, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < items && used + 1 < size; i++)
        if (item[i].began_s > 0 && item[i].task.sequence < 0)
            used += print(text + used, size - used, "%s\"%s\" (%.1f s)", used ? ", " : "",
                item[i].task.name, age(&item[i], now_s));
}

tutti_status tutti_blocker_find(
    tutti_ledger *ledger, int64_t sequence, double now_s, tutti_blocker *blocker)
{
    tutti_ledger_item *item = NULL;
    int64_t items = 0;
    *blocker = (tutti_blocker){.collective = -1};
    tutti_status status = tutti_ledger_copy(ledger, &item, &items);
    search s = {.item = item, .way = calloc((size_t)items + 1, sizeof *s.way)};
    if (!status && !s.way) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a report");
    if (!status) status = find_ways(&s, items);
    int64_t target = items - 1;
    while (!status && sequence >= 0 && target >= 0 && item[target].task.sequence != sequence)
        target--;
    if (!status && target >= 0) {
        char running[96];
        list_running(item, items, now_s, running, sizeof running);
        blocker->found = 1;
        blocker->begun = item[target].began_s > 0;
        if (!blocker->begun || sequence < 0) describe(&s, target, now_s, running, blocker);
        blocker->collective = item[s.way[target].root].task.sequence;
    }
    free(s.way);
    free(item);
    return status;
}

char *tutti_blocker_running(tutti_ledger *ledger, double now_s, char *text, size_t size)
{
    tutti_ledger_item *item = NULL;
    int64_t items = 0;
    text[0] = '\0';
    if (tutti_ledger_copy(ledger, &item, &items)) return text;
    list_running(item, items, now_s, text, size);
    free(item);
    return text;
}
