/* Whether people look at a terminal, and how wide it is. What goes elsewhere is plain text: no carriage
 * return, no escape. [M] */
#ifndef TUTTI_TERMINAL_H
#define TUTTI_TERMINAL_H

#include <stdio.h>

/* Columns of the terminal that this descriptor's output comes out at; 0: none does, or one that cannot move
 * its cursor (TERM=dumb). Some launchers (Open MPI's mpirun) give every rank a terminal of their own,
 * wherever their own output goes: it has no size, and what counts is the launcher's, on this machine. */
int tutti_terminal_columns(int descriptor);

/* A line that replaces itself, such as "block 3/7"; nothing where `columns` is 0. It is cut to fit. */
void tutti_terminal_show(FILE *out, int columns, const char *text);
/* Takes it away. */
void tutti_terminal_clear(FILE *out, int columns);

/* "0:07", "12:30", "3:05:00", "2 d 3 h": so many seconds, into text, which it returns; "?" for what is no
 * time. [P] */
enum { TUTTI_TERMINAL_TIME = 24 };
char *tutti_terminal_time(double seconds, char text[TUTTI_TERMINAL_TIME]);

#endif
