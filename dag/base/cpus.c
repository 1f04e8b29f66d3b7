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
    tutti_cpus cpus = {{0}};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return cpus;
    for (int cpu = 0; cpu < TUTTI_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) add_cpu(&cpus, cpu);
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
