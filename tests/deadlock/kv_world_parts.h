/* The inside of a world with servers: kv_world.c opens it, lists and takes steps; kv_world_ranks.c has what ranks do
 * next; kv_world_oracle.c looks at how it has ended, kv_world_state.c at what it is. */
#ifndef TUTTI_DEADLOCK_KV_WORLD_PARTS_H
#define TUTTI_DEADLOCK_KV_WORLD_PARTS_H

#include "designs/kv/serve_parts.h"
#include "tests/deadlock/kv_world.h"

/* A key as large as this has a part on every server. */
enum { CUT = 8 };

typedef enum rank_state {
    COMING, /* between jobs: it has not greeted the servers */
    CALLING,
    MEETING,
    LEAVING, /* it has said bye */
    SERVING,
    ENDING, /* a server whose clients have all left, or that has failed */
    DEAD,
    OVER
} rank_state;

/* What a pull has brought. */
typedef struct pulled {
    tutti_handle data;
    int key, pushes;
} pulled;

typedef struct kv_rank {
    rank_state state;
    tutti_kv *kv;
    tutti_session session;
    ground_group pushing, pulling;
    tutti_server *server;
    tutti_status status;
    int call, prepared; /* of its calls; of those before the first: the optimizer, and keys */
    int barriers_passed, life;
    int pushes[KV_MOST_KEYS];        /* in this life */
    tutti_handle data[KV_MOST_KEYS]; /* that it pushes */
    tutti_handle last[KV_MOST_KEYS]; /* pulled last */
    int pulls;
    pulled pull[KV_MOST_CALLS];
} kv_rank;

struct kv_world {
    const kv_case *c;
    ground *ground;
    int ranks, jobs, crashes; /* crashes: a server dies */
    int64_t count[KV_MOST_KEYS];
    kv_rank rank[KV_MOST_RANKS];
};

/* Whether a server may die now; and it does. */
int kv_world_may_crash(const kv_world *w, int r);
void kv_world_crash(kv_world *w, int r);
/* Whether a client can notice that a server has died. */
int kv_world_is_connected(const kv_world *w, int r);
/* A client's end at the servers, which has not greeted them; its data. */
tutti_status kv_world_open_client(kv_world *w, int r);
void kv_world_close_kv(kv_rank *k);
/* The server takes the next event of its line. */
void kv_world_react(kv_world *w, int r);
/* Whether a rank may do what it does next: a client, its next call; and does it. */
int kv_world_may_go_on(const kv_world *w, int r);
void kv_world_go_on(kv_world *w, int r);
/* The next call, NULL: it closes. */
const kv_call *kv_world_next_call(const kv_world *w, int r);
/* Whether nothing more is to come from this rank. */
int kv_world_is_over(const kv_world *w, int r);

#endif
