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
typedef struct queue {
    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t pushed;
    ready_task *heap;
    size_t count, room;
    uint64_t pushes;
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

static void sift_up(queue *q, size_t i)
{
    for (; i && goes_first(&q->heap[i], &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&q->heap[i], &q->heap[(i - 1) / 2]);
}

static void sift_down(queue *q, size_t i)
{
    for (;;) {
        size_t first = i, left = 2 * i + 1;
        for (size_t child = left; child < left + 2 && child < q->count; child++)
            if (goes_first(&q->heap[child], &q->heap[first])) first = child;
        if (first == i) return;
        swap(&q->heap[i], &q->heap[first]);
        i = first;
    }
}

/* The last task takes the place of the i-th. */
static void remove_at(queue *q, size_t i)
{
    q->heap[i] = q->heap[--q->count];
    if (i == q->count) return;
    sift_up(q, i);
    sift_down(q, i);
}

static void open_queue(unsigned context)
{
    queue *q = calloc(1, sizeof *q);
    if (q) {
        pthread_mutex_init(&q->lock, NULL);
        tutti_clock_cond_init(&q->pushed);
    }
    starpu_sched_ctx_set_policy_data(context, q);
    starpu_sched_ctx_set_min_priority(context, INT_MIN);
    starpu_sched_ctx_set_max_priority(context, INT_MAX);
}

static void close_queue(unsigned context)
{
    queue *q = starpu_sched_ctx_get_policy_data(context);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->pushed);
    free(q->heap);
    free(q);
}

static int push(struct starpu_task *task)
{
    queue *q = starpu_sched_ctx_get_policy_data(task->sched_ctx);
    pthread_mutex_lock(&q->lock);
    if (q->count == q->room) {
        size_t room = q->room ? 2 * q->room : 256;
        ready_task *grown = realloc(q->heap, room * sizeof *grown);
        if (!grown) {
            pthread_mutex_unlock(&q->lock);
            tutti_log(TUTTI_LOG_ERROR, "scheduler: no memory for %zu ready tasks", room);
            return -1;
        }
        q->heap = grown;
        q->room = room;
    }
    q->heap[q->count] = (ready_task){task, q->pushes++};
    sift_up(q, q->count++);
    starpu_push_task_end(task); /* before a worker can take the task, run it and destroy it */
    pthread_cond_signal(&q->pushed);
    pthread_mutex_unlock(&q->lock);
    return 0;
}

/* Removes the first task that this worker can run; NULL when there is none. */
static struct starpu_task *take_first(queue *q)
{
    int worker = starpu_worker_get_id();
    size_t first = q->count;
    unsigned implementation, chosen = 0;
    for (size_t i = 0; i < q->count; i++) {
        if (first < q->count && !goes_first(&q->heap[i], &q->heap[first])) continue;
        if (!starpu_worker_can_execute_task_first_impl(
                (unsigned)worker, q->heap[i].task, &implementation))
            continue;
        first = i;
        chosen = implementation;
        if (i == 0) break; /* no other goes before it */
    }
    if (first == q->count) return NULL;
    struct starpu_task *task = q->heap[first].task;
    starpu_task_set_implementation(task, chosen);
    remove_at(q, first);
    return task;
}

static struct starpu_task *pop(unsigned context)
{
    static const double nap_s = 1e-3;
    queue *q = starpu_sched_ctx_get_policy_data(context);
    starpu_worker_relax_on(); /* others may look at this worker while it sleeps */
    pthread_mutex_lock(&q->lock);
    struct starpu_task *task = take_first(q);
    if (!task) {
        struct timespec until = tutti_clock_after(nap_s);
        pthread_cond_timedwait(&q->pushed, &q->lock, &until);
        task = take_first(q);
    }
    pthread_mutex_unlock(&q->lock);
    starpu_worker_relax_off();
    return task;
}

struct starpu_sched_policy tutti_scheduler = {
    .init_sched = open_queue,
    .deinit_sched = close_queue,
    .push_task = push,
    .pop_task = pop,
    .policy_name = "tutti",
    .policy_description = "one queue by priority; idle workers sleep",
};
