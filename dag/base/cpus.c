#define _GNU_SOURCE /* processor sets */
#include "dag/base/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static void add_cpu(tutti_cpus *cpus, int cpu)
{
    if (cpu >= 0 && cpu < TUTTI_CPUS) cpus->word[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

int tutti_cpus_has(const tutti_cpus *cpus, int cpu)
{
    return cpu >= 0 && cpu < TUTTI_CPUS && (cpus->word[cpu / 64] >> (cpu % 64) & 1);
}

int tutti_cpus_count(const tutti_cpus *cpus)
{
    int count = 0;
    for (int i = 0; i < TUTTI_CPUS / 64; i++) count += __builtin_popcountll(cpus->word[i]);
    return count;
}

void tutti_cpus_parse(const char *list, tutti_cpus *cpus)
{
    *cpus = (tutti_cpus){{0}};
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list) return;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < TUTTI_CPUS; cpu++)
            add_cpu(cpus, (int)cpu);
        list = *end == ',' ? end + 1 : end;
        if (list == end) return;
    }
}

tutti_cpus tutti_cpus_allowed(void)
{
    enum { MOST = 1 << 16 };
    tutti_cpus cpus = {{0}};
    /* A set that is smaller than the kernel's is refused. */
    for (int room = CPU_SETSIZE, refused = 1; refused && room <= MOST; room *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(room);
        cpu_set_t *set = CPU_ALLOC(room);
        const int failed = !set || sched_getaffinity(0, bytes, set);
        refused = set && failed && errno == EINVAL;
        for (int cpu = 0; !failed && cpu < TUTTI_CPUS && cpu < room; cpu++)
            if (CPU_ISSET_S(cpu, bytes, set)) add_cpu(&cpus, cpu);
        CPU_FREE(set);
    }
    return cpus;
}

int tutti_cpus_bind(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE) return EINVAL;
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) ? errno : 0;
}
