/* The inside of a server. Messages and completed transfers become events in one queue. The main thread handles them in
 * order: it keeps the ledgers, and submits updates and answers. It submits no receive before the sender has announced
 * the message.
 *
 *   kv_serve.c          opening, closing, dispatch of active messages
 *   kv_serve_events.c   the queue of events, and transfers
 *   kv_serve_keys.c     keys, and their first values
 *   kv_serve_pool.c     buffers for messages, reused
 *   kv_serve_push.c     pushes, rounds
 *   kv_serve_pull.c     pulls and their answers
 *   kv_serve_clients.c  clients that join, leave and die; barriers
 *
 * All of it is [M] but tutti_server_queue_event. */
#ifndef TUTTI_KV_SERVE_PARTS_H
#define TUTTI_KV_SERVE_PARTS_H

#include "designs/kv/kv_parts.h"

typedef struct tutti_server tutti_server;

/* A push that was announced, or has arrived. */
typedef struct tutti_push {
    struct tutti_push *next; /* of the same client and key, oldest first */
    int slot;
    int from; /* the worker that sends it */
    double rate;
    tutti_handle data; /* NULL: no receive is posted */
} tutti_push;

/* A pull that has not been answered. */
typedef struct tutti_pull {
    struct tutti_pull *next;
    int rank, priority;
    int64_t pushes;    /* that the answer must include */
    int is_standby;    /* another server answers it, unless it is lost */
    tutti_handle data; /* the value as it was before a later round of sync; NULL: as it is */
    double since_s, reported_s; /* when it arrived, and when its wait was last reported */
} tutti_pull;

/* A transfer in flight: the data of a push, an answer, or a first value. Transfers may end out of order, so the end of
 * a push names only the client and the key. */
typedef enum tutti_transfer_kind {
    TUTTI_TRANSFER_PUSH,
    TUTTI_TRANSFER_ANSWER,
    TUTTI_TRANSFER_FIRST,
    TUTTI_TRANSFER_UNNEEDED, /* a first value of a key that has one */
} tutti_transfer_kind;
typedef struct tutti_kv_transfer {
    tutti_server *server;
    tutti_transfer_kind kind;
    int slot, client;
    int rank;            /* of the worker; submit fills it in */
    int priority;        /* of an answer */
    tutti_handle data;   /* but of a push */
    tutti_status result; /* not OK: it has failed; its client is lost */
} tutti_kv_transfer;

/* A completed transfer, or an active message. */
typedef struct tutti_kv_event {
    struct tutti_kv_event *next;
    tutti_kv_transfer *completed;
    tutti_active_message message;
} tutti_kv_event;

typedef enum tutti_key_state {
    TUTTI_KEY_NONE,
    TUTTI_KEY_RECEIVING, /* its first value is in flight */
    TUTTI_KEY_KNOWN
} tutti_key_state;

/* A client's requests for a key. */
typedef struct tutti_key_client {
    tutti_push *pushes, **push_end; /* not added yet */
    tutti_pull *pulls, **pull_end;  /* not answered yet */
    int replies;                    /* answers in flight */
    int64_t announced;              /* pushes, in this life */
    int made;                       /* between jobs: it has made the key, in this life */
} tutti_key_client;

/* A pool of buffers of a key's size, the oldest first. StarPU 1.3 keeps 48 bytes of all data that a callback has waited
 * for, so a server that opened a buffer for every message would grow. */
typedef struct tutti_server_pool {
    tutti_handle *data; /* [most] a ring */
    int first, count, most;
} tutti_server_pool;

typedef struct tutti_server_key {
    tutti_key_state state;
    int name; /* the program's number */
    int64_t count, updates;
    tutti_dtype dtype;
    tutti_push_ledger ledger;
    tutti_handle value, state_of[TUTTI_OPTIMIZER_STATES];
    tutti_server_pool pool;
    tutti_key_client *of; /* per client */
} tutti_server_key;

typedef struct tutti_server_client {
    int here;          /* it has connected; always 1 in one mpirun, for those that are expected */
    int gone;          /* it has left or died, and none of its messages are in flight */
    int broken;        /* its connection has broken, or is being cut */
    int awaited;       /* pushes that have not arrived */
    int in_flight;     /* transfers: pushes being received, answers, first values */
    int byes;          /* workers that have sent BYE */
    int has_optimizer; /* it has set the optimizer */
} tutti_server_client;

struct tutti_server {
    tutti_kv *kv;
    int clients; /* how many there may be */
    tutti_server_client *client;
    tutti_server_key *key; /* per slot */
    int keys;
    int replying;      /* answers in flight, to all clients */
    int gone;          /* clients that have left */
    int left_with_bye; /* of these, those that sent BYE, ever */
    int died_last;     /* the client that died last; -1: none */
    double began_s, died_s;
    tutti_push_ledger barriers; /* barriers: a key without data */
    int *round;                 /* [clients]: who is in it */
    tutti_kv_event *deferred;   /* about unknown keys, and BYEs after these */
    pthread_mutex_t lock;       /* protects the queue of events */
    pthread_cond_t more;
    tutti_kv_event *first, **end;
    tutti_status failure;  /* of keeping events */
    int lost, lost_by;     /* the server that a worker has lost, and which worker; -1: none */
    tutti_optimizer unset; /* of clients that set no optimizer */
    int blamed;            /* the client whose death ends the run; -1: none */
    int refused;           /* the client that is refused in this event; -1: none */
    tutti_status refusal;  /* its status and reason */
    char why[TUTTI_KV_SENTENCE + 1];
    int took_over; /* from the server before it, which is lost */
};

