/* All ranks of a program in one thread: the real graph, inline runner, exchange, driver, engine and
 * design of every rank, over one loop transport. Nothing happens by itself: whoever holds the world
 * chooses every step.
 *
 *   open -> { submit -> { run, pass }* -> judge }* -> close
 *
 * A step is `run` (a rank's worker runs a task that is ready) or `pass` (its comm thread, or main
 * thread, makes one pass). This is all there is to interleave: a task runs to its end by itself,
 * waits for nothing, and touches its own tensors, so that it can be taken to run when it ends; a
 * collective's task returns at once, and what it does (queue, first messages) it does under the
 * locks that a pass takes. A task that waits for its collective (naive) is counted by the runner:
 * with `workers` of them, no other may run. */
#ifndef TUTTI_TEST_WORLD_H
#define TUTTI_TEST_WORLD_H

#include "tests/deadlock/program.h"

#include "dag/base/status.h"
#include "tests/deadlock/wire.h"

typedef enum world_verdict {
    WORLD_RIGHT,    /* every rank has ended with the right sums */
    WORLD_HANG,     /* ranks wait for ever */
    WORLD_WRONG,    /* ended, without an error, with a wrong result */
    WORLD_MISMATCH, /* a rank was told that the ranks disagree */
    WORLD_ERROR,    /* a rank was told something else */
    WORLD_VERDICTS
} world_verdict;

enum { WORLD_NOT_COLLECTIVE = -1, WORLD_TASKS = 512 };

typedef struct world world;

/* Opens every rank. Borrows the setting until close. Errors are logged. */
tutti_status world_open(const program_setting *setting, world **w);
/* Whatever has not ended is made to: its messages fail, which ends every collective. NULL is fine.
 */
void world_close(world *w);
wire *world_wire(world *w);

/* Submits the programs' steps on every rank; what was submitted before has ended. */
tutti_status world_submit(world *w, uint64_t salt);

/* The tasks that rank r's workers may run now, ascending, at most WORLD_TASKS; with an order in the
 * program, of collectives in it only the first. Returns how many. */
int world_ready(world *w, int r, int64_t ids[WORLD_TASKS]);
/* Which collective of the program a task starts, or WORLD_NOT_COLLECTIVE; and in which step. */
int world_collective(const world *w, int r, int64_t id, int *step);
void world_run(world *w, int r, int64_t id);
/* Whether anything moved. */
int world_pass(world *w, int r);
/* After so many passes in a row of every rank that move nothing, none will: ranks that compare their
 * collectives look for messages of one rank in a pass. */
int world_quiet_passes(const world *w);
/* Whether a collective was made ready on the rank since its last pass, which that pass may start.
 */
int world_dirty(const world *w, int r);
int world_ended(const world *w);
/* What has happened since open: equal for schedules that differ only in the order of steps that do
 * not touch each other. whole = 0: to collectives only; workers that all wait for collectives may
 * leave feeds and computations undone, which then makes no difference. */
uint64_t world_state(const world *w, int whole);

/* When no step moves anything any more. what: a sentence for people, empty when right. */
world_verdict world_judge(world *w, char *what, size_t size);
const char *world_verdict_name(world_verdict verdict);

#endif
