#include "dag/run/scheduler.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <limits.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdlib.h>

typedef struct ready_task {
    struct starpu_task *task;
    uint64_t order; /* of the push */
} ready_task;

/* A binary heap of ready tasks. */
typedef struct heap {
    ready_task *task;
    size_t count, room;
    pthread_cond_t pushed;
} heap;

/* Who runs a task: CPU workers, or those of GPUs. */
enum { CPU, GPU, KINDS };

typedef struct queue {
    pthread_mutex_t lock; /* protects what follows */
    heap of[KINDS];
    uint64_t pushes;
    int launched; /* tasks that GPUs' workers have, and have not ended */
} queue;

static int goes_first(const ready_task *a, const ready_task *b)
{
    if (a->task->priority != b->task->priority) return a->task->priority > b->task->priority;
    return a->order < b->order;
}

static void swap(ready_task *a, ready_task *b)
{
    ready_task t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(heap *q, size_t i)
{
    for (; i && goes_first(&q->task[i], &q->task[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&q->task[i], &q->task[(i - 1) / 2]);
}

static void sift_down(heap *q, size_t i)
{
    for (;;) {
        size_t first = i, left = 2 * i + 1;
        for (size_t child = left; child < left + 2 && child < q->count; child++)
            if (goes_first(&q->task[child], &q->task[first])) first = child;
        if (first == i) return;
        swap(&q->task[i], &q->task[first]);
        i = first;
    }
}

/* The last task takes the place of the i-th. */
static void remove_at(heap *q, size_t i)
{
    q->task[i] = q->task[--q->count];
    if (i == q->count) return;
    sift_up(q, i);
    sift_down(q, i);
}

static void open_queue(unsigned context)
{
    queue *q = calloc(1, sizeof *q);
    if (q) pthread_mutex_init(&q->lock, NULL);
    for (int k = 0; q && k < KINDS; k++) tutti_clock_cond_init(&q->of[k].pushed);
    starpu_sched_ctx_set_policy_data(context, q);
    starpu_sched_ctx_set_min_priority(context, INT_MIN);
    starpu_sched_ctx_set_max_priority(context, INT_MAX);
}

static void close_queue(unsigned context)
{
    queue *q = starpu_sched_ctx_get_policy_data(context);
    pthread_mutex_destroy(&q->lock);
    for (int k = 0; k < KINDS; k++) {
        pthread_cond_destroy(&q->of[k].pushed);
        free(q->of[k].task);
    }
    free(q);
}

static int grow(heap *h)
{
    size_t room = h->room ? 2 * h->room : 256;
    ready_task *grown = realloc(h->task, room * sizeof *grown);
    if (!grown) {
        tutti_log(TUTTI_LOG_ERROR, "scheduler: no memory for %zu ready tasks", room);
        return 0;
    }
    h->task = grown;
    h->room = room;
    return 1;
}

/* A task that both kinds of workers could run is the CPU's: there are none such. */
static heap *heap_of(queue *q, const struct starpu_task *task)
{
    const struct starpu_codelet *codelet = task->cl;
    return &q->of[codelet->cuda_funcs[0] && !codelet->cpu_funcs[0] ? GPU : CPU];
}

static int push_submitted(struct starpu_task *task)
{
    queue *q = starpu_sched_ctx_get_policy_data(task->sched_ctx);
    pthread_mutex_lock(&q->lock);
    heap *h = heap_of(q, task);
    if (h->count == h->room && !grow(h)) {
        pthread_mutex_unlock(&q->lock);
        return -1;
    }
    h->task[h->count] = (ready_task){task, q->pushes++};
    sift_up(h, h->count++);
    starpu_push_task_end(task); /* before a worker can take the task, run it and destroy it */
    pthread_cond_signal(&h->pushed);
    pthread_mutex_unlock(&q->lock);
    return 0;
}

/* Removes the first task that this worker can run; NULL when there is none. */
static struct starpu_task *take_first(heap *h)
{
    int worker = starpu_worker_get_id();
    size_t first = h->count;
    unsigned implementation, chosen = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (first < h->count && !goes_first(&h->task[i], &h->task[first])) continue;
        if (!starpu_worker_can_execute_task_first_impl(
                (unsigned)worker, h->task[i].task, &implementation))
            continue;
        first = i;
        chosen = implementation;
        if (i == 0) break; /* no other goes before it */
    }
    if (first == h->count) return NULL;
    struct starpu_task *task = h->task[first].task;
    starpu_task_set_implementation(task, chosen);
    remove_at(h, first);
    return task;
}

static int is_gpu_worker(void)
{
    return starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CUDA_WORKER;
}

/* A GPU's worker returns at once while it has tasks, whose ends it looks for, and soon otherwise, because
 * it also makes the copies to and from its GPU. */
static double nap_of(const queue *q, int kind)
{
    static const double cpu_s = 1e-3, gpu_s = 50e-6;
    if (kind == CPU) return cpu_s;
    return q->launched ? 0 : gpu_s;
}

static struct starpu_task *pop(unsigned context)
{
    queue *q = starpu_sched_ctx_get_policy_data(context);
    const int kind = is_gpu_worker() ? GPU : CPU;
    heap *h = &q->of[kind];
    starpu_worker_relax_on(); /* others may look at this worker while it sleeps */
    pthread_mutex_lock(&q->lock);
    struct starpu_task *task = take_first(h);
    const double nap_s = task ? 0 : nap_of(q, kind);
    if (nap_s > 0) {
        struct timespec until = tutti_clock_after(nap_s);
        pthread_cond_timedwait(&h->pushed, &q->lock, &until);
        task = take_first(h);
    }
    if (task && kind == GPU) q->launched++;
    pthread_mutex_unlock(&q->lock);
    starpu_worker_relax_off();
    return task;
}

/* Called by the worker that has run it. */
static void count_ended(struct starpu_task *task, unsigned context)
{
    queue *q = starpu_sched_ctx_get_policy_data(context);
    (void)task;
    if (!is_gpu_worker()) return;
    pthread_mutex_lock(&q->lock);
    q->launched--;
    pthread_mutex_unlock(&q->lock);
}

struct starpu_sched_policy tutti_scheduler = {
    .init_sched = open_queue,
    .deinit_sched = close_queue,
    .push_task = push_submitted,
    .pop_task = pop,
    .post_exec_hook = count_ended,
    .policy_name = "tutti",
    .policy_description = "a queue by priority for each kind of worker; idle workers sleep",
};
