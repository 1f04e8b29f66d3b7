/* A store of keys (tutti/kv.h) on part of a bench's ranks, used as a StarPU program uses it, and timed.
 *
 * The first ranks of the world work, the next ones serve, and what is left over waits: so layouts with
 * different numbers of servers have the same workers. Between stores StarPU's workers sleep. While a store is
 * open, the ranks that have a part in it call nothing of the world. Threads: [M]. */
#ifndef TUTTI_BENCH_KV_STORE_H
#define TUTTI_BENCH_KV_STORE_H

#include "apps/bench/world.h"

#include <stdint.h>

enum { TUTTI_KV_PUSHES, TUTTI_KV_PULLS, TUTTI_KV_PUSHPULLS, TUTTI_KV_OPS };
extern const char *const tutti_kv_ops[TUTTI_KV_OPS]; /* "push", ... */

typedef struct tutti_store_plan {
    /* of the first workers + servers ranks; clients divide workers */
    int workers, servers, clients;
    const char *type, *design; /* of the store */
    int keys;
    int64_t bytes; /* of a key, a multiple of 4 */
    int verifies;  /* the values, before timing */
    int64_t rounds[TUTTI_KV_OPS];
    double timeout_s;
} tutti_store_plan;

/* What a rank has seen; zeros for what it has no part in. */
typedef struct tutti_store_result {
    double op_s[TUTTI_KV_OPS];                         /* of a worker: seconds a round */
    double sent[TUTTI_KV_OPS], received[TUTTI_KV_OPS]; /* of a worker: bytes in all rounds */
    double first_sent, first_received; /* before the rounds: first values, and to verify */
    double served_in, served_out;      /* of a server, in all */
} tutti_store_result;

/* Starts StarPU with one worker, and ends it. UNSUPPORTED (logged). */
tutti_status tutti_store_start(void);
void tutti_store_stop(void);

/* Opens a store, makes its keys, does `rounds` rounds of each op, a round being that of all keys, and closes
 * it. In `sync` a key's value becomes the sum of what was pushed, in other types that is added. INTERNAL
 * (logged): a key has another value than was pushed. All ranks of the world call it, and return the same. */
tutti_status tutti_store_run(
    tutti_world *world, const tutti_store_plan *plan, tutti_store_result *result);

#endif
