/* Sets of processor numbers, and the processors that a thread may run on. */
#ifndef TUTTI_CPUS_H
#define TUTTI_CPUS_H

#include <stdint.h>

enum { TUTTI_CPUS = 1024 };

typedef struct tutti_cpus {
    uint64_t word[TUTTI_CPUS / 64];
} tutti_cpus;

/* Numbers out of range are in none. [P] */
int tutti_cpus_has(const tutti_cpus *cpus, int cpu);
int tutti_cpus_count(const tutti_cpus *cpus);
/* Parses "0-3,8"; stops at the first text that is not such a list. [P] */
void tutti_cpus_parse(const char *list, tutti_cpus *cpus);

/* The processors that the calling thread may run on; empty when the system does not say. [A] */
tutti_cpus tutti_cpus_allowed(void);
/* Binds the calling thread to this processor. Returns 0 or an errno value. [A] */
int tutti_cpus_bind(int cpu);

#endif
