#define _GNU_SOURCE /* eventfd */
#include "designs/elastic/elastic_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static tutti_status check_options(const tutti_elastic_options *o)
{
    char host[TUTTI_ELASTIC_HOST];
    const int found = !o->first || tutti_elastic_rank(o->first, o->self.id) >= 0;
    int port;
    const char *wrong =
        tutti_elastic_address_read(o->self.address, host, &port) ? NULL : o->self.address;
    if (!o->first && !wrong && !(o->contact && tutti_elastic_address_read(o->contact, host, &port)))
        wrong = o->contact ? o->contact : "";
    for (int i = 0; o->first && i < o->first->n; i++) {
        const tutti_membership_entry *entry = &o->first->entry[i];
        if (!wrong && !tutti_elastic_address_read(entry->address, host, &port))
            wrong = entry->address;
    }
    if (wrong)
        return tutti_fail(TUTTI_ERR_USAGE, "'%s' is not an address of a rank: HOST:PORT", wrong);
    if (!found || !(o->silence_s > 0) || !o->door || strlen(o->token) > TUTTI_TCP_TOKEN_BYTES)
        return tutti_fail(TUTTI_ERR_INVAL, "no elastic run with these options");
    return TUTTI_OK;
}

/* To the first ranks with lower numbers; the others call this one. A newcomer begins with its contact. */
static void call_first(tutti_elastic *e)
{
    for (int i = 0; i < e->first.n; i++)
        if (e->first.entry[i].id < e->options.self.id)
            tutti_elastic_call(e, e->first.entry[i].id, e->first.entry[i].address);
    if (!e->first.n) tutti_elastic_call(e, -1, e->contact);
}

static tutti_status start_threads(tutti_elastic *e)
{
    pthread_mutex_lock(&e->lock);
    call_first(e);
    tutti_elastic_begin(e);
    if (!pthread_create(&e->thread, NULL, tutti_elastic_run, e)) e->threads++;
    if (e->threads == 1 && !pthread_create(&e->caller, NULL, tutti_elastic_run_caller, e))
        e->threads++;
    const int started = e->threads;
    pthread_mutex_unlock(&e->lock);
    return started == 2
               ? TUTTI_OK
               : tutti_fail(TUTTI_ERR_NOMEM, "the threads of an elastic run did not start");
}

tutti_status tutti_elastic_open(const tutti_elastic_options *o, tutti_elastic **elastic)
{
    tutti_status status = check_options(o);
    tutti_elastic *e = status ? NULL : calloc(1, sizeof *e);
    if (!status && !e) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for an elastic run");
    if (status) {
        tutti_tcp_listener_close(o->door);
        return status;
    }
    e->options = *o;
    e->options.first = NULL;
    e->options.token = e->options.contact = NULL;
    if (o->first) e->first = *o->first;
    snprintf(e->token, sizeof e->token, "%s", o->token);
    if (o->contact) snprintf(e->contact, sizeof e->contact, "%s", o->contact);
    e->door = o->door;
    e->valid = -1;
    for (int i = 0; i < ELASTIC_MEMBERS; i++) e->data[i].socket = -1;
    e->until_s = tutti_clock_s() + o->join_s;
    pthread_mutex_init(&e->lock, NULL);
    tutti_clock_cond_init(&e->changed);
    e->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->wakeup < 0) status = tutti_fail(TUTTI_ERR_NOMEM, "no descriptor is left");
    tutti_elastic_keeper_open(&e->keeper);
    if (!status) status = start_threads(e);
    if (status)
        tutti_elastic_close(e);
    else
        *elastic = e;
    return status;
}

void tutti_elastic_close(tutti_elastic *e)
{
    if (!e) return;
    pthread_mutex_lock(&e->lock);
    e->stop = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    tutti_elastic_wake(e);
    if (e->threads > 1) pthread_join(e->caller, NULL);
    if (e->threads > 0) pthread_join(e->thread, NULL);
    tutti_elastic_keeper_close(&e->keeper);
    tutti_elastic_drop_data(e, INT64_MAX);
    tutti_tcp_listener_close(e->door);
    if (e->wakeup >= 0) close(e->wakeup);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->changed);
    free(e);
}
