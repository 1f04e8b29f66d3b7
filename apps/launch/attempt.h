/* Runs a command once: in a session of its own, with its errors passed on, until nothing of it is left. What a rank
 * reports is taken from its errors, which every launcher passes on from every host. [M] */
#ifndef TUTTI_LAUNCH_ATTEMPT_H
#define TUTTI_LAUNCH_ATTEMPT_H

#include "apps/launch/options.h"
#include "apps/launch/watch.h"

typedef struct tutti_launch_attempt {
    int code;        /* exit status: 128 + N when signal N ended it; 127: it cannot be run */
    int ended;       /* tutti-run itself has ended it, after an error of a rank */
    int interrupted; /* the status of a run that a signal has ended, as ranks tell it; 0: they do not */
    int lasting;     /* a rank says that a restart would fail in the same way */
} tutti_launch_attempt;

/* command: ends with NULL. A signal that stops tutti-run stops the command, and is in the watch. */
tutti_launch_attempt tutti_launch_run(
    tutti_launch_watch *watch, const tutti_launch_options *options, char *const command[]);

#endif
