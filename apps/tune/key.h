/* Everything that a choice depends on, as text: a key of the tuning file. */
#ifndef TUTTI_TUNE_KEY_H
#define TUTTI_TUNE_KEY_H

#include "apps/tune/workload.h"

enum { TUTTI_KEY_TEXT = 1536 };

/* "model=resnet20 image=32x32x3 classes=10 batch=64 accumulate=1 optimizer=sgd strategy=sync clips=0
 * averages=0 wire=F32 precision=F32 device=CPU transport=mpi workers=1 ranks=4 layout=none stage_layers=auto
 * link_mbit=unknown micro_batches=1 pipeline=1f1b hosts=2:<hash of their names, rank by rank>
 * algorithm=auto lanes=0 bucket=-1 design=auto comm_core=auto tutti=0.1 mpi=... starpu=...": the model and what a
 * step of it does, what it runs on, and what the user has fixed (`fixed`, words like the others).
 * Fills text on rank 0, which reads the file; all ranks call it. Errors as
 * of tutti_exchange_call; NOMEM. [M] */
tutti_status tutti_tune_key(const tutti_training_session *session, const tutti_workload *workload,
    const char *fixed, char text[TUTTI_KEY_TEXT]);

#endif
