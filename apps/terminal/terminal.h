/* Whether output appears on a terminal, and how wide it is. Other output is plain text, without
 * carriage returns or escapes. [M] */
#ifndef TUTTI_TERMINAL_H
#define TUTTI_TERMINAL_H

#include <stdio.h>

/* Columns of the terminal that shows this descriptor's output; 0: no terminal, or one that cannot
 * move its cursor (TERM=dumb). Some launchers (Open MPI's mpirun) give every rank a pseudo-terminal
 * without a size, wherever their own output goes; then the launcher's terminal counts, if it runs
 * on this machine. */
int tutti_terminal_columns(int descriptor);

/* Shows a line that the next one replaces, such as "block 3/7", cut to fit; nothing if `columns` is
 * 0. */
void tutti_terminal_show(FILE *out, int columns, const char *text);
/* Erases that line. */
void tutti_terminal_clear(FILE *out, int columns);

/* Writes seconds as "0:07", "12:30", "3:05:00" or "2 d 3 h" into text and returns it; "?" for an
 * invalid time. [P] */
enum { TUTTI_TERMINAL_TIME = 24 };
char *tutti_terminal_time(double seconds, char text[TUTTI_TERMINAL_TIME]);

#endif
