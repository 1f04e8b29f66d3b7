/* The inside of a store: shared by kv_open.c (opening, closing), kv_work.c (a worker's calls), kv_serve*.c (a server),
 * and the two transports. */
#ifndef TUTTI_KV_PARTS_H
#define TUTTI_KV_PARTS_H

#include "dag/run/datum.h"
#include "dag/run/meter.h"
#include "designs/attach/attach_parts.h"
#include "designs/kv/client_list.h"
#include "designs/kv/jobs.h"
#include "designs/kv/kv.h"
#include "designs/kv/connections.h"
#include "designs/kv/optimizer.h"
#include "dag/base/portions.h"

#include <stdatomic.h>

/* The kinds of active messages between workers and servers (value[0]). */
typedef enum tutti_kv_message_kind {
    TUTTI_KV_OPTIMIZER, /* worker: [1..7] the optimizer */
    TUTTI_KV_INIT, /* worker: [1] slot [2] elements [3] type [4] key; its value follows on the slot's edge */
    TUTTI_KV_PUSH, /* root: [1] slot [2] rate; the data follow on the edge */
    /* root: [1] slot [2] its client's pushes so far [3] priority; the value is to follow on the edge */
    TUTTI_KV_PULL,
    TUTTI_KV_BYE, /* worker: its last message */
    /* server: its last message; [1] a status [2] the client whose death ended the run [3] the lost server, or -1 */
    TUTTI_KV_END,
    /* between jobs */
    TUTTI_KV_BARRIER, /* a client's first worker to server 0 (or its replacement), and back: a barrier */
    TUTTI_KV_STALL, /* server: [1] key [2] pushes [3] client that a pull waits for [4] its pushes */
    TUTTI_KV_FAILED, /* worker: [1] the server that it has lost; it ends */
    /* root, to the second server of a part: as PULL, but to be answered only if the first is lost */
    TUTTI_KV_STAND_BY,
    /* the same, for the oldest standby pull: [1] slot [2] 1: answer it, 0: the first server has */
    TUTTI_KV_RELEASE,
    TUTTI_KV_TAKE_OVER, /* worker, to the second: [1] the server that it has lost */
    TUTTI_KV_WHY, /* server, before END: [1] the index of a piece of the reason [2..7] the piece */
    TUTTI_KV_NUMBER, /* the first worker of a client, to the others: [1] a status [2] their client's number [3] life */
    TUTTI_KV_JOINED, /* a server, to itself: the worker's client is here, with nothing in flight */
    TUTTI_KV_LOST,   /* the same: the worker's connection has broken */
} tutti_kv_message_kind;

/* A part of a key, or all of it, on a server. `slot` is its number there, and that of its edges. */
typedef struct tutti_kv_part {
    tutti_portion portion;
    int root;       /* which worker of its stage in this client communicates with the server */
    int64_t pushes; /* of this client so far */
    tutti_handle pushed, value;                 /* data to the server, and from it */
    tutti_handle state[TUTTI_OPTIMIZER_STATES]; /* without servers */
    int64_t updates;
} tutti_kv_part;

enum { TUTTI_KV_BUCKETS = 4096 };

typedef struct tutti_kv_key {
    struct tutti_kv_key *next, *in_bucket;
    int key;
    int64_t list; /* the last call whose list has the key */
    int latest;   /* where in that list it has stood latest */
    tutti_dtype dtype;
    int64_t count;
    int priority;
    int64_t calls;          /* of elastic: pushpulls so far */
    int several;            /* elements of the data hold several values (tutti_several) */
    int elsewhere;          /* another stage has it: no data are here */
    int failed;             /* tutti_kv_init has */
    atomic_int parts_tasks; /* tasks on the program's data that have not ended */
    int parts;
    tutti_kv_part part[];
} tutti_kv_key;

/* A data message, on the edge of a slot and a worker. */
typedef struct tutti_kv_message {
    int rank, slot;
    int priority; /* of a send */
    /* of a receive: the rank and slot to use when `rank` is lost */
    int has_second, second, second_slot;
    tutti_handle data;
    int64_t count;
    tutti_dtype dtype;
    tutti_status *result; /* as in tutti_connections_data; may be NULL */
} tutti_kv_message;

