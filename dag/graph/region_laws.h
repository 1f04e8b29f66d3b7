/* The law of regions (dag/graph/region.h): which node of a section may join which others. Its nodes are rows, in
 * program order. Threads: [P]. */
#ifndef TUTTI_REGION_LAWS_H
#define TUTTI_REGION_LAWS_H

#include "dag/graph/graph.h"

typedef struct tutti_region_laws tutti_region_laws;

/* What a row that joins a region would break. */
typedef enum tutti_region_breach {
    TUTTI_REGION_KEEPS, /* nothing */
    TUTTI_REGION_FOLLOWS_OUTSIDE,
    TUTTI_REGION_WAITS_OTHERWISE,
    TUTTI_REGION_DELAYS,
    TUTTI_REGION_IS_APART,
} tutti_region_breach;

/* Of one section, for as many workers that run kernels. With several workers what a row follows is known as far back as
 * 256 MiB hold it for all rows, which is all of it up to 46,000 rows; what is farther back counts as not followed, so
 * that some regions are shorter. NOMEM. */
tutti_status tutti_region_laws_make(
    const tutti_graph *graph, int section, int workers, tutti_region_laws **laws);
void tutti_region_laws_free(tutti_region_laws *laws); /* accepts NULL */

int tutti_region_laws_rows(const tutti_region_laws *laws);
int tutti_region_laws_node(const tutti_region_laws *laws, int row);
/* -1: the node is not of this section, or nothing runs for it. */
int tutti_region_laws_row(const tutti_region_laws *laws, int node);

/* Whether row `next`, a kernel behind the rows of a region, may join them; is_in: whether a row is one of them.
 * *with: the other row, where it may not. */
tutti_region_breach tutti_region_laws_find_breach(const tutti_region_laws *laws, const int rows[],
    int count, const char is_in[], int next, int *with);

#endif
