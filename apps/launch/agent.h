/* The agent: tutti-run itself, started on another host for one rank of an elastic run. It opens the rank's door, and
 * says so; starts the rank, passes its output and its end on, and signals to it, also those that it receives itself.
 * When its connection to tutti-run ends, it ends the rank: no process is left behind.
 *
 * It receives frames (frame.h). The words of START:
 *
 *     FOLDER VARIABLES NAME=VALUE... BEFORE AFTER PROGRAM ARGUMENT...
 *
 * Before and after: parts of TUTTI_ELASTIC (designs/elastic/elastic_start.h), between which the descriptors of door and
 * report stand. [M] */
#ifndef TUTTI_LAUNCH_AGENT_H
#define TUTTI_LAUNCH_AGENT_H

/* Its only argument. */
#define TUTTI_LAUNCH_AGENT "--agent"

/* Sets TUTTI_ELASTIC for a rank. 0: no memory. */
int tutti_launch_agent_set_start(const char *before, int door, int report, const char *after);
/* Until the rank has ended. The exit status: 0 if it has said all. */
int tutti_launch_agent(void);

#endif
