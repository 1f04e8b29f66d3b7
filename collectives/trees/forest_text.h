/* Forests as text: tutti-trees(1) says what a user writes.
 *
 *   forest 1
 *   topology 0123456789abcdef          the hash of its text (topology_text.h)
 *   ranks 4
 *   tree 0 25GB/s: 1<0 2<0 3<2         root, rate, and the parent of each other rank
 *
 * The rate of a tree is its weight. [P] */
#ifndef TUTTI_FOREST_TEXT_H
#define TUTTI_FOREST_TEXT_H

#include "collectives/links/topology.h"
#include "collectives/sched/forest.h"

#include <stdio.h>

/* Reads a text; `name` is what messages call it. With a topology: the forest must be for it, and its trees' edges and
 * rates must fit into it. *hash: of the topology that the text names. FORMAT (logged, with the line): what is wrong.
 * NOMEM. */
tutti_status tutti_forest_read(const char *text, const char *name, const tutti_topology *topology,
    tutti_forest **forest, uint64_t *hash);
/* Reads a file. USAGE (logged): it cannot be read; and as above. */
tutti_status tutti_forest_open(
    const char *path, const tutti_topology *topology, tutti_forest **forest, uint64_t *hash);
/* Writes the text that reads as this forest, for the topology with this hash. IO. */
tutti_status tutti_forest_print(const tutti_forest *forest, uint64_t hash, FILE *out);
/* A hash of the forest alone: equal for equal trees and weights. */
uint64_t tutti_forest_hash(const tutti_forest *forest);

#endif
