/* The pace of a thread that polls, without starving workers that may share its core: it yields first, then
 * sleeps in growing steps. [A] */
#ifndef TUTTI_PACE_H
#define TUTTI_PACE_H

/* How long to sleep after this many passes in which nothing moved; 0: yield instead. */
double tutti_pace_s(int idle_passes);
/* Sleeps or yields accordingly. */
void tutti_pace_wait(int idle_passes);

#endif
