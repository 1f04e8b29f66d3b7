/* Processors by number, as a set, and on which of them a thread may run. */
#ifndef TUTTI_CPUS_H
#define TUTTI_CPUS_H

#include <stdint.h>

enum { TUTTI_CPUS = 1024 };

typedef struct tutti_cpus {
    uint64_t word[TUTTI_CPUS / 64];
} tutti_cpus;

/* Those out of range are left out. [P] */
void tutti_cpus_add(tutti_cpus *cpus, int cpu);
int tutti_cpus_has(const tutti_cpus *cpus, int cpu);
int tutti_cpus_count(const tutti_cpus *cpus);
/* "0-3,8"; ends where the text is none. [P] */
void tutti_cpus_parse(const char *list, tutti_cpus *cpus);

/* Where the calling thread may run; empty when the system does not tell. [A] */
tutti_cpus tutti_cpus_allowed(void);
/* Has the calling thread run on this processor only. Returns 0 or an errno value. [A] */
int tutti_cpus_bind(int cpu);

#endif
