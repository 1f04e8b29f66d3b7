/* A training session: one rank's exchange with what runs on it. It owns the exchange, the model as
 * a graph of steps, the run of that graph, and the meter and the trace of both, and closes them in
 * the one right order, whatever level it has reached.
 *
 *   level     what there is                                reached by
 *   OPEN      exchange, meter, trace                       open, reopen, clear
 *   BUILT     net and step, or a graph without a model     build, blank
 *   APPLIED   the graph's collectives and their places     apply, stop
 *   STARTED   the run: the graph's memory, and workers     start
 *
 *   open -> { build -> apply -> start -> init -> { feed, submit, wait }* -> stop -> clear }*
 *        -> [reopen -> { build ... }*] -> close
 *
 * A call at the wrong level is INVAL (logged: the call and the level). Users read the fields and
 * call the exchange and the runner; only the functions below open and close them. A graph lives
 * until its exchange is closed or reopened, because the exchange may report the names in it.
 *
 * Threads: [M]. */
#ifndef TUTTI_TRAINING_SESSION_H
#define TUTTI_TRAINING_SESSION_H

#include "apps/models/model.h"
#include "apps/session/layer_rates.h"
#include "apps/session/layout.h"
#include "apps/session/transport.h"
#include "dag/step/step.h"
#include "dag/run/run.h"
#include "designs/exchange/exchange.h"

typedef enum tutti_training_level {
    TUTTI_TRAINING_CLOSED,
    TUTTI_TRAINING_OPEN,
    TUTTI_TRAINING_BUILT,
    TUTTI_TRAINING_APPLIED,
    TUTTI_TRAINING_STARTED
} tutti_training_level;

typedef struct tutti_training_session_options {
    const char *runner; /* NULL: "starpu" */
    /* of the run; without a layout, and on the CPU, a batch is cut into as many micro-batches */
    int workers;
    const char *device; /* cpu, cuda or auto, on which the ranks agree (device.h); NULL: `place` */
    const char *transport;     /* auto, mpi or nccl (transport.h), agreed, too; NULL: mpi */
    int cuda_aware;            /* MPI is given the memory of GPUs (transport.h) */
    tutti_binding_place place; /* with `device`, only its tf32 and its engines count */
    double region_s;           /* of the run: how long regions may take; 0: by device */
    /* With an exchange `rank` is its own; without one there are neither stages nor blocks, and each of the replicas
     * is a rank: this rank's share of the computation of all */
    tutti_layout layout;
    tutti_layer_rates rates; /* of the model's layers */
    int metered;   /* 1: with a meter */
    int eval_size; /* evaluations see squares of this side; 0: images of the size of training */
    int64_t spans; /* with a trace, which has room for this many spans per track; 0: without */
    int readers;   /* threads that read ahead, for the trace */
    /* How the ranks exchange; without a design nothing is summed over ranks. Its workers, meter and
     * trace are those of the session. */
    tutti_exchange_options exchange;
    /* The MPI_Comm of a program that has initialised MPI (tutti_exchange_attach), valid until close;
     * NULL: the session initialises MPI. */
    const void *comm;
    /* Instead of MPI: a transport of all ranks with that many lanes, for tutti_exchange_open_over. The ranks' options
     * have been compared. NULL: MPI */
    tutti_status (*connect)(void *ctx, int lanes, tutti_transport **transport);
    void *connect_ctx;
} tutti_training_session_options;

/* Zeroed: closed. */
typedef struct tutti_training_session {
    tutti_training_level level;
    tutti_training_session_options options; /* exchange: as last opened, without `settings` */
    tutti_binding_place place;              /* where kernels run, and collectives find their data */
    /* Without a layout each rank is a replica. `end`: BUILT. Its groups are the exchange's */
    tutti_placement placement;
    tutti_meter *meter;                 /* NULL: not metered */
    tutti_trace *trace;                 /* NULL: not traced */
    tutti_exchange *exchange;           /* NULL: nothing is summed over ranks */
    tutti_session_transport *transport; /* what the exchange opens it with; NULL without one */
    /* BUILT, of a model; else NULL and zeros: the recipe as completed by build */
    tutti_net *net;
    tutti_step *step;
    tutti_step_options recipe;            /* its `evaluated` is NULL: the net for it is gone */
    int64_t image_bytes, evaluated_bytes; /* of one image; of one that an evaluation sees */
    /* Where no rank has all that the model has (in a pipeline, with divided layers or servers, with a strategy
     * that shards what update rules keep, or with a codec, of which each replica keeps what it did not
     * send), else NULL: the step as it would be on one rank, which never runs, but lists what the model
     * has (apps/session/weights.h) */
    tutti_step *whole;
    int stale;          /* copies of weights (step.h) are not those of the weights */
    tutti_graph *graph; /* the step's, or the one that blank made; NULL: not BUILT */
    const tutti_runner *runner;
    tutti_run *run; /* NULL: not STARTED */
    /* every graph that the exchange has seen and the current one, which is the last */
    int graphs;
    tutti_graph **seen;
} tutti_training_session;

