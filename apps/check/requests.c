#include "apps/check/requests.h"

#include "apps/check/pairing.h"
#include "apps/check/finding.h"
#include "apps/check/process.h"
#include "apps/check/table.h"

#include <pthread.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* By handle; `lock` protects the table and what it holds. It comes before those of comms and process. */
static tutti_table requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Larger buffers are not hashed: that takes longer than the message. */
static const int64_t most_hashed = 1 << 22;

uint64_t tutti_request_content(const void *buffer, int count, MPI_Datatype type)
{
    int size = 0, at = 0;
    if (PMPI_Pack_size(count, type, MPI_COMM_SELF, &size) != MPI_SUCCESS) return 0;
    if (size <= 0 || size > most_hashed) return 0;
    void *packed = malloc((size_t)size);
    if (!packed) abort();
    PMPI_Pack(buffer, count, type, packed, size, &at, MPI_COMM_SELF);
    uint64_t content = XXH3_64bits(packed, (size_t)at);
    free(packed);
    return content;
}

/* A request of this handle that no call is completing; NULL: none is known. Under the lock. */
static tutti_request *found(MPI_Request handle)
{
    uint64_t key = TUTTI_KEY(handle);
    if (handle == MPI_REQUEST_NULL) return NULL;
    for (const tutti_entry *e = tutti_table_bucket(&requests, key); e; e = e->next) {
        tutti_request *request = e->value;
        if (e->key == key && request->claims < request->times) return request;
    }
    return NULL;
}

void tutti_request_made(MPI_Request handle, const tutti_request *what)
{
    if (handle == MPI_REQUEST_NULL) return;
    uint64_t number = what->active ? tutti_pairing_posted(&what->item, what->data) : 0;
    pthread_mutex_lock(&lock);
    tutti_request *request = found(handle);
    if (request) {
        /* One handle for several: nobody can say which of them a call completes. */
        request->times++;
        request->buffer = NULL;
    } else {
        request = malloc(sizeof(*request));
        if (!request) abort();
        *request = *what;
        request->handle = handle;
        request->number = number;
        request->times = 1;
        if (request->comm) tutti_comm_hold(request->comm);
        tutti_table_add(&requests, TUTTI_KEY(handle), request);
    }
    pthread_mutex_unlock(&lock);
}

static void destroy(tutti_request *request)
{
    if (request->comm) tutti_comm_release(request->comm);
    free(request);
}

void tutti_request_started(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    tutti_request *request = found(handle);
    if (request && request->persistent) {
        if (request->active && !request->complete)
            tutti_finding('E', "the request is started while it is active");
        request->active = true;
        request->complete = false;
        request->number = tutti_pairing_posted(&request->item, request->data);
        if (request->buffer)
            request->content =
                tutti_request_content(request->buffer, request->count, request->type);
    }
    pthread_mutex_unlock(&lock);
}

void tutti_request_claim(const MPI_Request *handles, int count, tutti_request **known)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) {
        known[i] = found(handles[i]);
        if (known[i]) known[i]->claims++;
    }
    pthread_mutex_unlock(&lock);
}

void tutti_request_release(tutti_request *known)
{
    if (!known) return;
    pthread_mutex_lock(&lock);
    known->claims--;
    pthread_mutex_unlock(&lock);
}

static void compare_content(tutti_request *request)
{
    if (!request->buffer) return;
    if (tutti_request_content(request->buffer, request->count, request->type) != request->content)
        tutti_finding_at('E', request->item.call, request->item.site,
            "the buffer was changed while it was being sent, before the request was complete");
}

/* MPI has said that the operation is over; under the lock. */
static void over(tutti_request *request, const MPI_Status *status)
{
    if (request->complete) return;
    request->complete = true;
    if (status) compare_content(request);
    if (request->item.kind != TUTTI_ITEM_RECV) return;
    if (status)
        tutti_pairing_received(
            request->number, tutti_comm_world(request->comm, status->MPI_SOURCE), status->MPI_TAG);
    else
        tutti_pairing_lost();
}

/* One of the requests of this handle is gone; true: it was the last. Under the lock. */
static bool gone(tutti_request *request)
{
    if (--request->times > 0) return false;
    tutti_table_take(&requests, TUTTI_KEY(request->handle), request);
    return true;
}

