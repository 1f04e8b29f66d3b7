/* What training leaves, for tests with a thread for each rank: of each tensor a sum over its elements of a hash of
 * place and value, so that parts on several ranks add up to the whole. Functions that return a status log. */
#ifndef TUTTI_TEST_LEAVINGS_H
#define TUTTI_TEST_LEAVINGS_H

#include "dag/net/layer.h"
#include "dag/step/step.h"

#include <pthread.h>

enum { LEAVINGS_TENSORS = 400 };

typedef struct leavings {
    pthread_mutex_t lock;
    int tensors;
    struct {
        char name[TUTTI_LAYER_NAME + 32];
        uint64_t hash;
    } tensor[LEAVINGS_TENSORS];
} leavings;

#define LEAVINGS_NONE ((leavings){.lock = PTHREAD_MUTEX_INITIALIZER})

/* Notes a float32 tensor: assigned, this rank's elements of it, which no other has; else all of them, which must be the
 * same on every rank that notes it (MISMATCH). [A] */
tutti_status leavings_note(leavings *l, const tutti_runner *runner, tutti_run *run,
    const tutti_graph *graph, int tensor, int is_sharded);
/* The test fails where the two differ; what: whose they are. */
void leavings_compare(const leavings *got, const leavings *want, const char *what);

#endif