/* tutti_kv_serve opens a server, handles events until no client is left, sends END, and closes the server if there was
 * no failure. NOMEM (logged): *server may be NULL, or must not be closed. */
tutti_status tutti_server_open(tutti_kv *kv, tutti_server **server);
/* The event stays the caller's. */
tutti_status tutti_server_handle_event(tutti_server *s, const tutti_kv_event *event);
void tutti_server_close(tutti_server *s);

int tutti_server_client_of(const tutti_server *s, int rank);
/* Queues an event (copied). [A] */
void tutti_server_queue_event(tutti_server *s, const tutti_kv_event *event);
/* The next event, which the caller frees; NULL after a while without one. */
tutti_kv_event *tutti_server_next_event(tutti_server *s, tutti_status *status);
/* Takes a transfer (copied) into the ledgers, and submits it: receives, or sends, all of its data. */
tutti_status tutti_server_submit(
    tutti_server *s, int rank, const tutti_kv_transfer *transfer, tutti_handle data);
tutti_status tutti_server_defer_event(tutti_server *s, const tutti_kv_event *event);
/* Moves all deferred events to the front of the queue, in their order. */
void tutti_server_requeue_deferred(tutti_server *s);
/* Whether events of a client are deferred. */
int tutti_server_has_deferred(const tutti_server *s, int client);
/* Drops a client's deferred events. */
void tutti_server_drop_deferred(tutti_server *s, int client);

int tutti_server_knows(const tutti_server *s, int64_t slot);
int tutti_server_has_room(const tutti_server *s, int64_t slot);
/* Checks a transfer that has ended: if the two ends had different sizes, the worker is refused. A broken connection is
 * reported elsewhere. */
tutti_status tutti_server_check_completed(
    tutti_server *s, const tutti_kv_transfer *transfer, const char *what, int key);
/* An active message INIT. */
tutti_status tutti_server_on_init(tutti_server *s, const tutti_kv_event *event);
/* The transfer of a first value has ended. */
tutti_status tutti_server_complete_first(tutti_server *s, const tutti_kv_transfer *transfer);
void tutti_server_close_key(tutti_server *s, tutti_server_key *key);

tutti_status tutti_server_open_pool(const tutti_server *s, tutti_server_key *key);
/* A buffer for a message about this key. Tasks on it wait for its last use, which depends on no other rank. */
tutti_status tutti_server_borrow_buffer(tutti_server_key *key, tutti_handle *data);
/* Returns a buffer whose messages have ended; tasks may still use it. Accepts NULL. */
void tutti_server_return_buffer(tutti_server_key *key, tutti_handle data);
void tutti_server_drop_pool(tutti_server_key *key);

/* A client that has set no optimizer, where another has, is refused: it would push at another rate. does: "pushes". */
tutti_status tutti_server_check_optimizer(
    tutti_server *s, const tutti_active_message *message, const char *does);
/* An active message PUSH. */
tutti_status tutti_server_on_push(tutti_server *s, const tutti_active_message *message);
/* The transfer of a push has ended. */
tutti_status tutti_server_complete_push(tutti_server *s, const tutti_kv_transfer *transfer);
/* Adds all complete rounds to a key, and answers the pulls that needed them. */
tutti_status tutti_server_add_rounds(tutti_server *s, int slot);
void tutti_server_drop_pushes(tutti_key_client *of);

/* An active message PULL or STAND_BY. */
tutti_status tutti_server_on_pull(tutti_server *s, const tutti_active_message *message);
/* An active message RELEASE. */
tutti_status tutti_server_on_release(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_answer_all(tutti_server *s, int slot);
/* Before a round of sync is added: answers all pulls that may be; those that wait for earlier answers keep a copy of
 * the value. */
tutti_status tutti_server_keep_answers(tutti_server *s, int slot);
tutti_status tutti_server_complete_answer(tutti_server *s, const tutti_kv_transfer *transfer);
void tutti_server_drop_pulls(tutti_key_client *of);
void tutti_server_report_waiting(const tutti_server *s);

/* Active messages JOINED, LOST, BYE, BARRIER, FAILED and TAKE_OVER. */
tutti_status tutti_server_on_joined(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_lost(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_bye(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_barrier(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_failed(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_take_over(tutti_server *s, const tutti_active_message *message);
/* A worker has sent an invalid message. Where the server tolerates dead clients, only its client is dropped, after the
 * event: OK. Otherwise the run ends with this status (logged). */
tutti_status tutti_server_refuse(tutti_server *s, int rank, tutti_status status, const char *format,
    ...) __attribute__((format(printf, 4, 5)));
/* Whether the run survives a client's death: between jobs, except in sync. */
int tutti_server_tolerates(const tutti_server *s);
/* After an event: drops the refused client, if any. Logs the reason, and sends it to the client. */
tutti_status tutti_server_reject(tutti_server *s);
/* After a client's transfer or BYE: removes the client if nothing of it is left. */
tutti_status tutti_server_may_leave(tutti_server *s, int client);
/* Whether clients are connected or expected. *status: why the run cannot continue. */
int tutti_server_has_clients(tutti_server *s, tutti_status *status);
/* Sends END to every worker. */
void tutti_server_send_end(tutti_server *s, tutti_status status);

#endif
