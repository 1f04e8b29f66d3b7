#include "dag/run/ledger.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tutti_ledger {
    pthread_mutex_t lock;    /* protects everything below */
    pthread_cond_t moved;    /* an instance that is `awaited` has ended, or something has failed */
    int64_t lowest, next;    /* every id below lowest has ended; next is the next id */
    tutti_ledger_item *item; /* ring, by id, of what has not ended; task.name is NULL once it has */
    int64_t room;            /* a power of two */
    int64_t ended;
    int running;
    int handing;           /* workers between the two calls of tutti_ledger_hands */
    pthread_cond_t handed; /* there are none */
    int (*outside)(void);  /* may be NULL */
    void (*describe)(void *ctx, int64_t sequence, char *text, size_t size); /* may be NULL */
    void *describe_ctx;
    tutti_status failure;
};

tutti_status tutti_ledger_new(tutti_ledger **ledger)
{
    tutti_ledger *l = calloc(1, sizeof *l);
    if (l) l->item = calloc((size_t)(l->room = 1024), sizeof *l->item);
    if (!l || !l->item) {
        free(l);
        return tutti_fail(TUTTI_ERR_NOMEM, "ledger: no memory");
    }
    pthread_mutex_init(&l->lock, NULL);
    tutti_clock_cond_init(&l->moved);
    pthread_cond_init(&l->handed, NULL);
    *ledger = l;
    return TUTTI_OK;
}

void tutti_ledger_free(tutti_ledger *ledger)
{
    if (!ledger) return;
    pthread_mutex_destroy(&ledger->lock);
    pthread_cond_destroy(&ledger->moved);
    pthread_cond_destroy(&ledger->handed);
    free(ledger->item);
    free(ledger);
}

static tutti_ledger_item *at(const tutti_ledger *l, int64_t id)
{
    return &l->item[id & (l->room - 1)];
}

static tutti_status double_room(tutti_ledger *l)
{
    tutti_ledger_item *wider = calloc((size_t)l->room * 2, sizeof *wider);
    if (!wider)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "ledger: no memory for %lld nodes", (long long)l->room * 2);
    for (int64_t id = l->lowest; id < l->next; id++) wider[id & (2 * l->room - 1)] = *at(l, id);
    free(l->item);
    l->item = wider;
    l->room *= 2;
    return TUTTI_OK;
}

tutti_status tutti_ledger_enter(tutti_ledger *ledger, const tutti_task *task, int64_t *id)
{
    tutti_status status = TUTTI_OK;
    pthread_mutex_lock(&ledger->lock);
    if (ledger->next - ledger->lowest == ledger->room) status = double_room(ledger);
    if (!status) {
        tutti_ledger_item *item = at(ledger, ledger->next);
        *item = (tutti_ledger_item){.id = ledger->next, .task = *task};
        if (task->accesses == 1) item->one = task->access[0];
        if (task->accesses == 1 && task->data) item->one_data = task->data[0];
        *id = ledger->next++;
    }
    pthread_mutex_unlock(&ledger->lock);
    return status;
}

void tutti_ledger_begin(tutti_ledger *ledger, int64_t id)
{
    double now_s = tutti_clock_s();
    pthread_mutex_lock(&ledger->lock);
    tutti_ledger_item *item = at(ledger, id);
    item->began_s = now_s;
    ledger->running += item->task.sequence < 0;
    pthread_mutex_unlock(&ledger->lock);
}

void tutti_ledger_rename(tutti_ledger *ledger, int64_t id, const char *name)
{
    pthread_mutex_lock(&ledger->lock);
    at(ledger, id)->task.name = name;
    pthread_mutex_unlock(&ledger->lock);
}

void tutti_ledger_leave(tutti_ledger *ledger, int64_t id, tutti_status status)
{
    pthread_mutex_lock(&ledger->lock);
    tutti_ledger_item *item = at(ledger, id);
    ledger->running -= item->began_s > 0 && item->task.sequence < 0;
    ledger->ended++;
    item->task.name = NULL;
    while (ledger->lowest < ledger->next && !at(ledger, ledger->lowest)->task.name)
        ledger->lowest++;
    int failed = status && !ledger->failure;
    if (failed) ledger->failure = status;
    if (failed || item->awaited) pthread_cond_broadcast(&ledger->moved);
    pthread_mutex_unlock(&ledger->lock);
}

