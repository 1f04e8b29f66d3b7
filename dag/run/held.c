#include "dag/run/held.h"

#include "dag/base/log.h"
#include "dag/run/starpu_mode.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct datum {
    starpu_data_handle_t handle;
    tutti_mode mode;
    int refused; /* never acquired */
} datum;

struct tutti_held {
    tutti_held_request request;
    atomic_int missing;   /* data that are not here yet, +1 while they are being requested */
    tutti_status refused; /* of data that StarPU refuses; written before missing reaches 0 */
    int submitted;
    struct starpu_task *start;
    tutti_held *next; /* of those that one thread starts */
    /* counted among StarPU's tasks until the end; NULL: not counted */
    struct starpu_task *presence;
    int data;
    datum datum[];
};

/* The memory node on which a datum is held. */
static int node_of(const tutti_held *h, const datum *held)
{
    return held->mode == TUTTI_CHAIN ? STARPU_MAIN_RAM : (int)h->request.memory_node;
}

static void call_start(tutti_held *h)
{
    tutti_buffer buf[h->data + 1];
    starpu_data_handle_t chain = NULL;
    memset(buf, 0, sizeof buf);
    for (int d = 0; d < h->data; d++) {
        starpu_data_handle_t handle = h->datum[d].handle;
        if (h->datum[d].mode == TUTTI_CHAIN)
            chain = handle;
        else
            buf[d] = (tutti_buffer){
                .pointer = starpu_data_handle_to_pointer(handle, h->request.memory_node),
                .bytes = starpu_data_get_size(handle),
                .memory = h->request.memory,
                .device = h->request.device};
    }
    h->request.start(h->request.arg, buf); /* h may be gone */
    if (chain) starpu_data_release_on_node(chain, STARPU_MAIN_RAM);
}

static void run_start(void *buffers[], void *arg)
{
    (void)buffers;
    call_start(arg);
}

/* Who holds a datum next sees what the last one did: StarPU passes data on under spin locks of its own, which
 * ThreadSanitizer does not see; of this it does. */
static atomic_uint passed_on;

/* Releases the links of a chain, or everything else. */
static void release(const tutti_held *h, int links)
{
    for (int d = 0; d < h->data; d++)
        if ((h->datum[d].mode == TUTTI_CHAIN) == links && !h->datum[d].refused)
            starpu_data_release_on_node(h->datum[d].handle, node_of(h, &h->datum[d]));
}

void tutti_starpu_task_discard(struct starpu_task *task)
{
    if (!task) return;
    task->destroy = 0;
    task->cl_arg_free = 0;
    starpu_task_destroy(task);
}

static struct starpu_codelet start_codelet = {.cpu_funcs = {run_start}, .name = "tutti_collective"};

int tutti_held_is(const struct starpu_task *task)
{
    return task->cl == &start_codelet;
}

/* A worker starts it; where there can be none, it is refused. */
static void submit_start(tutti_held *h)
{
    tutti_status status = h->refused;
    if (!status) {
        int rc = starpu_task_submit(h->start);
        if (!rc) return;
        status = tutti_fail(
            TUTTI_ERR_INTERNAL, "StarPU refuses task '%s': %s", h->request.name, strerror(-rc));
    }
    tutti_starpu_task_discard(h->start);
    release(h, 1);
    h->request.refused(h->request.arg, status);
}

/* What this thread is to start itself. */
typedef struct line {
    int begun; /* 0: it starts none; else how many, with those that wait */
    tutti_held *first, **end;
} line;

/* A GPU's worker feeds the GPU. */
static int may_start(const tutti_held *h, const line *l)
{
    enum { MOST_IN_A_ROW = 16 }; /* then others have this thread again */
    int worker = starpu_worker_get_id();
    return h->request.brief && !h->refused && l->begun < MOST_IN_A_ROW &&
           (worker < 0 || starpu_worker_get_type(worker) == STARPU_CPU_WORKER);
}

/* All data are here. What starts may bring the data of others, which start behind it and not inside it. */
static void start_it(tutti_held *h)
{
    static _Thread_local line l;
    if (!may_start(h, &l)) {
        submit_start(h);
        return;
    }
    int inside = l.begun++ > 0;
    if (!inside) l.end = &l.first;
    h->next = NULL;
    *l.end = h;
    l.end = &h->next;
    while (!inside && (h = l.first)) {
        l.first = h->next;
        if (!l.first) l.end = &l.first;
        tutti_starpu_task_discard(h->start);
        call_start(h); /* h may be gone */
    }
    if (!inside) l.begun = 0;
}

/* One more datum is here. StarPU may call this on any thread, even on the comm thread that has just
 * ended another collective: then a worker starts the collective, unless that is brief. */
static void arrive(void *arg)
{
    tutti_held *h = arg;
    atomic_fetch_add(&passed_on, 1);
    if (atomic_fetch_sub(&h->missing, 1) == 1) start_it(h);
}

tutti_status tutti_held_open(const tutti_held_request *request, tutti_held **held)
{
    size_t data = (size_t)request->handles;
    tutti_held *h = calloc(1, sizeof *h + data * sizeof(datum));
    struct starpu_task *start = starpu_task_create();
    struct starpu_task *presence = request->counted ? starpu_task_create() : NULL;
    if (!h || !start || (request->counted && !presence)) {
        tutti_starpu_task_discard(start);
        tutti_starpu_task_discard(presence);
        free(h);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for task '%s'", request->name);
    }
    start->cl = &start_codelet;
    start->cl_arg = h;
    start->name = request->name;
    start->priority = request->priority;
    *h = (tutti_held){.request = *request, .start = start, .presence = presence};
    h->data = request->handles;
    for (int d = 0; d < h->data; d++)
        h->datum[d] = (datum){.handle = request->handle[d], .mode = request->mode[d]};
    atomic_init(&h->missing, h->data + 1);
    *held = h;
    return TUTTI_OK;
}

tutti_status tutti_held_submit(tutti_held *held)
{
    if (held->presence) {
        starpu_task_end_dep_add(held->presence, 1);
        int rc = starpu_task_submit(held->presence);
        if (rc)
            return tutti_fail(
                TUTTI_ERR_INTERNAL, "StarPU refuses a task without data: %s", strerror(-rc));
    }
    held->submitted = 1;
    for (int d = 0; d < held->data; d++) {
        datum *wanted = &held->datum[d];
        int rc = starpu_data_acquire_on_node_cb(
            wanted->handle, node_of(held, wanted), tutti_starpu_mode(wanted->mode), arrive, held);
        if (!rc) continue;
        wanted->refused = 1;
        held->refused = tutti_fail(TUTTI_ERR_INTERNAL,
            "StarPU cannot acquire the data of task '%s': %s", held->request.name, strerror(-rc));
        arrive(held);
    }
    arrive(held);
    return TUTTI_OK;
}

void tutti_held_end(tutti_held *held)
{
    struct starpu_task *presence = held->presence;
    if (!held->submitted) {
        tutti_starpu_task_discard(held->start);
        tutti_starpu_task_discard(presence);
        free(held);
        return;
    }
    atomic_fetch_add(&passed_on, 1);
    release(held, 0);
    free(held);
    if (presence) starpu_task_end_dep_release(presence);
}
