/* What a trace shows about a pipeline: how long its stages compute, and how long they wait.
 *
 *   passes   from the first task of a forward pass to the last of a backward pass of a step, on any
 *            rank of a replica; not before the passes of the step before have ended, during which
 *            images are prepared
 *   idle     the share of the passes in which no task runs on a rank
 *   bubble   the mean of the stages' idle shares. Where S stages take equally long for each of M
 *            micro-batches, and messages take no time, it is (S - 1) / (M + S - 1) (Huang et al.,
 *            "GPipe", 2019)
 *
 * Rank r has stage r mod S of replica r / S (apps/session/layout.h); servers, behind these, have none. Threads: [M]. */
#ifndef TUTTI_TRACE_BUBBLE_H
#define TUTTI_TRACE_BUBBLE_H

#include "apps/trace/study.h"

/* Means over steps and replicas. */
typedef struct tutti_bubble_stage {
    double forward_ms, backward_ms; /* of a step's tasks, on all workers of the rank */
    double idle;                    /* 0..1 */
} tutti_bubble_stage;

typedef struct tutti_bubble {
    int stages; /* below 2: not a pipeline, and all else is zero */
    tutti_bubble_stage *stage;
    double passes_ms;
    double idle, least; /* 0..1: as found; of equal stages */
} tutti_bubble;

/* NOMEM. The caller closes it all the same. */
tutti_status tutti_bubble_open(const tutti_study *study, tutti_bubble *bubble);
void tutti_bubble_close(tutti_bubble *bubble);
/* A stage's tasks of a step together; the stage that computes longest. [P] */
double tutti_bubble_computes_ms(const tutti_bubble_stage *stage);
int tutti_bubble_slowest(const tutti_bubble *bubble);

#endif
