/* Connections for collectives that have come before the training thread takes them. */
#include "designs/elastic/elastic_parts.h"

#include <unistd.h>

void tutti_elastic_drop_data(tutti_elastic *e, int64_t epoch)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_data *d = &e->data[i];
        if (d->socket < 0 || d->epoch >= epoch) continue;
        close(d->socket);
        d->socket = -1;
    }
}

/* A rank that connects again has given the first one up. */
int tutti_elastic_keep_data(tutti_elastic *e, int64_t epoch, int64_t from, int socket)
{
    elastic_data *place = NULL;
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_data *d = &e->data[i];
        const int again = d->socket >= 0 && d->epoch == epoch && d->from == from;
        if (d->socket < 0 && !place) place = d;
        if (!again) continue;
        close(d->socket);
        d->socket = -1;
        place = d;
        break;
    }
    if (!place) return 0;
    *place = (elastic_data){.socket = socket, .epoch = epoch, .from = from};
    pthread_cond_broadcast(&e->changed);
    return 1;
}

int tutti_elastic_take_data(tutti_elastic *e, int64_t epoch, int64_t from)
{
    for (int i = 0; i < ELASTIC_MEMBERS; i++) {
        elastic_data *d = &e->data[i];
        const int socket = d->socket;
        if (socket < 0 || d->epoch != epoch || d->from != from) continue;
        d->socket = -1;
        return socket;
    }
    return -1;
}
