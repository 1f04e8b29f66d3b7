/* What every collective of a program must give, by arithmetic: whole numbers, exact in any order
 * and type. */
#ifndef TUTTI_TEST_ORACLE_H
#define TUTTI_TEST_ORACLE_H

#include "tests/deadlock/program.h"

#include "dag/base/status.h"

#include <stddef.h>

typedef struct oracle oracle;

tutti_status oracle_new(const program_setting *setting, oracle **oracle); /* borrows the setting */
void oracle_free(oracle *oracle);                                         /* accepts NULL */

/* Works out one step; `salt` makes batches of steps differ. */
void oracle_step(oracle *oracle, int step, uint64_t salt);
/* Writes the input of a rank's collective in its type: what is fed. */
void oracle_input(const oracle *oracle, int rank, int k, void *data);
/* NULL when `data` is what the step must give where it is defined; else what is wrong, a sentence
 * in static words. */
const char *oracle_compare(const oracle *oracle, int rank, int k, const void *data);

#endif
