/* Rules as text: tutti-rules(5) says what a user writes. [P] */
#ifndef TUTTI_RULES_TEXT_H
#define TUTTI_RULES_TEXT_H

#include "collectives/links/topology.h"
#include "collectives/rules.h"
#include "dag/base/status.h"

#include <stdio.h>

/* Reads a text; `name` is what messages call it. FORMAT (logged, with the line): what is wrong in it. NOMEM. */
tutti_status tutti_rules_read(const char *text, const char *name, tutti_rules **rules);
/* Reads a file. USAGE (logged): it cannot be read. Errors of tutti_rules_read. */
tutti_status tutti_rules_open(const char *path, tutti_rules **rules);
/* The rules that a run's algorithm names, or *rules is NULL. USAGE (logged): a mistake in the file, rules that say
 * nothing of this number of ranks, or were measured on another topology than this one (NULL: not known); the algorithm
 * is "priced", and the topology is not known. NOMEM. */
tutti_status tutti_rules_of_run(
    const char *algorithm, const tutti_topology *topology, int ranks, tutti_rules **rules);
void tutti_rules_free(tutti_rules *rules); /* accepts NULL */
/* Writes the text that reads as these rules, a line for each. IO. */
tutti_status tutti_rules_print(const tutti_rules *rules, FILE *out);
/* A hash of that text. NOMEM. */
tutti_status tutti_rules_hash(const tutti_rules *rules, uint64_t *hash);

#endif
