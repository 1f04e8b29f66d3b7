/* A function in a process of its own, which has a fake device of its own: for tests of what ends a process. */
#ifndef TUTTI_DEVICE_CHILD_H
#define TUTTI_DEVICE_CHILD_H

#include <stddef.h>

typedef struct child {
    const char *order; /* TUTTI_FAKE_ORDER */
    unsigned seed;     /* TUTTI_FAKE_SEED; 0: as it is */
    int devices;       /* TUTTI_FAKE_DEVICES; 0: one */
    /* Afterwards: */
    int signal, status; /* that ended it, or 0; its exit status */
    char said[4096];    /* on stderr */
} child;

/* Waits until it has ended; it exits with 0 when the body returns. */
void child_run(child *c, void (*body)(void *arg), void *arg);
/* Memory that children share with this process: zeros. */
void *child_shared(size_t bytes);

/* It exited with 0 and said nothing; it ended with SIGABRT or SIGSEGV after the fake had said this. */
void child_check_right(const child *c, const char *what);
void child_check_fails(const child *c, const char *what, const char *sentence);

#endif
