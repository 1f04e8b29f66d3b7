/* SPDX-License-Identifier: BSD-3-Clause */
/* A store of keys on servers, for programs that have StarPU running. #include <tutti/kv.h> and link with
 * -ltutti (pkg-config tutti).
 *
 * Some ranks of a communicator serve, the others work. Workers push data to keys and pull the keys' values;
 * servers add what was pushed and update the values. Workers may form clients: groups that add up their
 * data among themselves by MPI, and push and pull as one. One worker a client is a classic parameter
 * server; one client and no server is an allreduce; the designs are in between.
 *
 *     tutti_kv_options options = {.servers = 1, .type = "async"};
 *     tutti_kv *kv;
 *     tutti_kv_open(MPI_COMM_WORLD, &options, &kv);          after tutti_start_starpu and MPI_Init_thread
 *     if (tutti_kv_serves(kv)) {
 *         tutti_kv_serve(kv);                                until all workers have closed
 *     } else {
 *         tutti_kv_set_optimizer(kv, "sgd:rate=0.1,momentum=0.9");
 *         tutti_kv_init(kv, 7, weight, TUTTI_F32);
 *         ...submit tasks that write gradient...
 *         tutti_kv_push(kv, 7, gradient);
 *         tutti_kv_pull(kv, 7, weight);
 *         ...submit tasks that read weight...
 *     }
 *     tutti_kv_close(kv);                                    before starpu_shutdown, MPI_Finalize
 *
 * push, pull and pushpull insert tasks, as the calls of tutti/starpu.h do: they wait for the tasks submitted
 * before them on the same data, later tasks wait for them, and no worker waits for another rank. A push
 * copies the data, which tasks may overwrite as soon as that copy has been made.
 *
 * A key's value lies on one server whole, or, from TUTTI_KV_CUT elements on, in equal parts on all of them.
 * Whole keys go to the server that has the fewest bytes so far.
 *
 * THE RULE: the workers of a client (with stages: of each of its stages) make the same calls in the same order; all
 * workers make the same calls of tutti_kv_set_optimizer, tutti_kv_init, or tutti_kv_init_elsewhere in its place, and
 * tutti_kv_barrier in the same order. Clients may differ in how often and in which order they push and pull, as far as
 * the type permits:
 *
 *   sync        what all clients push to a key is added in the order of clients, whatever the order in
 *               which it comes: results have the same bits in every run. A pull has all pushes of all
 *               clients up to the last that its own client has made before, and none beyond.
 *   async       a push is added when it comes; a pull has its own client's pushes, and others as they came.
 *   bounded:S   the same, but a pull waits until no client has pushed the key more than S times less than
 *               its own.
 *   elastic:period=T,alpha=A
 *               clients train independently, each on its own weights, and the key's value is a centre. Every T-th
 *               tutti_kv_pushpull(kv, key, weights, weights) of a key mixes the two: A (weights - centre) is
 *               subtracted from the client's weights and added to the centre, the same bits; the calls between do
 *               nothing. No client waits for another.
 *               The workers of a client pass the same values. tutti_kv_pull gets the centre; there is no
 *               tutti_kv_push, and no optimizer on servers. A is at most 1 / clients; T is 8 and A 0.1 where they are
 *               left out.
 *               Zhang et al. 2015, arXiv:1412.6651; by MPI clients: Mamidala et al. 2018, arXiv:1801.03855.
 *
 * No call waits for a client that has closed.
 *
 * JOBS. Everything may be one mpirun, as above. Or servers and each client are jobs of their own, connected by TCP:
 * the same program, with a role for each job. `servers` and `clients` then count all that there are, and the
 * communicator has the workers of this client, or this job's servers. In async, bounded and elastic a client that dies
 * is logged, and the others continue; it may return, or a new one join, and gets the current values; its first
 * tutti_kv_barrier is the next one of the others: it leaves out those that they have passed. A client that makes a key
 * of another size, sets another optimizer, or sends invalid messages is refused (MISMATCH), alone. In sync the death
 * of a client ends the run: calls return COMM in all jobs. So does that of a server; but in sync, with server_replicas
 * 2, every key also lies on the next server, which then continues with it, and values have the same bits as without
 * the death; each server is a job of its own, and pushes travel twice. The death of both servers of a key ends the
 * run. Data and the token travel as they are: trust the network.
 *
 * Threads, errors and stall reports are those of tutti/starpu.h. The design "sequential" cannot serve
 * (UNSUPPORTED): a server waits for all clients at once. Without servers it works, and sums inside
 * tutti_kv_wait. */
#ifndef TUTTI_KV_H
#define TUTTI_KV_H

#include <tutti/starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_kv tutti_kv;

