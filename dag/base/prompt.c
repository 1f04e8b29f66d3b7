#define _GNU_SOURCE /* syscall */
#include "dag/base/prompt.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_sched_setattr

/* struct sched_attr of Linux, its first version; not every libc has it. */
typedef struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* of a normal thread: nanoseconds of a turn; 0: the default */
    uint64_t deadline, period;
} attributes;

/* Returns the runtime there was. Threads with a policy of their own stay as they are. */
static unsigned long long set(uint64_t runtime)
{
    attributes a = {.size = sizeof a};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) || a.policy) return 0;
    uint64_t before = a.runtime;
    a.size = sizeof a;
    a.runtime = runtime;
    (void)syscall(SYS_sched_setattr, 0, &a, 0); /* nothing depends on it but time */
    return before;
}

#else

static unsigned long long set(uint64_t runtime)
{
    (void)runtime;
    return 0;
}

#endif

unsigned long long tutti_prompt_begin(void)
{
    static const uint64_t shortest_ns = 100000;
    return set(shortest_ns);
}

void tutti_prompt_end(unsigned long long before)
{
    set(before);
}
