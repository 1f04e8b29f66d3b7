/* The processes of a session (setsid(2)): a command that has one of its own can be found as a whole, and what is
 * stopped in it, too. [A] */
#ifndef TUTTI_LAUNCH_SESSION_H
#define TUTTI_LAUNCH_SESSION_H

#include <sys/types.h>

enum { TUTTI_LAUNCH_PROCESSES = 4096 };

/* Those that run, zombies left out. */
typedef struct tutti_launch_processes {
    int n;
    pid_t pid[TUTTI_LAUNCH_PROCESSES];
} tutti_launch_processes;

void tutti_launch_session_list(pid_t session, tutti_launch_processes *list);
/* Of these, those that a launcher has given a rank, but for shells and the like that wait for another. */
void tutti_launch_session_ranks(pid_t session, tutti_launch_processes *list);
/* Kills what is left of a session, and says so. Open MPI's launcher clears its files away unless it is killed: its
 * session folder, and the segments that its ranks have mapped. These are removed, too. */
void tutti_launch_session_sweep(pid_t session);
/* Whether this process's name is that of a launcher. One has processes on this host while it has something to do. */
int tutti_launch_is_mpirun(pid_t process, char name[32]);

#endif
