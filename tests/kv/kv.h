/* What the modes of tests/kv/kv.c share: the store, three keys, and what is pushed to them. */
#ifndef TUTTI_TEST_KV_H
#define TUTTI_TEST_KV_H

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/kv.h>
#include <unistd.h>

enum { KEYS = 3, ROUNDS = 4, MOST = 70001 };
static const int sizes[KEYS] = {1, 1000, MOST}; /* the last has a part on every server */

extern tutti_kv *kv;
extern int failures;
/* Memory of the keys: what is pushed, and what is pulled, for the modes to use as they like. */
extern float x[KEYS][MOST], y[KEYS][MOST];

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition) break;                                                                      \
        printf("worker %d: %s, line %d: %s\n", tutti_kv_rank(kv), __FILE__, __LINE__, #condition); \
        failures++;                                                                                \
    } while (0)

tutti_handle vector(float *elements, int n);

/* kv_rounds.c */
void run_sync(const char *optimizer);
void run_survive(int rounds);
/* kv_counts.c */
void run_counts(void);
void run_leaving(void);
void run_ahead(void);
void run_waits(void);
void run_rare(void);
void run_steps(const char *type, int times);
void run_wide(const char *type);
/* kv_stages.c */
void run_stages(int stages);
/* kv_urgent.c */
void run_urgent(void);
/* kv_elastic.c */
void run_elastic(const char *type, int steps, int dies);
/* kv_refusals.c */
void run_refusals(void);
void run_crowded(void);
void run_missed(void);
void run_partial(void);
void run_divided(void);
void run_torn(void);
void run_whole(void);
void run_abandoned(void);

#endif