/* The transport between workers and servers. Ranks are those of the session in one mpirun, workers first; between jobs
 * they have the same numbers. */
typedef struct tutti_kv_transport {
    tutti_status (*write)(tutti_kv *kv, int rank, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES]);
    tutti_status (*send)(tutti_kv *kv, const tutti_kv_message *message);
    tutti_status (*recv)(tutti_kv *kv, const tutti_kv_message *message);
    /* Starts to receive active messages; NULL: stops. */
    tutti_status (*listen)(tutti_kv *kv, tutti_active_message_handler *on_message, void *ctx);
    /* Waits for everything inserted, as tutti_wait. */
    tutti_status (*wait)(tutti_kv *kv, double timeout_s);
    /* Whether a rank has closed its store, and all its active messages were delivered. Between jobs 0: its connection
     * breaks instead (connections.h). */
    int (*has_left)(tutti_kv *kv, int rank);
    void (*close)(tutti_kv *kv);
} tutti_kv_transport;
extern const tutti_kv_transport tutti_kv_transport_mpi, tutti_kv_transport_jobs;

/* What a worker has received from servers. */
enum {
    TUTTI_KV_PIECE = (TUTTI_ACTIVE_MESSAGE_VALUES - 2) * sizeof(int64_t),
    TUTTI_KV_PIECES = 5,
    TUTTI_KV_SENTENCE = TUTTI_KV_PIECE * TUTTI_KV_PIECES
};
typedef struct tutti_kv_inbox {
    char reason[TUTTI_KV_SENTENCE + 1]; /* sent by a server; of the receiving thread */
    pthread_mutex_t lock;
    int ends;        /* servers that have sent END, or are lost */
    char *ended;     /* per server: it has sent END */
    int barriers[2]; /* that server 0, and its replacement, have released */
    tutti_status failure;
    char why[TUTTI_KV_SENTENCE + 64]; /* of a failure that was logged on another thread */
} tutti_kv_inbox;

/* Between jobs. */
typedef struct tutti_kv_jobs {
    tutti_jobs settings;
    tutti_connections *connections;
    tutti_client_list client_list; /* of a server; `lock` protects it and what follows */
    pthread_mutex_t lock;
    tutti_active_message_handler *on_message;
    void *ctx;
    char *
        lost; /* per server, of a worker: it is lost, and another has taken over; of the connections' thread */
    int barriers_passed; /* barriers of this worker so far */
} tutti_kv_jobs;

struct tutti_kv {
    tutti_session *session;
    tutti_meter *meter; /* may be NULL; borrowed */
    const tutti_kv_transport *transport;
    /* All workers of this MPI job, and those of this one's stage; NULL: this one is alone, or serves */
    tutti_session *all, *alike;
    /* The client's workers of this stage; NULL if there is one. Pushes and pulls have a group each, so that no push
     * waits for a pull: a pull may wait for another client's push, and that client for a push of this one. */
    tutti_session *pushing, *pulling;
    int servers, workers, clients;
    int client_size, stages; /* stages: 1 or more, a divisor */
    int rank;                /* workers first */
    int server;              /* -1: this is a worker */
    tutti_consistency rule;
    tutti_optimizer optimizer;
    int chosen; /* the optimizer */
    int compared; /* the workers' optimizers, without servers */
    int warned; /* that priorities change nothing */
    double rate;
    tutti_kv_key *keys;                     /* of a worker */
    tutti_kv_key *bucket[TUTTI_KV_BUCKETS]; /* the same, by key */
    int64_t lists;                          /* calls with lists of keys so far */
    tutti_portions portions;
    int64_t sent, received; /* bytes of keys' data, from and to others */
    tutti_kv_inbox inbox;
    tutti_kv_jobs jobs;
};

/* The transport's send and recv, counted. */
tutti_status tutti_kv_send_data(tutti_kv *kv, const tutti_kv_message *message);
tutti_status tutti_kv_recv_data(tutti_kv *kv, const tutti_kv_message *message);