void tutti_ledger_hands(tutti_ledger *ledger, int begins)
{
    pthread_mutex_lock(&ledger->lock);
    ledger->handing += begins ? 1 : -1;
    if (!ledger->handing) pthread_cond_signal(&ledger->handed);
    pthread_mutex_unlock(&ledger->lock);
}

void tutti_ledger_quiet(tutti_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    while (ledger->handing) pthread_cond_wait(&ledger->handed, &ledger->lock);
    pthread_mutex_unlock(&ledger->lock);
}

int64_t tutti_ledger_point(tutti_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    int64_t next = ledger->next;
    pthread_mutex_unlock(&ledger->lock);
    return next;
}

/* The last instance between two points that has not ended; NULL: all have. */
static tutti_ledger_item *last_between(const tutti_ledger *l, int64_t from, int64_t point)
{
    if (from < l->lowest) from = l->lowest;
    for (int64_t id = point - 1; id >= from; id--)
        if (at(l, id)->task.name) return at(l, id);
    return NULL;
}

int tutti_ledger_reached(tutti_ledger *ledger, int64_t from, int64_t point)
{
    pthread_mutex_lock(&ledger->lock);
    int reached = !last_between(ledger, from, point);
    pthread_mutex_unlock(&ledger->lock);
    return reached;
}

int tutti_ledger_has_ended(tutti_ledger *ledger, int64_t id)
{
    pthread_mutex_lock(&ledger->lock);
    int ended = id < ledger->lowest || !at(ledger, id)->task.name;
    pthread_mutex_unlock(&ledger->lock);
    return ended;
}

tutti_status tutti_ledger_failure(tutti_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    tutti_status failure = ledger->failure;
    pthread_mutex_unlock(&ledger->lock);
    return failure;
}

/* The last of several that it waits for mostly is the last to end, so that a sleeper seldom wakes in vain. */
void tutti_ledger_sleep(tutti_ledger *ledger, int64_t from, int64_t point, double at_most_s)
{
    struct timespec until = tutti_clock_after(at_most_s);
    tutti_ledger_item *item;
    pthread_mutex_lock(&ledger->lock);
    while ((item = last_between(ledger, from, point)) && !ledger->failure) {
        item->awaited = 1;
        if (pthread_cond_timedwait(&ledger->moved, &ledger->lock, &until)) break;
    }
    pthread_mutex_unlock(&ledger->lock);
}

/* An instance as messages name it; names are borrowed only while the lock is held. */
typedef struct label {
    char name[64];
    int64_t sequence;
} label;

enum { LABELS = 6 };

/* Counts the instances between two points that have not ended, and copies the first. */
static int64_t find_unfinished(tutti_ledger *l, int64_t from, int64_t point, label first[LABELS])
{
    int64_t unfinished = 0;
    pthread_mutex_lock(&l->lock);
    for (int64_t id = from > l->lowest ? from : l->lowest; id < point; id++) {
        const tutti_task *task = &at(l, id)->task;
        if (!task->name) continue;
        if (unfinished < LABELS) {
            snprintf(first[unfinished].name, sizeof first->name, "%s", task->name);
            first[unfinished].sequence = task->sequence;
        }
        unfinished++;
    }
    pthread_mutex_unlock(&l->lock);
    return unfinished;
}

/* The same, with their names in a list. */
static int64_t name_unfinished(
    tutti_ledger *l, int64_t from, int64_t point, char *names, size_t size)
{
    label first[LABELS];
    size_t used = 0;
    int64_t unfinished = find_unfinished(l, from, point, first);
    names[0] = '\0';
    for (int64_t i = 0; i < unfinished && i < LABELS && used < size; i++) {
        char text[128] = "";
        if (l->describe && first[i].sequence >= 0)
            l->describe(l->describe_ctx, first[i].sequence, text, sizeof text);
        used += (size_t)snprintf(
            names + used, size - used, "%s%s", used ? ", " : "", *text ? text : first[i].name);
    }
    return unfinished;
}

tutti_status tutti_ledger_report_timeout(
    tutti_ledger *ledger, int64_t from, int64_t point, double timeout_s)
{
    char names[512];
    int64_t unfinished = name_unfinished(ledger, from, point, names, sizeof names);
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "%lld operation%s unfinished after %g s; the first: %s (has another rank made its calls?)",
        (long long)unfinished, unfinished == 1 ? " is" : "s are", timeout_s, names);
}

