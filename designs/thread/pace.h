/* The pace of a thread that polls, without starving workers that may share its core: it yields first, then
 * sleeps in growing steps. [A] */
#ifndef TUTTI_PACE_H
#define TUTTI_PACE_H

/* How long to sleep after so many passes in which nothing moved; 0: not, yield. */
double tutti_pace_s(int idle_passes);
/* Does so. */
void tutti_pace_wait(int idle_passes);

#endif
