/* The hosts of an elastic run, and which of them gets the next rank. [M] */
#ifndef TUTTI_LAUNCH_HOSTS_H
#define TUTTI_LAUNCH_HOSTS_H

#include "apps/launch/options.h"

enum { TUTTI_LAUNCH_ADDRESS = 56 };

typedef struct tutti_launch_host {
    char *name;                         /* for the command that starts a process there */
    char address[TUTTI_LAUNCH_ADDRESS]; /* for the other ranks */
    int running, left_out;
    int failures; /* in turn: ranks that ended before they trained, and lost connections */
} tutti_launch_host;

typedef struct tutti_launch_hosts {
    int n; /* 0: ranks are processes of this host */
    tutti_launch_host *host;
    char **rsh;       /* [words] the command that starts a process there: the host's name follows */
    int words, shell; /* shell: the command gets one line for a shell, not words */
} tutti_launch_hosts;

/* From --hosts and --rsh, or from the job of Slurm with --srun. -1: well; else the status to end with (logged). */
int tutti_launch_hosts_find(const tutti_launch_options *options, tutti_launch_hosts *hosts);
/* Of those with the fewest failures the one with the fewest ranks; -1: each is left out. */
int tutti_launch_hosts_choose(const tutti_launch_hosts *hosts);
/* A rank there has ended before it trained, or the connection to it was lost. Two in turn, and the host gets no more
 * (logged). */
void tutti_launch_hosts_fail(tutti_launch_hosts *hosts, int h);
void tutti_launch_hosts_free(tutti_launch_hosts *hosts);

#endif
