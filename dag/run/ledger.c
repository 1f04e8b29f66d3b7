#include "dag/run/ledger.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct tutti_ledger {
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t moved; /* `lowest` grew, or something failed */
    int64_t lowest, next; /* every id below lowest has ended; next is the next id */
    const char **name;    /* ring by id of what has not ended: NULL once it has */
    int64_t room;         /* a power of two */
    tutti_status failure;
};

tutti_status tutti_ledger_new(tutti_ledger **ledger)
{
    tutti_ledger *l = calloc(1, sizeof *l);
    if (l) l->name = calloc((size_t)(l->room = 1024), sizeof *l->name);
    if (!l || !l->name) {
        free(l);
        return tutti_fail(TUTTI_ERR_NOMEM, "ledger: no memory");
    }
    pthread_mutex_init(&l->lock, NULL);
    tutti_clock_cond_init(&l->moved);
    *ledger = l;
    return TUTTI_OK;
}

void tutti_ledger_free(tutti_ledger *ledger)
{
    if (!ledger) return;
    pthread_mutex_destroy(&ledger->lock);
    pthread_cond_destroy(&ledger->moved);
    free(ledger->name);
    free(ledger);
}

static tutti_status double_room(tutti_ledger *l)
{
    const char **wider = calloc((size_t)l->room * 2, sizeof *wider);
    if (!wider)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "ledger: no memory for %lld nodes", (long long)l->room * 2);
    for (int64_t id = l->lowest; id < l->next; id++)
        wider[id & (2 * l->room - 1)] = l->name[id & (l->room - 1)];
    free(l->name);
    l->name = wider;
    l->room *= 2;
    return TUTTI_OK;
}

tutti_status tutti_ledger_enter(tutti_ledger *ledger, const char *name, int64_t *id)
{
    tutti_status status = TUTTI_OK;
    pthread_mutex_lock(&ledger->lock);
    if (ledger->next - ledger->lowest == ledger->room) status = double_room(ledger);
    if (!status) {
        ledger->name[ledger->next & (ledger->room - 1)] = name;
        *id = ledger->next++;
    }
    pthread_mutex_unlock(&ledger->lock);
    return status;
}

void tutti_ledger_leave(tutti_ledger *ledger, int64_t id, tutti_status status)
{
    pthread_mutex_lock(&ledger->lock);
    int64_t mask = ledger->room - 1, before = ledger->lowest;
    ledger->name[id & mask] = NULL;
    while (ledger->lowest < ledger->next && !ledger->name[ledger->lowest & mask]) ledger->lowest++;
    int failed = status && !ledger->failure;
    if (failed) ledger->failure = status;
    if (failed || ledger->lowest != before) pthread_cond_broadcast(&ledger->moved);
    pthread_mutex_unlock(&ledger->lock);
}

int64_t tutti_ledger_point(tutti_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    int64_t next = ledger->next;
    pthread_mutex_unlock(&ledger->lock);
    return next;
}

int tutti_ledger_reached(tutti_ledger *ledger, int64_t point)
{
    pthread_mutex_lock(&ledger->lock);
    int reached = ledger->lowest >= point;
    pthread_mutex_unlock(&ledger->lock);
    return reached;
}

tutti_status tutti_ledger_failure(tutti_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    tutti_status failure = ledger->failure;
    pthread_mutex_unlock(&ledger->lock);
    return failure;
}

void tutti_ledger_sleep(tutti_ledger *ledger, int64_t point, double at_most_s)
{
    struct timespec until = tutti_clock_after(at_most_s);
    pthread_mutex_lock(&ledger->lock);
    while (ledger->lowest < point && !ledger->failure)
        if (pthread_cond_timedwait(&ledger->moved, &ledger->lock, &until)) break;
    pthread_mutex_unlock(&ledger->lock);
}

tutti_status tutti_ledger_report_timeout(tutti_ledger *ledger, int64_t point, double timeout_s)
{
    char names[512] = "";
    size_t used = 0;
    int64_t unfinished = 0;
    pthread_mutex_lock(&ledger->lock);
    for (int64_t id = ledger->lowest; id < point; id++) {
        const char *name = ledger->name[id & (ledger->room - 1)];
        if (!name) continue;
        if (unfinished++ < 6 && used < sizeof names)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    pthread_mutex_unlock(&ledger->lock);
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "%lld nodes have not ended within %g s; the first are: %s (is another rank missing? "
        "--timeout sets the limit)",
        (long long)unfinished, timeout_s, names);
}
