/* The inside of a server. What comes from others becomes events, in one line; the main thread takes them in order,
 * keeps the ledgers, and submits what follows: updates, and answers. So a server is a program whose tasks are submitted
 * by arrivals. Nothing it submits waits for a message that has not been announced by its sender.
 *
 *   kv_serve.c          what begins and ends, and who reads an active message
 *   kv_serve_events.c   the queue of events, and transfers
 *   kv_serve_keys.c     keys, and their first values
 *   kv_serve_pool.c    data for messages, used again
 *   kv_serve_push.c     pushes on their way, rounds
 *   kv_serve_pull.c     pulls and their answers
 *   kv_serve_clients.c  clients that come, leave and die, and their barriers
 *
 * All of it is [M] but tutti_server_queue_event. */
#ifndef TUTTI_KV_SERVE_PARTS_H
#define TUTTI_KV_SERVE_PARTS_H

#include "designs/kv/kv_parts.h"

typedef struct tutti_server tutti_server;

/* A push on its way, then here. */
typedef struct tutti_push {
    struct tutti_push *next; /* of the same client and key, in the order in which they were made */
    int slot;
    int from; /* which of the client's workers sends it */
    double rate;
    tutti_handle data; /* NULL: no receive is posted */
} tutti_push;

/* A pull that has not been answered. */
typedef struct tutti_pull {
    struct tutti_pull *next;
    int rank, priority;
    int64_t pushes;    /* that it must have */
    int is_standby;    /* another server answers it, so far */
    tutti_handle data; /* the value as it was before a later round of sync; NULL: as it is */
    double since_s, reported_s; /* when it came, and when its waiting was last told */
} tutti_pull;

/* What is on its way: the data of a push, an answer, or a first value. Two of these may end in another order than they
 * were received, so the end of a push names the client and the key alone. */
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
    int rank;            /* of the worker; fly fills it in */
    int priority;        /* of an answer */
    tutti_handle data;   /* but of a push */
    tutti_status result; /* not OK: it has not landed; its client is lost */
} tutti_kv_transfer;

/* What has happened: the end of a transfer, or else an active message has come. */
typedef struct tutti_kv_event {
    struct tutti_kv_event *next;
    tutti_kv_transfer *completed;
    tutti_active_message message;
} tutti_kv_event;

typedef enum tutti_key_state {
    TUTTI_KEY_NONE,
    TUTTI_KEY_RECEIVING, /* its first value is on its way */
    TUTTI_KEY_KNOWN
} tutti_key_state;

/* What a client wants of a key. */
typedef struct tutti_key_client {
    tutti_push *pushes, **push_end; /* that were not added */
    tutti_pull *pulls, **pull_end;  /* that were not answered */
    int replies;                    /* answers on their way */
    int64_t announced;              /* pushes, in this life */
    int made;                       /* between jobs: it has made the key, in this life */
} tutti_key_client;

/* Data of a key's size that are between two uses, the oldest first: StarPU 1.3 keeps 48 bytes of all data that a
 * callback has waited for, so that a server which opened some for every message would grow. */
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
    int here;      /* it has connected; always 1 in one mpirun, for those that are expected */
    int gone;      /* it has left, or died, and nothing of it is on its way */
    int broken;    /* it has broken off */
    int awaited;   /* pushes whose data are not here */
    int in_flight; /* of these, those that are received; answers and first values on their way */
    int byes;      /* workers that have said bye */
    int has_optimizer; /* it has set the optimizer */
} tutti_server_client;

struct tutti_server {
    tutti_kv *kv;
    int clients; /* how many there may be */
    tutti_server_client *client;
    tutti_server_key *key; /* per slot */
    int keys;
    int replying;      /* answers on their way, to all clients */
    int gone;          /* clients that have left */
    int left_with_bye; /* of those, how many have said bye, ever */
    int died_last;     /* the client that died last; -1: none */
    double began_s, died_s;
    tutti_push_ledger barriers; /* barriers: a key without data */
    int *round;                 /* [clients]: who is in it */
    tutti_kv_event *deferred;   /* about keys that are not known yet, and byes behind these */
    pthread_mutex_t lock;       /* protects the line of events */
    pthread_cond_t more;
    tutti_kv_event *first, **end;
    tutti_status failure;  /* of keeping events */
    int lost, lost_by;     /* the server that a worker has lost, and which worker; -1: none */
    tutti_optimizer unset; /* the optimizer of who sets none */
    int blamed;            /* the client whose death ends the run; -1: none */
    int refused;           /* the client that is refused in this event; -1: none */
    tutti_status refusal;  /* and with which status, and why */
    char why[TUTTI_KV_SENTENCE + 1];
    int took_over; /* for the server before it, which is lost */
};

/* What tutti_kv_serve does: it opens a server, lets it react to events until no client is left, says that it is over,
 * and closes it, if all has gone well. NOMEM (logged): *server may be NULL, or must not be closed. */
