#include "apps/check/requests.h"

#include "apps/check/pairing.h"
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

void tutti_request_made(MPI_Request handle, const tutti_request *what)
{
    if (handle == MPI_REQUEST_NULL) return;
    tutti_request *request = malloc(sizeof(*request));
    if (!request) abort();
    *request = *what;
    request->handle = handle;
    if (request->comm) tutti_comm_hold(request->comm);
    if (request->active) request->number = tutti_pairing_posted(&request->item, request->data);
    pthread_mutex_lock(&lock);
    tutti_table_add(&requests, TUTTI_KEY(handle), request);
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
    tutti_request *request = tutti_table_find(&requests, TUTTI_KEY(handle));
    if (request) {
        if (request->active)
            tutti_process_finding('E', "the request is started while it is active");
        request->active = true;
        request->number = tutti_pairing_posted(&request->item, request->data);
        if (request->buffer)
            request->content =
                tutti_request_content(request->buffer, request->count, request->type);
    }
    pthread_mutex_unlock(&lock);
}

static void compare_content(const tutti_request *request)
{
    if (!request->buffer) return;
    if (tutti_request_content(request->buffer, request->count, request->type) != request->content)
        tutti_process_finding_at('E', request->item.call, request->item.site,
            "the buffer was changed while it was being sent, before the request was complete");
}

void tutti_request_done(MPI_Request handle, const MPI_Status *status)
{
    if (handle == MPI_REQUEST_NULL) return;
    pthread_mutex_lock(&lock);
    tutti_request *request = tutti_table_find(&requests, TUTTI_KEY(handle));
    if (request && request->active) {
        request->active = false;
        compare_content(request);
        if (request->item.kind == TUTTI_ITEM_RECV)
            tutti_pairing_received(request->number,
                tutti_comm_world(request->comm, status->MPI_SOURCE), status->MPI_TAG);
        if (!request->persistent) tutti_table_remove(&requests, TUTTI_KEY(handle));
    } else {
        request = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (!request || request->persistent) return;
    if (request->made)
        tutti_comm_made(*request->made, request->seed, request->item.call, request->item.site);
    destroy(request);
}

void tutti_request_freed(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    tutti_request *request = tutti_table_remove(&requests, TUTTI_KEY(handle));
    pthread_mutex_unlock(&lock);
    if (!request) return;
    if (request->active && request->item.kind == TUTTI_ITEM_RECV) tutti_pairing_lost();
    if (request->active && request->item.kind == TUTTI_ITEM_COLL)
        tutti_process_finding(
            'E', "the request of a nonblocking collective is freed before it is complete");
    destroy(request);
}

void tutti_request_cancelled(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    tutti_request *request = tutti_table_find(&requests, TUTTI_KEY(handle));
    if (request) request->item.kind = TUTTI_ITEM_OTHER;
    tutti_pairing_lost();
    pthread_mutex_unlock(&lock);
}

bool tutti_request_look(MPI_Request handle, tutti_request *copy)
{
    pthread_mutex_lock(&lock);
    const tutti_request *request = tutti_table_find(&requests, TUTTI_KEY(handle));
    if (request) *copy = *request;
    pthread_mutex_unlock(&lock);
    return request != NULL;
}

bool tutti_request_is_held(const tutti_request *request)
{
    return request->item.kind == TUTTI_ITEM_COLL && request->active &&
           request->comm->granted <= request->item.sequence;
}

bool tutti_request_held(const MPI_Request *handles, int count)
{
    bool held = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !held; i++) {
        if (handles[i] == MPI_REQUEST_NULL) continue;
        const tutti_request *request = tutti_table_find(&requests, TUTTI_KEY(handles[i]));
        held = request && tutti_request_is_held(request);
    }
    pthread_mutex_unlock(&lock);
    return held;
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
    if (!request->active) return;
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
    if (request->active) {
        l->active++;
        tutti_process_finding_at('E', request->item.call, request->item.site,
            "this request is never completed: no MPI_Wait or successful MPI_Test before "
            "MPI_Finalize");
    } else if (l->notes) {
        tutti_process_finding_at(
            'W', request->item.call, request->item.site, "this persistent request is never freed");
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
