/* The inside of the ground: kv_ground.c chooses and runs ops, kv_ground_calls.c has the calls that submit them,
 * kv_ground_connections.c the connections between jobs; kv_ground_state.c says what it all is. */
#ifndef TUTTI_DEADLOCK_KV_GROUND_PARTS_H
#define TUTTI_DEADLOCK_KV_GROUND_PARTS_H

#include "tests/deadlock/kv_ground.h"
#include "tests/deadlock/wire.h"

/* One use of data by an op, behind those before it. */
typedef struct use {
    struct use *next;
    ground_op *op;
    tutti_mode mode;
} use;

/* The data of a handle: StarPU's own type is opaque. They stay until the ground is closed. */
struct _starpu_data_state {
    struct _starpu_data_state *next;
    int64_t count;
    size_t element;
    int lost; /* made from what has not come */
    use *first, **end;
    float memory[];
};

struct ground_op {
    tutti_ordered_message
        ordered;     /* first; of a message, or of that whose end is told: its peer and tag */
    ground_op *next; /* of the rank, in the order of submission */
    int64_t
        begun; /* of a message: it may meet another, those that have begun earlier first; 0: not yet */
    ground_kind kind;
    int rank, away; /* away: of a send whose data have left, and are here in a copy */
    tutti_datum_task task;
    void (*when)(void *arg);
    tutti_status *result;
    const ground_group *group; /* of a collective */
    int root;
};

typedef struct message {
    struct message *next;
    tutti_active_message message;
} message;

typedef struct ground_rank {
    ground_op *first, **end;
    message *messages[GROUND_RANKS]; /* to it, by sender */
    tutti_active_message_handler *on_message;
    void *ctx;
    int dead, crashed; /* crashed: others notice it by their connections */
    /* between jobs */
    tutti_message_order order;
    tutti_peer_state connection[GROUND_RANKS];
    int cut; /* all connections are, at this end */
} ground_rank;

struct ground {
    int ranks, jobs, at; /* at: whose calls these are */
    int64_t begun;
    ground_rank rank[GROUND_RANKS];
    tutti_handle data;
    wire wire;
    tutti_loop_world *loop;
    tutti_exchange *exchange; /* says how many edges there may be */
    char mismatch[160];
};

/* Whose calls these are: they have no other way to know. Explorers have one thread. */
ground *ground_here(void);
/* An op of the rank whose calls these are. NULL: no memory. */
ground_op *ground_new_op(ground_kind kind, const char *name);
/* Takes the op, whose task lists its data. NOMEM. */
tutti_status ground_submit(ground_op *op);
void ground_drop_messages(ground *g, int from, int to);
void ground_remove(ground *g, ground_op *op);
int ground_may_run(const ground_op *op);
/* A message ends without its data. */
void ground_fail(ground *g, ground_op *op);

void ground_open_order(ground_rank *r);
/* One that was submitted. */
void ground_add_message(ground *g, ground_op *op);
/* Whose data are here becomes ready. */
void ground_let_begin(ground *g);
void ground_write_message(
    ground *g, int from, int to, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES]);

#endif
