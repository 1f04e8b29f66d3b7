/* Ranks that come and go (--elastic): processes of this host or of several, each started by itself, without MPI.
 * tutti-run gives each a door, the addresses of the others and a token (doc/elastic.md); when one dies, the others go
 * on, and a new one is started in its place. [M] */
#ifndef TUTTI_LAUNCH_ELASTIC_H
#define TUTTI_LAUNCH_ELASTIC_H

#include "apps/launch/options.h"
#include "apps/launch/watch.h"

/* Runs them to their end; the exit status: 0 if the run has come to its end, whichever ranks died before, and no rank
 * has failed after that. */
int tutti_launch_elastic(tutti_launch_watch *watch, const tutti_launch_options *options);

#endif