void tutti_request_done(tutti_request *known, const MPI_Status *status)
{
    bool last = false;
    if (!known) return;
    pthread_mutex_lock(&lock);
    known->claims--;
    if (known->active) {
        over(known, status);
        if (known->persistent)
            known->active = known->complete = false;
        else
            last = gone(known);
    }
    pthread_mutex_unlock(&lock);
    if (!last) return;
    if (known->made && status)
        tutti_comm_made(*known->made, known->seed, known->item.call, known->item.site);
    destroy(known);
}

void tutti_request_seen(tutti_request *known, const MPI_Status *status)
{
    if (!known) return;
    pthread_mutex_lock(&lock);
    known->claims--;
    if (known->active) over(known, status);
    pthread_mutex_unlock(&lock);
}

void tutti_request_freed(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    tutti_request *request = found(handle);
    bool last = request && gone(request);
    pthread_mutex_unlock(&lock);
    if (!last) return;
    bool pending = request->active && !request->complete;
    if (pending && request->item.kind == TUTTI_ITEM_RECV) tutti_pairing_lost();
    if (pending && request->item.kind == TUTTI_ITEM_COLL)
        tutti_finding(
            'E', "the request of a nonblocking collective is freed before it is complete");
    destroy(request);
}

void tutti_request_cancelled(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    tutti_request *request = found(handle);
    if (request && request->active && request->item.kind == TUTTI_ITEM_COLL)
        tutti_finding('E', "a nonblocking collective cannot be cancelled");
    if (request) request->item.kind = TUTTI_ITEM_OTHER;
    tutti_pairing_lost();
    pthread_mutex_unlock(&lock);
}

static void unguard(void *value, void *type)
{
    tutti_request *request = value;
    if (request->type == *(MPI_Datatype *)type) request->buffer = NULL;
}

void tutti_request_type_freed(MPI_Datatype type)
{
    pthread_mutex_lock(&lock);
    tutti_table_each(&requests, unguard, &type);
    pthread_mutex_unlock(&lock);
}

static bool is_held(const tutti_request *request)
{
    return request->item.kind == TUTTI_ITEM_COLL && request->active &&
           request->comm->granted <= request->item.sequence;
}

bool tutti_request_held(tutti_request *const *known, int count)
{
    bool held = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !held; i++) held = known[i] && is_held(known[i]);
    pthread_mutex_unlock(&lock);
    return held;
}

bool tutti_request_waits(const tutti_request *known, tutti_item *item)
{
    pthread_mutex_lock(&lock);
    bool waits = known->active && (!known->complete || is_held(known));
    *item = known->item;
    pthread_mutex_unlock(&lock);
    return waits;
}

typedef struct visitor {
    void (*visit)(const tutti_request *request, void *with);
    void *with;
} visitor;

static void visit_pending(void *value, void *with)
{
    const tutti_request *request = value;
    const visitor *v = with;
    int complete = 0;
    if (!request->active || request->complete) return;
    /* With several threads, another one may be ending this very request: its handle is not touched. */
    if (!tutti_process_self()->threads)
        PMPI_Request_get_status(request->handle, &complete, MPI_STATUS_IGNORE);
    if (!complete) v->visit(request, v->with);
}

void tutti_request_each(void (*visit)(const tutti_request *request, void *with), void *with)
{
    visitor v = {visit, with};
    pthread_mutex_lock(&lock);
    tutti_table_each(&requests, visit_pending, &v);
    pthread_mutex_unlock(&lock);
}

typedef struct leaks {
    int active;
    bool notes;
} leaks;

static void leak(void *value, void *with)
{
    const tutti_request *request = value;
    leaks *l = with;
    if (request->active && !request->complete) {
        l->active++;
        tutti_finding_at('E', request->item.call, request->item.site,
            "this request is never completed: no MPI_Wait or successful MPI_Test before "
            "MPI_Finalize");
    } else if (l->notes) {
        tutti_finding_at(
            'W', request->item.call, request->item.site, "this request is never freed");
    }
}

bool tutti_request_leaks(bool notes)
{
    leaks l = {.notes = notes};
    pthread_mutex_lock(&lock);
    tutti_table_each(&requests, leak, &l);
    pthread_mutex_unlock(&lock);
    return l.active == 0;
}
