#include "apps/mpicheck/requests.h"

#include "apps/mpicheck/pairing.h"
#include "apps/mpicheck/finding.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/table.h"

#include <pthread.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* By handle; `lock` protects the table and its requests. It is taken before the locks of comms and process. */
static mpicheck_table requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Larger buffers are not hashed: that would take longer than the message. */
static const int64_t most_hashed = 1 << 22;

uint64_t mpicheck_request_content(const void *buffer, int count, MPI_Datatype type)
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

/* A known request of this handle that no call is completing, or NULL. Under the lock. */
static mpicheck_request *found(MPI_Request handle)
{
    uint64_t key = MPICHECK_KEY(handle);
    if (handle == MPI_REQUEST_NULL) return NULL;
    for (const mpicheck_entry *e = mpicheck_table_bucket(&requests, key); e; e = e->next) {
        mpicheck_request *request = e->value;
        if (e->key == key && request->claims < request->times) return request;
    }
    return NULL;
}

void mpicheck_request_made(MPI_Request handle, const mpicheck_request *what)
{
    if (handle == MPI_REQUEST_NULL) return;
    uint64_t number = what->active ? mpicheck_pairing_posted(&what->item, what->data) : 0;
    pthread_mutex_lock(&lock);
    mpicheck_request *request = found(handle);
    if (request) {
        /* One handle for several: which of them a call completes is unknown. */
        request->times++;
        request->buffer = NULL;
    } else {
        request = malloc(sizeof(*request));
        if (!request) abort();
        *request = *what;
        request->handle = handle;
        request->number = number;
        request->times = 1;
        if (request->comm) mpicheck_comm_hold(request->comm);
        mpicheck_table_add(&requests, MPICHECK_KEY(handle), request);
    }
    pthread_mutex_unlock(&lock);
}

static void destroy(mpicheck_request *request)
{
    if (request->comm) mpicheck_comm_release(request->comm);
    free(request);
}

void mpicheck_request_started(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    mpicheck_request *request = found(handle);
    if (request && request->persistent) {
        if (request->active && !request->complete)
            mpicheck_finding('E', "the request is started while it is active");
        request->active = true;
        request->complete = false;
        request->number = mpicheck_pairing_posted(&request->item, request->data);
        if (request->buffer)
            request->content =
                mpicheck_request_content(request->buffer, request->count, request->type);
    }
    pthread_mutex_unlock(&lock);
}

void mpicheck_request_claim(const MPI_Request *handles, int count, mpicheck_request **known)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) {
        known[i] = found(handles[i]);
        if (known[i]) known[i]->claims++;
    }
    pthread_mutex_unlock(&lock);
}

void mpicheck_request_release(mpicheck_request *known)
{
    if (!known) return;
    pthread_mutex_lock(&lock);
    known->claims--;
    pthread_mutex_unlock(&lock);
}

static void compare_content(mpicheck_request *request)
{
    if (!request->buffer) return;
    if (mpicheck_request_content(request->buffer, request->count, request->type) !=
        request->content)
        mpicheck_finding_at('E', request->item.call, request->item.site,
            "the buffer was changed while it was being sent, before the request was complete");
}

/* MPI has reported that the operation is complete. Under the lock. */
static void over(mpicheck_request *request, const MPI_Status *status)
{
    if (request->complete) return;
    request->complete = true;
    if (status) compare_content(request);
    if (request->item.kind != MPICHECK_ITEM_RECV) return;
    if (status)
        mpicheck_pairing_received(request->number,
            mpicheck_comm_world(request->comm, status->MPI_SOURCE), status->MPI_TAG);
    else
        mpicheck_pairing_lost();
}

/* One of the requests of this handle is gone; true: it was the last. Under the lock. */
static bool gone(mpicheck_request *request)
{
    if (--request->times > 0) return false;
    mpicheck_table_take(&requests, MPICHECK_KEY(request->handle), request);
    return true;
}

