/* What a divided layer (dag/net/divide.h) exchanges at one site: each appends nodes. In these tensors
 * the numbers of the group's ranks follow each other, in their order. Threads: [M]. */
#ifndef TUTTI_DIVIDED_H
#define TUTTI_DIVIDED_H

#include "dag/net/site.h"

/* This rank's `count` numbers of `from` -> `all`, which has those of each rank, in order. */
tutti_status tutti_divided_gather(tutti_site *site, int from, int64_t count, int all);
/* `sum`, of as many numbers for each rank -> the sum over ranks of this rank's `count`. */
tutti_status tutti_divided_scatter(tutti_site *site, int sum, int64_t count, int into);
/* This rank's images of blocks of outputs (G,G*N,K/G) -> y (N,K). */
tutti_status tutti_divided_join(tutti_site *site, int blocks, int y);
/* This rank's columns of dy (G*N,K) -> (G*N,K/G). */
tutti_status tutti_divided_columns(tutti_site *site, int dy, int columns);

#endif
