/* The inside of a store: shared by kv_open.c (opening, closing), kv_work.c (a worker's calls) and
 * kv_serve.c (a server). */
#ifndef TUTTI_KV_PARTS_H
#define TUTTI_KV_PARTS_H

#include "dag/run/datum.h"
#include "designs/attach/attach_parts.h"
#include "designs/kv/book.h"
#include "designs/kv/kv.h"
#include "designs/kv/optimizer.h"

/* What one rank writes to another (tutti_note.value[0]). */
typedef enum tutti_kv_note {
    TUTTI_KV_OPTIMIZER, /* worker: [1..7] the optimizer */
    TUTTI_KV_INIT, /* worker 0: [1] slot [2] elements [3] type; its value follows on the slot's edge */
    TUTTI_KV_PUSH, /* root: [1] slot [2] rate; the data follow on the edge */
    TUTTI_KV_PULL, /* root: [1] slot [2] its client's pushes so far; the value is to follow on the edge */
    TUTTI_KV_BYE, /* worker: it writes nothing more */
    TUTTI_KV_END, /* server: all workers have said so; [1] its status */
} tutti_kv_note;

/* A part of a key, or all of it, on a server, where `slot` is its number, and that of its edges. */
typedef struct tutti_kv_part {
    int server, slot;
    int root; /* of this worker's client: which of its workers talks to the server */
    int64_t first, count;
    int64_t pushes;             /* of this client so far */
    tutti_handle pushed, value; /* what is on its way to the server, and from there */
    tutti_handle state[TUTTI_OPTIMIZER_STATES]; /* without servers */
    int64_t updates;
} tutti_kv_part;

typedef struct tutti_kv_key {
    struct tutti_kv_key *next;
    int key;
    tutti_dtype dtype;
    int64_t count;
    int parts;
    tutti_kv_part part[];
} tutti_kv_key;

struct tutti_kv {
    tutti_session *session;
    tutti_session *all; /* the workers; NULL on a server */
    /* The client's workers, NULL if it is one. Pushes and pulls have a group each, so that no push waits for a
     * pull: a pull may wait for what another client pushes, and that client for a push of this one. */
    tutti_session *pushing, *pulling;
    int servers, workers, clients;
    int rank; /* in the session: workers first */
    tutti_book_rule rule;
    tutti_optimizer optimizer;
    int chosen; /* the optimizer */
    double rate;
    tutti_kv_key *keys; /* of a worker */
    int64_t *bytes;     /* per server: of its keys */
    int *slots;         /* per server: how many it has */
};

/* INVAL (logged) if the store is not open, or this rank serves (works). */
tutti_status tutti_kv_enter(const tutti_kv *kv, const char *function, int serves);
int tutti_kv_is_server(const tutti_kv *kv);
/* How many workers a client has. */
int tutti_kv_client_size(const tutti_kv *kv);
/* The rank of a server in the session. */
int tutti_kv_server_rank(const tutti_kv *kv, int server);
/* A worker waits until every server has heard the bye of all workers. */
tutti_status tutti_kv_await_end(tutti_kv *kv);
tutti_status tutti_kv_write(tutti_kv *kv, int rank, const int64_t value[TUTTI_NOTE_VALUES]);

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
/* Opens what the optimizer keeps of a value, as zeros. */
tutti_status tutti_kv_open_states(
    const tutti_optimizer *optimizer, int64_t count, tutti_dtype dtype, tutti_handle state[]);
/* Submits to[0 ...] = from[first ...], `count` elements. */
tutti_status tutti_kv_submit_copy(
    tutti_handle to, tutti_handle from, int64_t first, int64_t count, tutti_dtype dtype);

#endif