/* INVAL (logged) if the store is not open, or this rank serves (works). */
tutti_status tutti_kv_enter(const tutti_kv *kv, const char *function, int serves);
int tutti_kv_is_server(const tutti_kv *kv);
/* The rank of a server. */
int tutti_kv_server_rank(const tutti_kv *kv, int server);
/* Which of its client's workers this one is. */
int tutti_kv_worker(const tutti_kv *kv);
/* Whether this worker is the part's root. */
int tutti_kv_is_root(const tutti_kv *kv, const tutti_kv_part *part);
/* A worker waits until it has received this many ENDs (BARRIERs), or a server has left. COMM: the run has failed. */
tutti_status tutti_kv_await_ends(tutti_kv *kv, int ends);
tutti_status tutti_kv_await_barriers(tutti_kv *kv, int barriers);
/* Receives a server's active message on a worker. [A] */
void tutti_kv_receive(void *kv, const tutti_active_message *message);
/* The same between jobs, on the connections' thread; and the loss of a server's connection. */
void tutti_kv_receive_between_jobs(void *kv, const tutti_active_message *message);
void tutti_kv_lose_server(void *kv, int server, const char *why);
/* A worker's run has failed; returns status. [A] */
tutti_status tutti_kv_fail(tutti_kv *kv, tutti_status status, const char *why);
/* OK, or why the run has failed, which becomes this thread's last error. [A] */
tutti_status tutti_kv_failure(tutti_kv *kv);

/* How many servers have a part. */
int tutti_kv_copies(const tutti_kv *kv);
/* A message between this worker and a part's first server; copy 1: its second. */
tutti_kv_message tutti_kv_message_of(const tutti_kv *kv, const tutti_kv_key *key,
    const tutti_kv_part *part, int copy, tutti_handle data);
/* The spare of a receive that has a second server. */
tutti_connections_spare tutti_kv_spare_of(const tutti_kv_message *message);
/* A root announces a push to a part's servers, and sends part->pushed; requests the value, and receives it. */
tutti_status tutti_kv_send_push(tutti_kv *kv, const tutti_kv_key *key, const tutti_kv_part *part);
tutti_status tutti_kv_request_value(
    tutti_kv *kv, const tutti_kv_key *key, const tutti_kv_part *part, tutti_handle to);
/* Submits a task on the program's data and all parts of a key, for which tutti_kv_wait waits. */
typedef struct tutti_kv_parts_task {
    const char *name;
    void (*work)(void *key, void *const buf[]); /* buf: the data, then each part's */
    tutti_kv_key *key;
    tutti_handle data;
    tutti_mode mode; /* of the data */
    int pushed;      /* 1: the parts are `pushed`; 0: `value` */
} tutti_kv_parts_task;
tutti_status tutti_kv_submit_parts_task(const tutti_kv_parts_task *task);
/* A pushpull of the type elastic. */
tutti_status tutti_kv_mix_with_centre(tutti_kv *kv, tutti_kv_key *key, tutti_handle weights);

/* Opens the connections between jobs; the session is open, and the store's numbers are set. A client may get a new
 * number. All ranks of the job call it, and return the same. */
tutti_status tutti_kv_jobs_open(tutti_kv *kv);

/* Submits the update of a value by a round's sum, which has the same size, and is scratch afterwards. */
typedef struct tutti_kv_update {
    tutti_optimizer optimizer;
    tutti_dtype dtype;
    int64_t count, before; /* before: updates so far */
    double rate;
    tutti_handle value, sum;
    const tutti_handle *state;
} tutti_kv_update;
tutti_status tutti_kv_submit_update(const tutti_kv_update *update);
/* Opens the optimizer's state of a value, as zeros. */
tutti_status tutti_kv_open_states(
    const tutti_optimizer *optimizer, int64_t count, tutti_dtype dtype, tutti_handle state[]);
/* Whether a task on this many elements is brief (dag/run/datum.h): up to 64 KiB. */
int tutti_kv_is_brief(int64_t count, tutti_dtype dtype);
/* Submits to[0 ...] = from[first ...], `count` elements. */
tutti_status tutti_kv_submit_copy(
    tutti_handle to, tutti_handle from, int64_t first, int64_t count, tutti_dtype dtype);
/* Submits to[0 ...] += from[first ...]. */
tutti_status tutti_kv_submit_add(
    tutti_handle to, tutti_handle from, int64_t first, int64_t count, tutti_dtype dtype);

#endif
