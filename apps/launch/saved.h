/* The checkpoint that a command names: whether the command has saved it, or another run has left it there. [M] */
#ifndef TUTTI_LAUNCH_SAVED_H
#define TUTTI_LAUNCH_SAVED_H

#include <limits.h>

enum { TUTTI_LAUNCH_IDENTITY = 128 };

typedef struct tutti_launch_saved {
    const char *checkpoint; /* NULL: it names none */
    char place[PATH_MAX];   /* earlier ones lie beside what a link leads to */
    /* The file that was there before; "": none, or it counts as the command's. */
    char stranger[TUTTI_LAUNCH_IDENTITY];
} tutti_launch_saved;

/* Before the command is started. owned: what is there is this run's. */
void tutti_launch_saved_begin(tutti_launch_saved *saved, const char *checkpoint, int owned);
/* Whether the command has saved it by now. */
int tutti_launch_saved_is_there(const tutti_launch_saved *saved);

#endif
