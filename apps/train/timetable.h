/* When the next checkpoint within an epoch is due, by time. Only rank 0's clock counts, and the
 * ranks must save at the same step; so rank 0 decides now and then, at a step that all know, whether
 * to save there, and which step is the next to decide at. It expects that one to come when the
 * checkpoint is due, but at most twice as many steps ahead as it has timed. Threads: [P]. */
#ifndef TUTTI_TRAIN_TIMETABLE_H
#define TUTTI_TRAIN_TIMETABLE_H

#include <stdint.h>

typedef struct tutti_timetable {
    double every_s; /* between checkpoints */
    double saved_s; /* the last checkpoint was saved, or the run has begun, then */
    /* What a step takes is measured from here on */
    int64_t begun_step;
    double begun_s;
} tutti_timetable;

enum { TUTTI_TIMETABLE_FIRST = 8 /* steps until the first decision */ };

/* A checkpoint was saved, or the run begins. */
void tutti_timetable_saved(tutti_timetable *timetable, int64_t step, double now_s);
/* Whether a checkpoint is due; *next: the step to decide at, later than this one. */
int tutti_timetable_decide(
    const tutti_timetable *timetable, int64_t step, double now_s, int64_t *next);

#endif