/* How many micro-batches a batch is cut into (tutti_layout_micro_batches): on a GPU, without a layout or a
 * number that was given, one. [P] */
int tutti_training_session_micro_batches(
    const tutti_training_session *session, const tutti_step_options *recipe);

/* All ranks call it if there is an exchange. On failure the session is closed; after TIMEOUT its
 * memory stays, because a thread of the exchange may still use it. INVAL (logged): an unknown
 * runner. USAGE: no GPU for every rank (tutti_device_choose). NOMEM; errors of tutti_exchange_open
 * and tutti_exchange_attach. */
tutti_status tutti_training_session_open(
    const tutti_training_session_options *options, tutti_training_session *session);
/* Clears the session and opens its exchange with other options over the same MPI
 * (tutti_exchange_reopen, and its errors). All ranks call it. On failure the session is closed, as
 * with open. INVAL (logged) without an exchange; then the session stays open. */
tutti_status tutti_training_session_reopen(
    tutti_training_session *session, const tutti_exchange_options *exchange);

/* Builds a model and its step for images and classes of `input`. The step is cut for the workers
 * and the ranks of the session, in a pipeline for its stages, and takes images as bytes, whatever the
 * recipe says of these; a recipe with a deviation of 0 gets mean and deviation of evenly distributed
 * bytes. USAGE (logged) if the place has no kernel for one of its ops, if the model has other
 * parameters for images of eval_size, no layer that the layout's `split` can divide, or fewer keys than
 * the layout has servers; INVAL (logged), NOMEM. */
tutti_status tutti_training_session_build(tutti_training_session *session, const tutti_model *model,
    const tutti_model_input *input, const tutti_step_options *recipe);
/* Makes an empty graph instead, to which the caller adds before apply. NOMEM. */
tutti_status tutti_training_session_blank(tutti_training_session *session);
/* Turns the graph's marks into collectives (tutti_exchange_apply, and its errors); without an
 * exchange marks cost nothing. All ranks call it. */
tutti_status tutti_training_session_apply(tutti_training_session *session);
/* Opens the runner; memory is zeroed. With a table of engines all ranks call it (apps/session/engines.h). Errors as of
 * tutti_runner.open. */
tutti_status tutti_training_session_start(tutti_training_session *session);
/* Writes the model's initial weights and state, which the recipe's seed determines. */
tutti_status tutti_training_session_init(tutti_training_session *session);
/* Submits the section `refresh` of a step that has one (step.h), once behind each start or init. feed does so itself; a
 * section that is submitted before the first batch comes behind it. Errors as of tutti_runner.submit. */
tutti_status tutti_training_session_refresh(tutti_training_session *session);
/* Feeds a batch of images, bytes (N,H,W,C), and labels, micro-batch by micro-batch, as nodes, on the
 * first stage (NULL on the others, which call it, too), to be
 * trained on, or with evaluation 1, to be evaluated: both must stay valid until a wait for a later
 * point has returned. The first batch after start or init comes after the section `refresh`, of a
 * step that has one (step.h); weights are written in another way only before it. Errors as of
 * tutti_runner.feed. */
tutti_status tutti_training_session_feed(
    tutti_training_session *session, int evaluation, const uint8_t *images, const int32_t *labels);

/* Closes the run, if there is one; the weights are gone, and no worker is left. Returns 0 if what was submitted has not
 * ended, after a failure (tutti_runner.close): no other run can be started then. */
int tutti_training_session_stop(tutti_training_session *session);
/* Stops, and takes model and graph away. */
void tutti_training_session_clear(tutti_training_session *session);
/* Closes everything. All ranks call it if there is an exchange. Accepts a closed session. Returns
 * what tutti_exchange_close does. */
tutti_status tutti_training_session_close(tutti_training_session *session);

/* The collectives of a training step, or of a round (step.h); a bucket counts once. 0 before apply. */
int tutti_training_session_collectives(const tutti_training_session *session);

#endif
