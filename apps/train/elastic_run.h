/* Training whose ranks come and go (tutti-run --elastic): a trainer for each epoch of the membership
 * (designs/elastic/elastic.h), which joins over the epoch's connections in place of MPI, and begins from the newest
 * snapshot that all ranks have.
 *
 *   open -> { enter -> a trainer: join, prepare, loop, leave -> goes_on }* -> close
 *
 * Exact: training continues from a snapshot of step s with P ranks as a run of P ranks does that resumes from a
 * checkpoint of step s. Threads: [M]. */
#ifndef TUTTI_TRAIN_ELASTIC_RUN_H
#define TUTTI_TRAIN_ELASTIC_RUN_H

#include "apps/train/snapshot.h"
#include "apps/train/trainer.h"
#include "collectives/transport/transport.h"
#include "designs/elastic/elastic.h"

struct tutti_train_elastic {
    tutti_elastic *elastic;
    tutti_membership epoch; /* that was entered */
    tutti_snapshots kept;
    tutti_interrupt *interrupt;
    int least;      /* fewer do not train: they wait for others */
    int64_t images; /* of all ranks in a batch, with --batch-rule global; 0: each keeps its own */
    struct tutti_elastic_start *start; /* what the launcher said */
    int64_t id;     /* of this rank */
    int64_t origin; /* the step from which the run has begun: that of --resume */
    int64_t done;   /* the last step that has ended here */
    int64_t again;  /* steps that had ended here, and that this epoch computes again */
    int64_t due;    /* the step after which the next snapshot is made */
    int halted;     /* all ranks have stopped after the same step, and enter the next epoch */
    double begun_s; /* the last snapshot was made, or training began, then */
    int64_t begun;  /* after this step */
    int64_t saved;  /* the step of the last checkpoint, known to all ranks; 0: none */
    double saved_s; /* it was saved, or the run has begun here, then */
    int all_there;  /* the run has ended on all ranks together, without a loss */
};

/* Whether the others can continue without one of this epoch's ranks. */
int tutti_train_elastic_can_lose_one(const tutti_train_elastic *elastic);
/* As the launcher says, or with MPI's ranks (elastic_start.h). settings: of tutti_trainer_settings; who has others is
 * refused. To be called early: it forks (tutti_elastic_open). options are as before when it returns. USAGE, INVAL,
 * NOMEM; over MPI also UNSUPPORTED, COMM (logged). */
tutti_status tutti_train_elastic_open(tutti_train_options *options, const char *settings,
    tutti_interrupt *interrupt, tutti_train_elastic *elastic);
/* Waits for the next epoch of enough ranks, and says who was lost, who has come, and from which step. COMM (logged):
 * this rank has to stop; INTERRUPTED. */
tutti_status tutti_train_elastic_enter(tutti_train_elastic *elastic);
/* Sets options->batch for the ranks of this epoch. */
void tutti_train_elastic_share(const tutti_train_elastic *elastic, tutti_train_options *options);
/* For tutti_training_session_options.connect; ctx is a tutti_train_elastic. */
tutti_status tutti_train_elastic_connect(void *ctx, int lanes, tutti_transport **transport);
/* Whether this epoch is not the first one: the run continues what it has written. */
int tutti_train_elastic_continues(const tutti_train_elastic *elastic);
/* What this epoch begins from, on a rank that has it; NULL: from the beginning, or this rank is new. */
const tutti_snapshot *tutti_train_elastic_restores(const tutti_train_elastic *elastic);
/* A trainer is prepared: a new rank keeps what it was given. NOMEM (logged). */
tutti_status tutti_train_elastic_begin(tutti_train_elastic *elastic, tutti_trainer *trainer);
/* Whether the epoch is to end before the next step. */
int tutti_train_elastic_wishes(const tutti_train_elastic *elastic);
/* Whether a rank is lost: no collective of this epoch ends any more, and what needs one later is useless. */
int tutti_train_elastic_is_over(const tutti_train_elastic *elastic);
/* Makes a snapshot; all ranks call it after the same step. since_s: when they began with it. Errors of
 * tutti_exchange_broadcast; NOMEM (logged). */
tutti_status tutti_train_elastic_keep(
    tutti_train_elastic *elastic, tutti_trainer *trainer, int64_t step, double since_s);
/* A trainer has left with this status: whether this rank enters another epoch. If not, *status is that of the run. */
int tutti_train_elastic_goes_on(tutti_train_elastic *elastic, tutti_status *status);
void tutti_train_elastic_close(tutti_train_elastic *elastic);

#endif