/* Keys of at least this many elements have an equal part on every server. */
enum { TUTTI_KV_CUT = 65536 };

/* Fields that are 0 or NULL take their defaults: begin with  tutti_kv_options options = {0};  A later release
 * may add fields at the end. All ranks must give the same. */
typedef struct tutti_kv_options {
    /* How many ranks serve: the last ones of the communicator, at most 63. 0: none; the workers are then one client. */
    int servers;
    /* How many clients the workers form, groups of equal size of neighbouring ranks. 0: each is a client of its
     * own, or, without servers, all are one. */
    int clients;
    /* "sync", "async", "bounded:3", "elastic:period=8,alpha=0.1"; NULL: sync. Without servers: sync. */
    const char *type;
    /* Of the session that carries everything; NULL: as in tutti_attach. */
    const tutti_attach_options *attach;

    /* Where servers and clients are jobs of their own (below). NULL: what TUTTI_KV_ROLE says; without it, all are in
     * this communicator, and the fields that follow are ignored. */
    const char *role; /* "server:0", "client:2"; "client": one more, which joins */
    const char *meet; /* the servers' addresses; NULL: TUTTI_KV_MEET */
    const char
        *listen;       /* of a server: "ADDRESS:PORT"; NULL: TUTTI_KV_LISTEN, or "127.0.0.1:auto" */
    const char *token; /* NULL: TUTTI_KV_TOKEN, or one that the server makes */
    double timeout_s;  /* how long the others may be unreachable; 0: TUTTI_KV_TIMEOUT, or 30 */
    int64_t
        server_replicas; /* on how many servers a key lies, 1 or 2; 0: TUTTI_KV_SERVER_REPLICAS, or 1 */
    /* Of a pipeline in each client: worker w of it has stage w modulo stages, and only that stage's keys. 0: 1. */
    int64_t stages;
} tutti_kv_options;

/* As tutti_kv_open below, with the sizes of the caller's tutti_kv_options and of the tutti_attach_options that its
 * `attach` points to (see tutti_attach_sized). */
TUTTI_API tutti_status tutti_kv_open_sized(MPI_Comm comm, const tutti_kv_options *options,
    size_t options_bytes, size_t attach_bytes, tutti_kv **kv);

/* Collective over comm. options may be NULL. USAGE (on all ranks): clients do not divide the workers, or stages a
 * client's, no worker is left, an invalid type, or a type without servers, an alpha above 1 / clients; of jobs: an
 * invalid role, another token, or options that differ from the server's. MISMATCH: the ranks' options differ, or a
 * server's version. TIMEOUT, COMM: a server cannot be reached, or cannot listen. Also what tutti_attach and
 * tutti_group return. */
static inline tutti_status tutti_kv_open(
    MPI_Comm comm, const tutti_kv_options *options, tutti_kv **kv)
{
    return tutti_kv_open_sized(
        comm, options, sizeof(tutti_kv_options), sizeof(tutti_attach_options), kv);
}

/* Collective over comm: waits for what was inserted (at most 60 s), and then, without a limit, for
 * the other workers, since servers leave with the last (between jobs in sync alone). COMM: a server has left before the
 * end. NULL is accepted. The store no longer exists after this call, whatever it
 * returns. Returns the first failure, as tutti_detach does. */
TUTTI_API tutti_status tutti_kv_close(tutti_kv *kv);

/* 1 on a server, 0 on a worker. */
TUTTI_API int tutti_kv_serves(const tutti_kv *kv);
/* The worker's number, from 0, and how many there are; its client's number, and how many clients there
 * are. On a server the numbers are -1. Between jobs: how many there are at the start; one that joins has a number
 * beyond. */
TUTTI_API int tutti_kv_rank(const tutti_kv *kv);
TUTTI_API int tutti_kv_workers(const tutti_kv *kv);
TUTTI_API int tutti_kv_client(const tutti_kv *kv);
TUTTI_API int tutti_kv_clients(const tutti_kv *kv);

/* Bytes of keys' data that this rank has sent to servers and received from them so far; on a server, to and from
 * workers. They count from the call that inserts a message. What the workers of a client send each other does not
 * count. Either may be NULL. INVAL: the store is not open. */
TUTTI_API tutti_status tutti_kv_bytes(const tutti_kv *kv, int64_t *sent, int64_t *received);

/* On a server: serves until every worker has closed its store. Returns OK, or the first failure: INVAL, MISMATCH
 * if workers use a key differently; COMM: a worker has left without closing its store; what tutti_wait returns. INVAL
 * on a worker. */
TUTTI_API tutti_status tutti_kv_serve(tutti_kv *kv);

/* ---- on workers (INVAL on a server) ---- */

