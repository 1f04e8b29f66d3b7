/* All ranks of a case of keys (tests/deadlock/kv_case.h) in one thread: the real servers, ledgers and
 * clients of designs/kv, on ground of which every step is chosen (tests/deadlock/kv_ground.h).
 * Where somebody dies, or keys have two copies, servers and clients are jobs of their own; else all are in one mpirun.
 *
 *   open -> { list, take }* -> judge -> close
 *
 * A step is one of: a rank makes its next call; an op of the ground runs; an active message arrives; a server
 * takes the next event of its line; a server dies; a client finds its connection to one that has died broken, and then
 * parts from it. A client that dies does so at any time after the call before, a server at any time from when all
 * clients have come, or not at all: nobody may wait for that. */
#ifndef TUTTI_DEADLOCK_KV_WORLD_H
#define TUTTI_DEADLOCK_KV_WORLD_H

#include "tests/deadlock/kv_case.h"
#include "tests/deadlock/kv_ground.h"
#include "tests/deadlock/world.h"

typedef enum kv_step_kind {
    KV_STEP_CALL,
    KV_STEP_RUN,
    KV_STEP_HEAR,
    KV_STEP_REACT,
    KV_STEP_CRASH,
    KV_STEP_BREAK,
    KV_STEP_PART
} kv_step_kind;

typedef struct kv_step {
    kv_step_kind kind;
    int rank, from; /* from: of an active message; a server that has died */
    ground_op *op;
} kv_step;

enum { KV_MOST_STEPS = 512 };

typedef struct kv_world kv_world;

/* Borrows the case until close. */
tutti_status kv_world_open(const kv_case *c, kv_world **opened);
void kv_world_close(kv_world *w); /* accepts NULL */

/* What may happen next. Returns how many there are. 0: nothing will happen any more. */
int kv_world_list(kv_world *w, kv_step list[KV_MOST_STEPS]);
void kv_world_take(kv_world *w, const kv_step *step);
/* Whether it makes a difference when this happens: what a server hears, and when; who dies, who knows, and what has
 * been asked for, and has come through, by then. The rest touches data of its own rank alone, in the order of their
 * submission. */
int kv_world_matters(const kv_world *w, const kv_step *step);
/* Whether it belongs to what all do before their calls. */
int kv_world_prepares(const kv_world *w, const kv_step *step);
/* Equal for schedules that go on alike. */
uint64_t kv_world_state(const kv_world *w);

/* Once nothing may happen any more. what: a sentence for people, empty if right; that of a hang is what a server says
 * of the pull that waits. Of a run that has failed, what has come before is judged, too. */
world_verdict kv_world_oracle(kv_world *w, char *what, size_t size);

#endif
