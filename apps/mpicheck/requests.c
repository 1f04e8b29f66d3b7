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

/* Active requests that use memory, in no order, with their bounds: every call looks at all of them. Under the lock. */
typedef struct busy_request {
    uintptr_t low, high;
    mpicheck_request *request;
} busy_request;
static struct {
    busy_request *all;
    int count, capacity;
} busy;

/* Larger buffers are not hashed: that would take longer than the message. */
static const int64_t most_hashed = 1 << 22;

uint64_t mpicheck_request_content(const void *buffer, int64_t count, MPI_Datatype type)
{
    MPI_Count each = 0;
    int size = 0, at = 0;
    if (PMPI_Type_size_x(type, &each) != MPI_SUCCESS || each <= 0 || count > most_hashed / each)
        return 0;
    if (PMPI_Pack_size((int)count, type, MPI_COMM_SELF, &size) != MPI_SUCCESS) return 0;
    if (size <= 0 || size > most_hashed) return 0;
    void *packed = malloc((size_t)size);
    if (!packed) abort();
    PMPI_Pack(buffer, (int)count, type, packed, size, &at, MPI_COMM_SELF);
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

static void use_memory(mpicheck_request *request)
{
    if (request->used.count == 0 || request->busy > 0) return;
    if (busy.count == busy.capacity) {
        busy.capacity = busy.capacity ? 2 * busy.capacity : 64;
        busy.all = realloc(busy.all, sizeof(*busy.all) * (size_t)busy.capacity);
        if (!busy.all) abort();
    }
    busy.all[busy.count] = (busy_request){request->used.low, request->used.high, request};
    request->busy = ++busy.count;
}

static void leave_memory(mpicheck_request *request)
{
    if (request->busy == 0) return;
    busy.all[request->busy - 1] = busy.all[--busy.count];
    busy.all[request->busy - 1].request->busy = request->busy;
    request->busy = 0;
}

void mpicheck_request_check(const mpicheck_used *used)
{
    mpicheck_clash clash;
    mpicheck_item other;
    bool clashes = false, writes = false, written = false;
    if (used->count == 0) return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < busy.count && !clashes; i++) {
        if (busy.all[i].low >= used->high || used->low >= busy.all[i].high) continue;
        clashes = mpicheck_used_clash(used, &busy.all[i].request->used, &clash);
        if (!clashes) continue;
        other = busy.all[i].request->item;
        writes = clash.a->writes;
        written = clash.b->writes;
    }
    pthread_mutex_unlock(&lock);
    if (!clashes) return;
    mpicheck_finding_with(other.call, other.site, "the %s buffer overlaps the %s buffer",
        writes ? "receive" : "send", written ? "receive" : "send");
    mpicheck_process_await_verdict();
}

void mpicheck_request_made(MPI_Request handle, const mpicheck_request *what)
{
    if (handle == MPI_REQUEST_NULL) {
        mpicheck_used unused = what->used;
        mpicheck_used_free(&unused);
        return;
    }
    uint64_t number = what->active ? mpicheck_pairing_posted(&what->item, what->data) : 0;
    pthread_mutex_lock(&lock);
    mpicheck_request *request = found(handle);
    if (request) {
        /* One handle for several: which of them a call completes is unknown. */
        mpicheck_used unused = what->used;
        request->times++;
        request->buffer = NULL;
        leave_memory(request);
        mpicheck_used_free(&request->used);
        mpicheck_used_free(&unused);
    } else {
        request = malloc(sizeof(*request));
        if (!request) abort();
        *request = *what;
        request->handle = handle;
        request->item.number = number;
        request->times = 1;
        if (request->active) use_memory(request);
        if (request->comm) mpicheck_comm_hold(request->comm);
        mpicheck_table_add(&requests, MPICHECK_KEY(handle), request);
    }
    pthread_mutex_unlock(&lock);
}

static void destroy(mpicheck_request *request)
{
    mpicheck_used_free(&request->used);
    if (request->comm) mpicheck_comm_release(request->comm);
    free(request);
}

void mpicheck_request_started(MPI_Request handle)
{
    pthread_mutex_lock(&lock);
    mpicheck_request *request = found(handle);
    if (request && request->persistent && request->busy == 0) {
        /* The regions stay where they are: the program does not free a request that it starts. */
        pthread_mutex_unlock(&lock);
        mpicheck_request_check(&request->used);
        pthread_mutex_lock(&lock);
    }
    if (request && request->persistent) {
        if (request->active && !request->complete)
            mpicheck_finding('E', "the request is started while it is active");
        request->active = true;
        request->complete = false;
        use_memory(request);
        request->item.number = mpicheck_pairing_posted(&request->item, request->data);
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
    leave_memory(request);
    if (status) compare_content(request);
    if (request->item.kind != MPICHECK_ITEM_RECV) return;
    if (status)
        mpicheck_pairing_received(request->item.number,
            mpicheck_comm_world(request->comm, status->MPI_SOURCE), status->MPI_TAG);
    else
        mpicheck_pairing_lost();
}

/* One of the requests of this handle is gone; true: it was the last. Under the lock. */
static bool gone(mpicheck_request *request)
{
    if (--request->times > 0) return false;
    leave_memory(request);
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
    if (request) {
        request->item.kind = MPICHECK_ITEM_OTHER;
        leave_memory(request);
    }
    mpicheck_pairing_lost();
    pthread_mutex_unlock(&lock);
}

static void unguard(void *value, void *type)
{
    mpicheck_request *request = value;
    mpicheck_used_keep(&request->used, *(MPI_Datatype *)type);
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
    MPI_Status status;
    if (!request->active || request->complete) return;
    /* With several threads, another one may be completing this very request: its handle is not touched. */
    if (!mpicheck_process_self()->threads)
        PMPI_Request_get_status(request->handle, &complete, &status);
    if (!complete)
        v->visit(request, v->with);
    else if (request->item.kind == MPICHECK_ITEM_RECV) /* its message is no longer under way */
        mpicheck_pairing_received(request->item.number,
            mpicheck_comm_world(request->comm, status.MPI_SOURCE), status.MPI_TAG);
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
