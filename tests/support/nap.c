/* In programs that have a StarPU of their own, linked or preloaded: its idle workers poll without a pause, and so
 * take the cores from the ranks that have something to do, of which a test has more than there are cores. With
 * this they sleep a little instead. (The scheduler of Tutti's own programs sleeps by itself, and is left alone.) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <string.h>
#include <time.h>

typedef int init_function(struct starpu_conf *conf);
typedef struct starpu_sched_policy *policy_function(unsigned context);

typedef struct starpu_task *pop_function(unsigned context);

static _Atomic(pop_function *) pop; /* workers run already when it is set */

static struct starpu_task *pop_or_nap(unsigned context)
{
    pop_function *const real = pop;
    struct starpu_task *task = real(context);
    if (task) return task;
    starpu_worker_relax_on(); /* or who pushes a task waits until this worker is here no more, and may wait for long */
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    starpu_worker_relax_off();
    return NULL;
}

/* libtutti's calls come here, too. */
__attribute__((visibility("default"))) int starpu_init(struct starpu_conf *conf)
{
    init_function *init = (init_function *)dlsym(RTLD_NEXT, "starpu_init");
    policy_function *policy_of =
        (policy_function *)dlsym(RTLD_NEXT, "starpu_sched_ctx_get_sched_policy");
    int rc = init(conf);
    struct starpu_sched_policy *policy = rc ? NULL : policy_of(0); /* the context's own copy */
    if (!policy || !policy->pop_task || policy->pop_task == pop_or_nap) return rc;
    if (policy->policy_name && !strcmp(policy->policy_name, "tutti")) return rc;
    pop = policy->pop_task;
    policy->pop_task = pop_or_nap;
    return rc;
}