/* How a round's sum changes a value. Every worker calls it, before the first tutti_kv_init; without it,
 * "assign". The text is a name, and settings with "," between them:
 *   assign      the value becomes the sum
 *   add         the sum is added to the value
 *   sgd         rate, momentum (0), decay (0), nesterov (0), as torch.optim.SGD: the sum is the gradient
 *   adam        rate, beta1 (0.9), beta2 (0.999), epsilon (1e-8), decay (0), as torch.optim.Adam
 *   adamw       the same, as torch.optim.AdamW
 *   scale       for all: the sum is multiplied by this first (1); of sgd and adam
 * "sgd:rate=0.1,momentum=0.9". sgd, adam and adamw take keys of TUTTI_F32. USAGE (logged): which are known. INVAL: with
 * elastic there is add alone. Another text than on other workers is found later: without servers by the first
 * tutti_kv_init (MISMATCH, on all workers), which waits for them. */
TUTTI_API tutti_status tutti_kv_set_optimizer(tutti_kv *kv, const char *text);
/* The learning rate of pushes from here on; in a round of sync, that of the first client counts. Without servers all
 * workers give the same, which nothing compares. */
TUTTI_API tutti_status tutti_kv_set_rate(tutti_kv *kv, double rate);

/* Makes a key, which must be new. Its first value is data of worker 0; the data of the others get that value,
 * too, and those of a client that joins later, or returns, the value as it is then. key: any number from 0. Every
 * worker calls it, with the same type and number of elements. The elements of data must have the size of the type
 * (tutti_several: hold several values of it). The handle is not kept. INVAL: the key exists; the data are not of
 * this type, or the optimizer does not take it (elastic: but TUTTI_F32). */
TUTTI_API tutti_status tutti_kv_init(tutti_kv *kv, int key, tutti_handle data, tutti_dtype dtype);
/* With stages: the same, on the workers of all stages but the key's, which never push or pull it. count: its elements.
 * Of the key's own stage the first worker stands for worker 0. */
TUTTI_API tutti_status tutti_kv_init_elsewhere(
    tutti_kv *kv, int key, int64_t count, tutti_dtype dtype);
/* The priority of pushes and pulls of a key from here on; 0 at first. Of the messages that wait for a connection the
 * largest goes first, and one that is on its way lets it pass after every 256 KiB: give the layers that the next step
 * needs first the largest. No message waits for one that is not ready, and values are the same. Servers answer a client
 * by its own priorities. Without servers it is tutti_priority of the sums (THE RULE holds then: all workers give the
 * same). Two stores ignore it, and worker 0 logs so, once: between workers and servers of one mpirun MPI decides, and
 * without servers the sums of stages go in the order of pushes. INVAL: an unknown key. */
TUTTI_API tutti_status tutti_kv_set_priority(tutti_kv *kv, int key, int priority);
/* Adds the data of all workers of the client, and sends the sum to the key's server. INVAL: an unknown key;
 * data of another size than at init; the type elastic. */
TUTTI_API tutti_status tutti_kv_push(tutti_kv *kv, int key, tutti_handle data);
/* Gets the key's value. */
TUTTI_API tutti_status tutti_kv_pull(tutti_kv *kv, int key, tutti_handle data);
/* A push of `from`, then a pull to `to`, which may be the same; with elastic it must be, and every T-th call is a
 * mixing step. */
TUTTI_API tutti_status tutti_kv_pushpull(tutti_kv *kv, int key, tutti_handle from, tutti_handle to);
/* The same of n keys, n from 1 on, in one call. The list is one object: all of it is checked first, and if anything is
 * wrong nothing of it is inserted. Keys go in the order of the list: put first what is needed first. A key may stand in
 * it more than once, with the vectors of several devices or micro-batches: their sum, in the order of the list, is one
 * push, and each of them gets the value of one pull; with elastic, once. The workers of a client pass the same lists of
 * keys. */
TUTTI_API tutti_status tutti_kv_push_list(
    tutti_kv *kv, int n, const int key[], const tutti_handle data[]);
TUTTI_API tutti_status tutti_kv_pull_list(
    tutti_kv *kv, int n, const int key[], const tutti_handle data[]);
TUTTI_API tutti_status tutti_kv_pushpull_list(
    tutti_kv *kv, int n, const int key[], const tutti_handle from[], const tutti_handle to[]);
/* Waits until everything inserted so far has ended on this worker, as tutti_wait; the data of pulls have their
 * values. */
TUTTI_API tutti_status tutti_kv_wait(tutti_kv *kv, double timeout_s);
/* Waits for all workers (at most 60 s), each of which has waited for what it has inserted. For a client that
 * returned or joined, see JOBS. */
TUTTI_API tutti_status tutti_kv_barrier(tutti_kv *kv);

#ifdef __cplusplus
}
#endif
#endif
