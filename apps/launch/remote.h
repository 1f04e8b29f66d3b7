/* One rank on another host: the command that reaches the host (ssh, srun), and through it the agent (agent.h). [M] */
#ifndef TUTTI_LAUNCH_REMOTE_H
#define TUTTI_LAUNCH_REMOTE_H

#include "apps/launch/frame.h"
#include "apps/launch/hosts.h"
#include "apps/launch/watch.h"

typedef struct tutti_launch_remote {
    int to, from;         /* descriptors of the agent; -1: closed */
    int port;             /* of the rank's door; 0: not known yet */
    int started, entered, finished; /* the rank */
    int ended, how;       /* ended: the agent has said how, as wait(2) has it */
    int wrong;            /* what came is not an agent's, or not ours (logged) */
    tutti_launch_frames frames;
} tutti_launch_remote;

/* Starts the agent. The process; -1: none (logged). */
pid_t tutti_launch_remote_open(const tutti_launch_watch *watch, const tutti_launch_hosts *hosts,
    int h, tutti_launch_remote *remote);
/* What has come; the rank's output goes to standard output. */
void tutti_launch_remote_read(tutti_launch_remote *remote, const char *host);
/* The rank may start: before and after as in agent.h. 0: it cannot (logged). */
int tutti_launch_remote_start(tutti_launch_remote *remote, const char *host, const char *before,
    const char *after, char *const command[]);
/* To the rank. If there is none yet, the agent ends. */
void tutti_launch_remote_signal(const tutti_launch_remote *remote, int number);
void tutti_launch_remote_close(tutti_launch_remote *remote);

#endif
