/* SIGUSR1 asks the process for its current state. Every watch of the process (designs/watch/watch.h)
 * reads how many signals have arrived. A signal handler gets no handle, so the count is global.
 * [A] */
#ifndef TUTTI_USR1_H
#define TUTTI_USR1_H

/* For a program whose SIGUSR1 belongs to Tutti; called before any thread is created. Blocks the
 * signal in all threads: it is fetched, not handled. So a handler that a library installs does not
 * matter (LLVM's, which comes with the OpenCL of PoCL), and no thread of StarPU or MPI is
 * interrupted. */
void tutti_usr1_take(void);

/* Without tutti_usr1_take: catches SIGUSR1, unless the program catches or ignores it; then the
 * program keeps it, and the count does not change. Calls nest; the last close restores the default
 * action. */
void tutti_usr1_open(void);
void tutti_usr1_close(void);
/* Called by a thread that counts: lets the signal interrupt it, if the signal is handled. */
void tutti_usr1_admit(void);
/* The number of signals received. */
int tutti_usr1_count(void);

#endif
