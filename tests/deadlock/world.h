/* All ranks of a program in one thread: the real graph, inline runner, exchange, driver, engine and
 * design of every rank, over one loop transport. Nothing happens by itself: the caller chooses
 * every step.
 *
 *   open -> { submit -> { run, pass }* -> judge }* -> close
 *
 * A step is `run` (a rank's worker runs a ready task) or `pass` (its comm thread, or main thread,
 * makes one pass). Nothing else needs interleaving. A task runs to its end without waiting and
 * touches only its own tensors, so it can be treated as running when it ends. A collective's task
 * returns at once, and does its work (queue, first messages) under the locks that a pass takes. A
 * task that waits for its collective (naive) is counted by the runner: with `workers` of them, no
 * other may run. */
#ifndef TUTTI_TEST_WORLD_H
#define TUTTI_TEST_WORLD_H

#include "tests/deadlock/program.h"

#include "dag/base/status.h"
#include "tests/deadlock/wire.h"

typedef enum world_verdict {
    WORLD_RIGHT,    /* every rank has ended with the right sums */
    WORLD_HANG,     /* ranks wait forever */
    WORLD_WRONG,    /* ended without an error, with a wrong result */
    WORLD_MISMATCH, /* a rank got the error that the ranks disagree */
    WORLD_ERROR,    /* a rank got another error */
    WORLD_VERDICTS
} world_verdict;

enum { WORLD_NOT_COLLECTIVE = -1, WORLD_TASKS = 512 };

typedef struct world world;

/* Opens every rank. Borrows the setting until close. Errors are logged. */
tutti_status world_open(const program_setting *setting, world **w);
/* Ends whatever is still running: its messages fail, which ends every collective. Accepts NULL. */
void world_close(world *w);
wire *world_wire(world *w);

/* Submits the programs' steps on every rank; everything submitted before must have ended. */
tutti_status world_submit(world *w, uint64_t salt);

/* The tasks that rank r's workers may run now, ascending, at most WORLD_TASKS; if the program has
 * an order, only the first of the collectives in it. Returns how many. */
int world_ready(world *w, int r, int64_t ids[WORLD_TASKS]);
/* The collective of the program that a task starts, or WORLD_NOT_COLLECTIVE; and its step. */
int world_collective(const world *w, int r, int64_t id, int *step);
void world_run(world *w, int r, int64_t id);
/* One pass of rank r. Returns whether anything moved. After one of every rank without that, nothing will move. */
int world_pass(world *w, int r);
/* Whether a collective has become ready on the rank since its last pass; the next pass may start
 * it. */
int world_dirty(const world *w, int r);
int world_ended(const world *w);
/* What has happened since open: equal for schedules that differ only in the order of independent
 * steps. whole = 0: counts collectives only; if all workers wait for collectives, feeds and
 * computations may be left undone, which then makes no difference. */
uint64_t world_state(const world *w, int whole);

/* To be called when no step moves anything any more. what: a sentence for people, empty if
 * right. */
world_verdict world_oracle(world *w, char *what, size_t size);
const char *world_verdict_name(world_verdict verdict);

#endif