tutti_status tutti_ledger_report_held(tutti_ledger *ledger, double waited_s)
{
    char names[512];
    int64_t unfinished =
        name_unfinished(ledger, 0, tutti_ledger_point(ledger), names, sizeof names);
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "%lld collectives still hold their data %.1f s after the failure, because another rank "
        "does not let them end: messages may still read and write these data, which must not be "
        "freed or used; end the program. The first are: %s",
        (long long)unfinished, waited_s, names);
}

void tutti_ledger_fail(tutti_ledger *ledger, tutti_status status)
{
    pthread_mutex_lock(&ledger->lock);
    if (!ledger->failure) ledger->failure = status;
    pthread_cond_broadcast(&ledger->moved);
    pthread_mutex_unlock(&ledger->lock);
}

tutti_ledger_look tutti_ledger_see(tutti_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    tutti_ledger_look look = {
        .submitted = ledger->next, .ended = ledger->ended, .running = ledger->running};
    int (*outside)(void) = ledger->outside;
    pthread_mutex_unlock(&ledger->lock);
    if (outside) look.outside = outside();
    return look;
}

/* An access whose datum has no number yet. */
typedef struct nameless {
    const void *data;
    tutti_access *access;
} nameless;

static int compare_data(const void *a, const void *b)
{
    const char *x = ((const nameless *)a)->data, *y = ((const nameless *)b)->data;
    return (x > y) - (x < y);
}

/* Equal data get equal numbers. */
static void number_data(nameless list[], size_t count)
{
    int number = 0;
    qsort(list, count, sizeof *list, compare_data);
    for (size_t i = 0; i < count; i++) {
        number += i > 0 && list[i].data != list[i - 1].data;
        list[i].access->tensor = number;
    }
}

/* Copies an item to `to` and its accesses to `access`; returns how many accesses there are. */
static size_t copy_item(const tutti_ledger_item *item, tutti_ledger_item *to, tutti_access *access,
    nameless *list, size_t *count)
{
    const int accesses = item->task.accesses;
    const void *const *data = accesses == 1 ? &item->one_data : item->task.data;
    *to = *item;
    to->task.access = access;
    if (accesses == 1) access[0] = item->one;
    if (accesses > 1) memcpy(access, item->task.access, (size_t)accesses * sizeof *access);
    for (int a = 0; item->task.data && a < accesses; a++)
        list[(*count)++] = (nameless){data[a], &access[a]};
    return (size_t)accesses;
}

tutti_status tutti_ledger_copy(tutti_ledger *ledger, tutti_ledger_item **item, int64_t *items)
{
    pthread_mutex_lock(&ledger->lock);
    size_t room = 1, accesses = 0, nameless_count = 0;
    for (int64_t id = ledger->lowest; id < ledger->next; id++, room++)
        if (at(ledger, id)->task.name) accesses += (size_t)at(ledger, id)->task.accesses;
    int64_t count = 0;
    tutti_ledger_item *copy = malloc(room * sizeof *copy + accesses * sizeof(tutti_access));
    nameless *list = malloc((accesses + 1) * sizeof *list);
    tutti_access *access = (tutti_access *)(copy + room);
    for (int64_t id = ledger->lowest; copy && list && id < ledger->next; id++)
        if (at(ledger, id)->task.name)
            access += copy_item(at(ledger, id), &copy[count++], access, list, &nameless_count);
    pthread_mutex_unlock(&ledger->lock);
    if (!copy || !list) {
        free(copy);
        free(list);
        return tutti_fail(TUTTI_ERR_NOMEM, "ledger: no memory for a report");
    }
    number_data(list, nameless_count);
    free(list);
    *item = copy;
    *items = count;
    return TUTTI_OK;
}

void tutti_ledger_describe(tutti_ledger *ledger,
    void (*describe)(void *ctx, int64_t sequence, char *text, size_t size), void *ctx)
{
    ledger->describe = describe;
    ledger->describe_ctx = ctx;
}

void tutti_ledger_outside(tutti_ledger *ledger, int (*count)(void))
{
    pthread_mutex_lock(&ledger->lock);
    ledger->outside = count;
    pthread_mutex_unlock(&ledger->lock);
}
