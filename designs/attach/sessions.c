#include "designs/attach/sessions.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct place {
    struct place *next;
    int open;
    _Alignas(max_align_t) char room[];
} place;

/* Programs pass arbitrary addresses; only a process-wide list can tell which are valid. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list, and the number */
static place *places;
static int numbered; /* sessions of a process have files of their own */

void *tutti_sessions_open(size_t bytes)
{
    place *p = calloc(1, sizeof *p + bytes);
    if (!p) return NULL;
    p->open = 1;
    pthread_mutex_lock(&lock);
    p->next = places;
    places = p;
    pthread_mutex_unlock(&lock);
    return p->room;
}

int tutti_sessions_number(void)
{
    pthread_mutex_lock(&lock);
    const int number = ++numbered;
    pthread_mutex_unlock(&lock);
    return number;
}

/* Lock held. NULL: it was never opened. */
static place *find(const void *session)
{
    place *p = places;
    while (p && p->room != (const char *)session) p = p->next;
    return p;
}

void tutti_sessions_close(void *session)
{
    pthread_mutex_lock(&lock);
    place *p = find(session);
    if (p) p->open = 0;
    pthread_mutex_unlock(&lock);
}

tutti_status tutti_sessions_check(const void *session, const char *what)
{
    if (!session) return tutti_fail(TUTTI_ERR_INVAL, "%s: the session is NULL", what);
    pthread_mutex_lock(&lock);
    const place *p = find(session);
    int known = p != NULL, open = p && p->open;
    pthread_mutex_unlock(&lock);
    if (open) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        known ? "%s: the session was detached" : "%s: the session does not come from tutti_attach",
        what);
}
