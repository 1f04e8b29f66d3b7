/* Topologies as text (tutti-topology(5) says what a user writes), and those that have a name. [P] */
#ifndef TUTTI_TOPOLOGY_TEXT_H
#define TUTTI_TOPOLOGY_TEXT_H

#include "collectives/links/topology.h"

#include <stdio.h>

/* Reads a text; `name` is what messages call it. FORMAT (logged, with the line): what is wrong in it. NOMEM. */
tutti_status tutti_topology_read(const char *text, const char *name, tutti_topology **t);
tutti_status tutti_topology_read_file(const char *path, tutti_topology **t); /* IO, too */
/* Writes the text that reads as this topology, a line for each point and cable. IO. */
tutti_status tutti_topology_print(const tutti_topology *t, FILE *out);

/* A hash of that text: equal for equal topologies. NOMEM. */
tutti_status tutti_topology_hash(const tutti_topology *t, uint64_t *hash);

/* A family of topologies that are made, not stored: "star:8,10Gbit/s". */
typedef struct tutti_topology_family {
    const char *name, *usage, *summary;
    tutti_status (*write)(const struct tutti_topology_family *f, const char *arguments, FILE *out);
} tutti_topology_family;

/* A row without a name ends the table. */
extern const tutti_topology_family tutti_topology_families[];

/* The topology that a user names: one of a family, or else a file. USAGE (logged): what is wrong with the name; IO,
 * FORMAT: with the file. NOMEM. */
tutti_status tutti_topology_open(const char *spec, tutti_topology **t);

#endif
