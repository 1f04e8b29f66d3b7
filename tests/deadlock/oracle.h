/* The expected results of a program's collectives, by arithmetic on whole numbers, which are exact
 * in any order and type. */
#ifndef TUTTI_TEST_ORACLE_H
#define TUTTI_TEST_ORACLE_H

#include "tests/deadlock/program.h"

#include "dag/base/status.h"

#include <stddef.h>

typedef struct oracle oracle;

tutti_status oracle_new(const program_setting *setting, oracle **oracle); /* borrows the setting */
void oracle_free(oracle *oracle);                                         /* accepts NULL */

/* Computes one step; `salt` makes batches of steps differ. */
void oracle_step(oracle *oracle, int step, uint64_t salt);
/* Writes the input to feed to a rank's collective, in its type. */
void oracle_input(const oracle *oracle, int rank, int k, void *data);
/* NULL if `data` is the step's expected result wherever that is defined; otherwise what is wrong, a
 * sentence in static storage. */
const char *oracle_compare(const oracle *oracle, int rank, int k, const void *data);

#endif
