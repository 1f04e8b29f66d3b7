/* Servers and clients as jobs of their own (tutti-kv(3)) from one command: the servers' job, or one for each where
 * keys lie on several, and one for each client, each of which is a tutti-run -n by itself, with a session, a grace
 * and a sweep of its own. [M] */
#ifndef TUTTI_LAUNCH_JOBS_H
#define TUTTI_LAUNCH_JOBS_H

#include "apps/launch/mpirun.h"
#include "apps/launch/watch.h"

/* Runs them to their end; the exit status. */
int tutti_launch_jobs(tutti_launch_watch *watch, const tutti_launch_options *options,
    const tutti_launch_mpirun *mpirun);

#endif
