#include "collectives/transport/mesh_any.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* Data from any rank, with room for `bytes` of the receives. */
typedef struct arrival {
    struct arrival *next;
    unsigned char data[];
} arrival;

/* A lane and tag with receives from any rank: one receive from each, into an arrival. */
typedef struct tutti_mesh_port port;
struct tutti_mesh_port {
    port *next;
    int lane, tag;
    size_t bytes;
    tutti_connection_message **from; /* [size] NULL: none */
    arrival **into;                  /* [size] */
    arrival *first, **end;           /* have arrived, oldest first */
    tutti_mesh_receive *waiting, **waiting_end;
};

static tutti_status receive_at(const tutti_mesh_any *any, port *p, int r)
{
    arrival *into = p->into[r] ? p->into[r] : malloc(sizeof *into + p->bytes);
    if (!into) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message of %zu bytes", p->bytes);
    p->into[r] = into;
    into->next = NULL;
    tutti_status status =
        tutti_connection_irecv(any->peer[r], p->lane, p->tag, into->data, p->bytes, &p->from[r]);
    if (status) p->from[r] = NULL;
    /* a rank that has gone sends nothing more; what else is between the two fails by itself */
    return status == TUTTI_ERR_COMM ? TUTTI_OK : status;
}

static void free_port(port *p, int size)
{
    for (int r = 0; r < size; r++) free(p->into ? p->into[r] : NULL);
    for (arrival *a = p->first, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    free(p->from);
    free(p->into);
    free(p);
}

static tutti_status open_port(tutti_mesh_any *any, int lane, int tag, size_t bytes, port **opened)
{
    const size_t size = (size_t)any->size;
    tutti_status status = TUTTI_OK;
    port *p = calloc(1, sizeof *p);
    if (p) p->from = calloc(size, sizeof *p->from);
    if (p) p->into = calloc(size, sizeof *p->into);
    if (!p || !p->from || !p->into) {
        if (p) free_port(p, 0);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for receives from any rank");
    }
    p->lane = lane;
    p->tag = tag;
    p->bytes = bytes;
    p->end = &p->first;
    p->waiting_end = &p->waiting;
    p->next = any->ports;
    any->ports = p; /* from here on close frees it */
    for (int r = 0; r < any->size && !status; r++)
        if (any->peer[r]) status = receive_at(any, p, r);
    *opened = p;
    return status;
}

static tutti_status find_port(tutti_mesh_any *any, int lane, int tag, size_t bytes, port **found)
{
    port *p = any->ports;
    while (p && (p->lane != lane || p->tag != tag)) p = p->next;
    *found = p;
    if (!p) return open_port(any, lane, tag, bytes, found);
    if (p->bytes == bytes) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "lane %d, tag %d: receives from any rank have one size, not %zu bytes and %zu", lane, tag,
        p->bytes, bytes);
}

/* Takes what has arrived from each rank, and gives it to the receives that wait. */
static tutti_status serve_port(const tutti_mesh_any *any, port *p)
{
    tutti_status first = TUTTI_OK;
    for (int r = 0; r < any->size; r++) {
        int done = 0;
        if (!p->from[r]) continue;
        tutti_status status = tutti_connection_test(p->from[r], &done);
        if (!done) continue;
        p->from[r] = NULL;
        if (!status) {
            *p->end = p->into[r];
            p->end = &p->into[r]->next;
            p->into[r] = NULL;
            status = receive_at(any, p, r);
        }
        if (!first && status != TUTTI_ERR_COMM) first = status;
    }
    while (p->first && p->waiting) {
        arrival *a = p->first;
        tutti_mesh_receive *m = p->waiting;
        p->first = a->next;
        if (!a->next) p->end = &p->first;
        p->waiting = m->next;
        if (!m->next) p->waiting_end = &p->waiting;
        if (p->bytes) memcpy(m->data, a->data, p->bytes);
        m->ended = 1;
        free(a);
    }
    return first;
}

tutti_status tutti_mesh_any_post(
    tutti_mesh_any *any, int lane, int tag, void *data, size_t bytes, tutti_mesh_receive *receive)
{
    *receive = (tutti_mesh_receive){.data = data};
    tutti_status status = find_port(any, lane, tag, bytes, &receive->port);
    if (status) return status;
    *receive->port->waiting_end = receive;
    receive->port->waiting_end = &receive->next;
    return TUTTI_OK;
}

tutti_status tutti_mesh_any_test(const tutti_mesh_any *any, tutti_mesh_receive *receive, int *done)
{
    tutti_status status = receive->ended ? TUTTI_OK : serve_port(any, receive->port);
    *done = receive->ended;
    return status;
}

void tutti_mesh_any_leave(tutti_mesh_receive *receive)
{
    port *p = receive->port;
    tutti_mesh_receive **at = &p->waiting;
    while (*at && *at != receive) at = &(*at)->next;
    if (!*at) return;
    *at = receive->next;
    if (!receive->next) p->waiting_end = at;
    receive->ended = 1;
}

static void close_port(const tutti_mesh_any *any, port *p)
{
    for (int r = 0; r < any->size; r++)
        if (p->from && p->from[r]) tutti_connection_abandon(any->peer[r], p->from[r]);
    free_port(p, any->size);
}

void tutti_mesh_any_close(tutti_mesh_any *any)
{
    for (port *p = any->ports, *next; p; p = next) {
        next = p->next;
        close_port(any, p);
    }
    any->ports = NULL;
}