tutti_status tutti_server_open(tutti_kv *kv, tutti_server **server);
/* The event stays the caller's. */
tutti_status tutti_server_handle_event(tutti_server *s, const tutti_kv_event *event);
void tutti_server_close(tutti_server *s);

int tutti_server_client_of(const tutti_server *s, int rank);
/* Puts an event into the line (copied). [A] */
void tutti_server_queue_event(tutti_server *s, const tutti_kv_event *event);
/* The next event, which the caller frees; NULL after a while without one. */
tutti_kv_event *tutti_server_next_event(tutti_server *s, tutti_status *status);
/* Takes a transfer (copied) into the ledgers, and submits it: receives, or sends, all of its data. */
tutti_status tutti_server_submit(
    tutti_server *s, int rank, const tutti_kv_transfer *transfer, tutti_handle data);
tutti_status tutti_server_defer_event(tutti_server *s, const tutti_kv_event *event);
/* What was kept for keys that were unknown goes to the front of the line, in its order. */
void tutti_server_requeue_deferred(tutti_server *s);
/* Whether something of a client is kept. */
int tutti_server_has_deferred(const tutti_server *s, int client);
/* Forgets what was kept of a client. */
void tutti_server_drop_deferred(tutti_server *s, int client);

int tutti_server_knows(const tutti_server *s, int64_t slot);
int tutti_server_has_room(const tutti_server *s, int64_t slot);
/* Of a transfer that has ended: one whose ends had different sizes is the worker's fault. A transfer that broke
 * off with its connection is reported by the connection. */
tutti_status tutti_server_check_completed(
    tutti_server *s, const tutti_kv_transfer *transfer, const char *what, int key);
/* An active message INIT. */
tutti_status tutti_server_on_init(tutti_server *s, const tutti_kv_event *event);
/* A first value has landed, or has not. */
tutti_status tutti_server_complete_first(tutti_server *s, const tutti_kv_transfer *transfer);
void tutti_server_close_key(tutti_server *s, tutti_server_key *key);

tutti_status tutti_server_open_pool(const tutti_server *s, tutti_server_key *key);
/* Data for a message about this key. What is submitted on them waits for their last use, which no other rank holds
 * up. */
tutti_status tutti_server_borrow_buffer(tutti_server_key *key, tutti_handle *data);
/* Of data whose messages have ended; tasks on them may be on their way. Accepts NULL. */
void tutti_server_return_buffer(tutti_server_key *key, tutti_handle data);
void tutti_server_drop_pool(tutti_server_key *key);

/* An active message PUSH. */
tutti_status tutti_server_on_push(tutti_server *s, const tutti_active_message *message);
/* One more push is here. */
tutti_status tutti_server_complete_push(tutti_server *s, const tutti_kv_transfer *transfer);
/* Adds what may be added to a key, and answers who has waited for it. */
tutti_status tutti_server_add_rounds(tutti_server *s, int slot);
void tutti_server_drop_pushes(tutti_key_client *of);

/* An active message PULL or STAND_BY. */
tutti_status tutti_server_on_pull(tutti_server *s, const tutti_active_message *message);
/* An active message RELEASE. */
tutti_status tutti_server_on_release(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_answer_all(tutti_server *s, int slot);
/* Before a round of sync is added: the same, and what may be answered, but waits for earlier answers, keeps the
 * value. */
tutti_status tutti_server_keep_answers(tutti_server *s, int slot);
tutti_status tutti_server_complete_answer(tutti_server *s, const tutti_kv_transfer *transfer);
void tutti_server_drop_pulls(tutti_key_client *of);
void tutti_server_report_waiting(const tutti_server *s);

/* Active messages JOINED, LOST, BYE, MEET, FAILED and TAKE_OVER. */
tutti_status tutti_server_on_joined(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_lost(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_bye(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_barrier(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_failed(tutti_server *s, const tutti_active_message *message);
tutti_status tutti_server_on_take_over(tutti_server *s, const tutti_active_message *message);
/* A worker has sent what it must not send. Where clients may die alone (between jobs, but in sync) its client is lost,
 * alone, once the event has been handled: OK. Else it ends the run, with this status (logged). */
tutti_status tutti_server_refuse(tutti_server *s, int rank, tutti_status status, const char *format,
    ...) __attribute__((format(printf, 4, 5)));
/* Whether clients may die alone. */
int tutti_server_tolerates(const tutti_server *s);
/* After an event: a client that was refused is lost. The sentence is logged here, and goes to it. */
tutti_status tutti_server_reject(tutti_server *s);
/* After anything of a client has ended: whether it has now left. */
tutti_status tutti_server_may_leave(tutti_server *s, int client);
/* Whether clients are there, or to come. *status: the run cannot go on. */
int tutti_server_has_clients(tutti_server *s, tutti_status *status);
/* Tells every worker that it is over. */
void tutti_server_send_end(tutti_server *s, tutti_status status);

#endif
