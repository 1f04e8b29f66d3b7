/* One process of a user on this machine at a time, for work that two processes must not do at once. [A]
 *
 * StarPU's first start on a machine measures it and writes files under STARPU_HOME; another rank
 * that starts meanwhile reads them half written and ends with an assertion. So runners start StarPU
 * in turns. */
#ifndef TUTTI_TURN_H
#define TUTTI_TURN_H

/* Waits for the turn `name`, at most this long; then goes ahead without it, as it does where no
 * lock can be had (a warning says so). Returns what to hand to end. */
int tutti_turn_take(const char *name, double at_most_s);
void tutti_turn_end(int turn);

#endif
