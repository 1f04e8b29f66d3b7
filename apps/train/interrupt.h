/* SIGINT and SIGTERM: the first asks for an orderly end, which the main thread checks for between
 * steps and stages; a later one ends the process at once, by its default action.
 *
 * A dedicated thread receives the signals, which all others block, so that no worker and no MPI
 * call is interrupted. A second signal within a second of the first is ignored: launchers and
 * terminals may both send one. A signal that was ignored when the program started stays ignored. */
#ifndef TUTTI_INTERRUPT_H
#define TUTTI_INTERRUPT_H

#include "dag/base/status.h"

typedef struct tutti_interrupt tutti_interrupt;

/* Call before any other thread is created, because threads inherit the signal mask. NOMEM. [M] */
tutti_status tutti_interrupt_open(tutti_interrupt **interrupt);
/* The signals stay blocked. Accepts NULL. [M] */
void tutti_interrupt_close(tutti_interrupt *interrupt);

/* The first signal, or 0; 0 for NULL. [A] */
int tutti_interrupt_asked(const tutti_interrupt *interrupt);
/* On all ranks: the signal that ended the run, on which they have agreed; 0: one of which this rank does not know. */
void tutti_interrupt_resolve(tutti_interrupt *interrupt, int signal);
/* The exit status of a program that a signal has ended, as shells have it: 128 + the signal that ended the run. [A] */
int tutti_interrupt_status(const tutti_interrupt *interrupt);
/* No longer logs the arrival of a signal: another rank does. [A] */
void tutti_interrupt_hush(tutti_interrupt *interrupt);

/* "SIGTERM"; "a signal" for others. [P] */
const char *tutti_interrupt_name(int signal);

#endif
