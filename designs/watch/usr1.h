/* SIGUSR1 as a question: "what are you doing?" A handler counts, and every watch of the process
 * (designs/watch/watch.h) looks at the count. A signal handler has no handle to hang its state on, so the
 * count is the process's. [A] */
#ifndef TUTTI_USR1_H
#define TUTTI_USR1_H

/* Catches SIGUSR1, unless the program catches or ignores it itself: then it keeps it, and the count
 * stays. Calls nest; the last close gives SIGUSR1 back to the default. */
void tutti_usr1_open(void);
void tutti_usr1_close(void);
/* How often it has come. */
int tutti_usr1_count(void);

#endif
