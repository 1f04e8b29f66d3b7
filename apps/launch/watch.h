/* The signals that tutti-run receives, as events between other events: processes that end, output, time. [M] */
#ifndef TUTTI_LAUNCH_WATCH_H
#define TUTTI_LAUNCH_WATCH_H

#include <sys/types.h>

typedef struct tutti_launch_watch {
    int signals; /* a descriptor: readable when a signal has come */
    int stopped; /* the number of the signal that stops tutti-run; 0: none so far */
    int stops;   /* how many such signals have come */
    pid_t parent;
} tutti_launch_watch;

/* Blocks HUP, INT, TERM, USR1, USR2 and CHLD, but those that are ignored from the start on (nohup). 0: it cannot
 * (reported). */
int tutti_launch_watch_open(tutti_launch_watch *watch);
/* The next signal that has come, or 0. HUP, INT and TERM stop tutti-run: the first of them is in `stopped`. */
int tutti_launch_watch_next(tutti_launch_watch *watch);
/* Starts a process that receives all signals again, and one to end when tutti-run is killed; input and output come
 * from these descriptors. own_session: whether it begins one. A command that cannot be run ends with 127, or 126,
 * and is reported. -1: no process (reported). */
pid_t tutti_launch_watch_start(const tutti_launch_watch *watch, char *const command[],
    int own_session, int in, int out, int err);
/* To a process that began a session of its own, which may be a script. INT, TERM and KILL reach all of its process
 * group, others only itself. */
void tutti_launch_watch_signal(pid_t process, int number);
/* Sleeps until `until_s` (the clock of dag/base/clock.h), or until a signal that stops comes. */
void tutti_launch_watch_rest(tutti_launch_watch *watch, double until_s);
/* A time for poll(2): milliseconds until then, at least 0; at most 1000. */
int tutti_launch_watch_timeout(double until_s);

#endif
