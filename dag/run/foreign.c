#include "dag/run/foreign.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/held.h"

#include <sched.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SLOTS = 4096, MOST_NAMES = 3072, CONTEXTS = STARPU_NMAX_SCHED_CTXS };

typedef void (*task_hook)(struct starpu_task *task, unsigned context);

/* The names of one worker's tasks: a hash table, which only that worker writes. */
typedef struct names {
    int count;
    char *text[NAME_SLOTS];
} names;

struct tutti_foreign {
    tutti_trace *trace;
    int workers;
    names names[];
};

/* What a worker does. Only its own thread uses it, except that stop reads `inside`, and then forgets the task. */
typedef struct worker {
    _Alignas(64) atomic_int inside; /* a hook may use the recording */
    const struct starpu_task *task; /* that has begun; NULL: none */
    const tutti_foreign *recording; /* in which it has begun */
    const char *name;
    double begin_s;
} worker;

/* Hooks get no argument of ours. */
static worker workers[STARPU_NMAXWORKERS];
static _Atomic(tutti_foreign *) current;
/* The hooks of each context's policy; written before ours take their place. */
static struct {
    task_hook pre, post;
} own[CONTEXTS];

/* ---- names ---- */

/* A copy of the text that lasts until close. */
static const char *keep_name(names *n, const char *text)
{
    static const char nameless[] = "task";
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    if (!text || !*text) return nameless;
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    for (size_t at = hash % NAME_SLOTS;; at = (at + 1) % NAME_SLOTS) {
        if (n->text[at] && strcmp(n->text[at], text) != 0) continue;
        if (n->text[at]) return n->text[at];
        if (n->count == MOST_NAMES || !(n->text[at] = strdup(text))) return nameless;
        n->count++;
        return n->text[at];
    }
}

/* ---- on a worker ---- */

/* The calling worker and the recording, which lasts until leave; NULL: nothing is recorded. */
static worker *enter(tutti_foreign **recording)
{
    if (!atomic_load_explicit(&current, memory_order_relaxed)) return NULL;
    int id = starpu_worker_get_id();
    if (id < 0 || id >= STARPU_NMAXWORKERS) return NULL;
    worker *w = &workers[id];
    atomic_store(&w->inside, 1); /* before the recording is read, as stop first removes it */
    *recording = atomic_load(&current);
    if (*recording && id < (*recording)->workers) return w;
    atomic_store(&w->inside, 0);
    return NULL;
}

static void leave_worker(worker *w)
{
    atomic_store(&w->inside, 0);
}

static void before_task(struct starpu_task *task, unsigned context)
{
    if (own[context].pre) own[context].pre(task, context);
    tutti_foreign *f;
    worker *w = enter(&f);
    if (!w) return;
    w->task = NULL;
    w->begin_s = tutti_trace_now(f->trace);
    if (w->begin_s > 0) {
        w->name = keep_name(&f->names[w - workers], starpu_task_get_name(task));
        w->recording = f;
        w->task = task;
    }
    leave_worker(w);
}

static void after_task(struct starpu_task *task, unsigned context)
{
    tutti_foreign *f;
    worker *w = enter(&f);
    if (w) {
        if (w->task == task && w->recording == f) { /* not one that ends inside another */
            w->task = NULL;
            tutti_span_kind kind = tutti_held_is(task) ? TUTTI_SPAN_START : TUTTI_SPAN_TASK;
            tutti_trace_task(f->trace, (int)(w - workers), kind, w->name,
                tutti_trace_step(f->trace), w->begin_s);
        }
        leave_worker(w);
    }
    if (own[context].post) own[context].post(task, context);
}

/* ---- on the main thread ---- */

static void put_hooks(unsigned context)
{
    struct starpu_sched_policy *policy =
        context < CONTEXTS ? starpu_sched_ctx_get_sched_policy(context) : NULL;
    if (!policy || policy->pre_exec_hook == before_task) return;
    own[context].pre = policy->pre_exec_hook;
    own[context].post = policy->post_exec_hook;
    __atomic_store_n(&policy->pre_exec_hook, before_task, __ATOMIC_RELEASE);
    __atomic_store_n(&policy->post_exec_hook, after_task, __ATOMIC_RELEASE);
}

int tutti_foreign_workers(void)
{
    return (int)starpu_worker_get_count();
}

tutti_status tutti_foreign_open(tutti_trace *trace, tutti_foreign **foreign)
{
    int count = tutti_foreign_workers();
    tutti_foreign *none = NULL, *f = calloc(1, sizeof *f + (size_t)count * sizeof *f->names);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to trace %d workers", count);
    f->trace = trace;
    f->workers = count;
    if (!atomic_compare_exchange_strong(&current, &none, f)) {
        free(f);
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "another session of this process is being traced: end its trace first");
    }
    for (int i = 0; i < count; i++) {
        unsigned *context = NULL, contexts = starpu_worker_get_sched_ctx_list(i, &context);
        for (unsigned k = 0; k < contexts; k++) put_hooks(context[k]);
        free(context);
    }
    *foreign = f;
    return TUTTI_OK;
}

void tutti_foreign_stop(tutti_foreign *foreign)
{
    tutti_foreign *self = foreign;
    atomic_compare_exchange_strong(&current, &self, NULL);
    for (int i = 0; i < foreign->workers && i < STARPU_NMAXWORKERS; i++) {
        while (atomic_load(&workers[i].inside)) sched_yield();
        workers[i].task = NULL; /* a later recording may have this one's address */
    }
}

void tutti_foreign_close(tutti_foreign *foreign)
{
    if (!foreign) return;
    tutti_foreign_stop(foreign);
    for (int i = 0; i < foreign->workers; i++)
        for (int k = 0; k < NAME_SLOTS; k++) free(foreign->names[i].text[k]);
    free(foreign);
}
