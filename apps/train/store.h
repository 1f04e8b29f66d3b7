/* Training on a store of keys (tutti/kv.h): servers have the weights and update them, and workers push gradients
 * and pull weights (tutti_strategy.pushes); or servers have a centre, to which clients are drawn that update their own
 * weights (tutti_strategy.uses_store). Either all ranks are one mpirun, of which the last serve, or servers
 * and each client are jobs of their own (TUTTI_KV_ROLE).
 *
 * A client trains as a run of its own does: its workers have an exchange of their own, by which they agree, sum
 * statistics of batch norms, compare their weights and evaluate. The first client alone evaluates, reports and
 * writes files; others wait for that only as the type of the store says. Clients know of each other by their
 * weights alone.
 *
 *   begin -> on workers: join -> prepare -> agree -> open -> { step } -> settle ... -> close -> end
 *         -> on servers: serve (which agrees)                                              -> end
 *
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_STORE_H
#define TUTTI_TRAIN_STORE_H

#include "apps/session/session.h"
#include "apps/train/options.h"
#include "collectives/boot.h"

struct tutti_kv;

typedef struct tutti_train_store {
    tutti_boot all;  /* MPI, with all ranks of this mpirun */
    tutti_boot part; /* one mpirun: the workers of this client, or the servers; else zeroes */
    int jobs;        /* this mpirun is one client, or servers */
    /* Of the ranks of all clients and servers. Client 0 reports; one that joins has the images of the last */
    tutti_placement placement;
    int follows;         /* another client reports */
    int clients_apart;   /* by how many updates a step of all clients comes to */
    struct tutti_kv *kv; /* NULL: not open */
    /* Open: the model's parameters, which are the keys, and which of this rank's parameters each is; -1: another
     * stage has it */
    int keys, *own;
} tutti_train_store;

/* Options that cannot be with a store. USAGE (logged). [P] */
tutti_status tutti_train_store_check(const tutti_train_options *options);

/* Starts MPI, compares the options of its ranks (settings: tutti_trainer_settings; parsed: whether this rank's were
 * understood), and says who does what; one that does not report forgets its files. On all ranks of the mpirun: USAGE
 * (logged), what parsing or MPI ends with. After a failure only end is allowed. */
tutti_status tutti_train_store_begin(tutti_train_options *options, const char *settings,
    tutti_status parsed, tutti_train_store *store);

/* What an exchange of this client's workers is attached to. */
static inline const void *tutti_train_store_comm(const tutti_train_store *store)
{
    return store->part.comm ? store->part.comm : store->all.comm;
}

/* The largest status of all ranks of this mpirun, servers, too, which all call it once before they open the store. */
tutti_status tutti_train_store_agree(
    const tutti_train_options *options, tutti_train_store *store, tutti_status mine);

/* On a worker whose run is started: opens the store, and gives the weights to the servers, or takes what they have.
 * Errors of tutti/kv.h. */
tutti_status tutti_train_store_open(
    const tutti_train_options *options, tutti_train_store *store, tutti_training_session *on);
/* Behind the submission of a step: pushes its gradients, in the order in which they are completed, and pulls the
 * weights, in the order in which the next step needs them; or lets the weights meet their centre, if it is
 * time. Later steps and evaluations wait for what they need. */
tutti_status tutti_train_store_step(
    tutti_train_store *store, tutti_training_session *on, double rate);
/* Waits for all of that. Then the main thread may have the weights. */
tutti_status tutti_train_store_finalize(tutti_train_store *store, double timeout_s);
/* Leaves the store, before the run is closed. The others may continue as long as they like. */
tutti_status tutti_train_store_close(tutti_train_store *store);

/* A server's whole run: until all clients have left. */
tutti_status tutti_train_store_serve(const tutti_train_options *options, tutti_train_store *store);

/* Ends MPI; status: how this rank's run has ended, after which the others may not come. */
void tutti_train_store_end(
    const tutti_train_options *options, tutti_train_store *store, tutti_status status);

#endif