void mpicheck_request_done(mpicheck_request *known, const MPI_Status *status)
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
        mpicheck_comm_made(*known->made, known->seed, known->item.call, known->item.site);
    destroy(known);
}

void mpicheck_request_seen(mpicheck_request *known, const MPI_Status *status)
{
    if (!known) return;
    pthread_mutex_lock(&lock);
    known->claims--;
    if (known->active) over(known, status);
    pthread_mutex_unlock(&lock);
}

void mpicheck_request_freed(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    mpicheck_request *request = found(handle);
    bool last = request && gone(request);
    pthread_mutex_unlock(&lock);
    if (!last) return;
    bool pending = request->active && !request->complete;
    if (pending && request->item.kind == MPICHECK_ITEM_RECV) mpicheck_pairing_lost();
    if (pending && request->item.kind == MPICHECK_ITEM_COLL)
        mpicheck_finding(
            'E', "the request of a nonblocking collective is freed before it is complete");
    destroy(request);
}

void mpicheck_request_cancelled(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    mpicheck_request *request = found(handle);
    if (request && request->active && request->item.kind == MPICHECK_ITEM_COLL)
        mpicheck_finding('E', "a nonblocking collective cannot be cancelled");
    if (request) request->item.kind = MPICHECK_ITEM_OTHER;
    mpicheck_pairing_lost();
    pthread_mutex_unlock(&lock);
}

static void unguard(void *value, void *type)
{
    mpicheck_request *request = value;
    if (request->type == *(MPI_Datatype *)type) request->buffer = NULL;
}

void mpicheck_request_type_freed(MPI_Datatype type)
{
    pthread_mutex_lock(&lock);
    mpicheck_table_each(&requests, unguard, &type);
    pthread_mutex_unlock(&lock);
}

static bool is_held(const mpicheck_request *request)
{
    return request->item.kind == MPICHECK_ITEM_COLL && request->active &&
           request->comm->granted <= request->item.sequence;
}

bool mpicheck_request_held(mpicheck_request *const *known, int count)
{
    bool held = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !held; i++) held = known[i] && is_held(known[i]);
    pthread_mutex_unlock(&lock);
    return held;
}

bool mpicheck_request_waits(const mpicheck_request *known, mpicheck_item *item)
{
    pthread_mutex_lock(&lock);
    bool waits = known->active && (!known->complete || is_held(known));
    *item = known->item;
    pthread_mutex_unlock(&lock);
    return waits;
}

typedef struct visitor {
    void (*visit)(const mpicheck_request *request, void *with);
    void *with;
} visitor;

static void visit_pending(void *value, void *with)
{
    const mpicheck_request *request = value;
    const visitor *v = with;
    int complete = 0;
    if (!request->active || request->complete) return;
    /* With several threads, another one may be completing this very request: its handle is not touched. */
    if (!mpicheck_process_self()->threads)
        PMPI_Request_get_status(request->handle, &complete, MPI_STATUS_IGNORE);
    if (!complete) v->visit(request, v->with);
}

void mpicheck_request_each(void (*visit)(const mpicheck_request *request, void *with), void *with)
{
    visitor v = {visit, with};
    pthread_mutex_lock(&lock);
    mpicheck_table_each(&requests, visit_pending, &v);
    pthread_mutex_unlock(&lock);
}

typedef struct leaks {
    int active;
    bool notes;
} leaks;

static void leak(void *value, void *with)
{
    const mpicheck_request *request = value;
    leaks *l = with;
    if (request->active && !request->complete) {
        l->active++;
        mpicheck_finding_at('E', request->item.call, request->item.site,
            "this request is never completed: no MPI_Wait or successful MPI_Test before "
            "MPI_Finalize");
    } else if (l->notes) {
        mpicheck_finding_at(
            'W', request->item.call, request->item.site, "this request is never freed");
    }
}

bool mpicheck_request_leaks(bool notes)
{
    leaks l = {.notes = notes};
    pthread_mutex_lock(&lock);
    mpicheck_table_each(&requests, leak, &l);
    pthread_mutex_unlock(&lock);
    return l.active == 0;
}
