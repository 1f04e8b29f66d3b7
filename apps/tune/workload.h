/* A workload: training steps of a model to measure, all on the same random batch. Sessions with the
 * same workload and workers do the same computation.
 *
 *   begin = build -> tutti_training_session_apply -> start;  then { steps, pace }* -> loss, hash
 *         -> tutti_training_session_stop [-> start ...]
 *
 * Errors as of the calls each makes. Threads: [M]. */
#ifndef TUTTI_TUNE_WORKLOAD_H
#define TUTTI_TUNE_WORKLOAD_H

#include "apps/session/session.h"

typedef struct tutti_workload {
    const tutti_model *model;
    const tutti_model_input *input; /* image size and classes; NULL: the model's own */
    tutti_step_options
        recipe;       /* its seed is the same on all ranks; images also depend on the replica */
    double timeout_s; /* of a block of steps */
} tutti_workload;

/* Its image size and classes. [P] */
const tutti_model_input *tutti_workload_input(const tutti_workload *workload);
/* Builds the model in an open session. */
tutti_status tutti_workload_build(const tutti_workload *workload, tutti_training_session *session);
/* Starts the run with the initial weights and feeds it the batch. */
tutti_status tutti_workload_start(const tutti_workload *workload, tutti_training_session *session);
/* All of it, as far as every rank of the session's exchange can: a failure of one is that of all, and the
 * session stays as it is then, to be closed. */
tutti_status tutti_workload_begin(const tutti_workload *workload, tutti_training_session *session);
/* Runs `steps` steps, submitted ahead of their execution; *seconds: from the first submission to
 * the last end. Fails (KERNEL, logged) if the loss of the last is not finite. */
tutti_status tutti_workload_steps(
    const tutti_workload *workload, tutti_training_session *session, int steps, double *seconds);
typedef struct tutti_pace {
    double step_s;
    double hidden_pct; /* from the session's meter, 0 without one */
    double busy; /* share of the time in which a kernel ran on this rank, 0..1; for the same */
} tutti_pace;

/* Times `steps` steps between `warm` earlier ones and one later one, from end to end. So they
 * overlap as in a run, where a step begins while the sums of the previous one are in flight.
 * Fails as steps does. */
tutti_status tutti_workload_pace(const tutti_workload *workload, tutti_training_session *session,
    int warm, int steps, tutti_pace *pace);
/* The mean loss of the last step run, on the first stage; FNV-1a over the 32-bit words of all parameters, in a pipeline
 * on rank 0, where all ranks call it. With nothing submitted. */
tutti_status tutti_workload_loss(tutti_training_session *session, double *loss);
tutti_status tutti_workload_hash(const tutti_training_session *session, uint64_t *hash);

#endif
