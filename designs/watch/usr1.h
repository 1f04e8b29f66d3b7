/* SIGUSR1 as a question: "what are you doing?" The handler counts, and every watch of the process
 * (designs/watch/watch.h) reads the count. A signal handler gets no handle, so the count is global.
 * [A] */
#ifndef TUTTI_USR1_H
#define TUTTI_USR1_H

/* Catches SIGUSR1, unless the program catches or ignores it: then the program keeps it, and the
 * count does not change. Calls nest; the last close restores the default action. */
void tutti_usr1_open(void);
void tutti_usr1_close(void);
/* The number of signals received. */
int tutti_usr1_count(void);

#endif
