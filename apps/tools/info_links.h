/* tutti-info about topologies. */
#ifndef TUTTI_INFO_LINKS_H
#define TUTTI_INFO_LINKS_H

#include "dag/base/status.h"

/* Prints a topology (a name of a family, or a file) as text. Errors as in tutti_topology_open. */
tutti_status tutti_info_topology(const char *spec);
/* Prints its routes: for each host and switch, and each other point that has ranks, the neighbour that comes next.
 * Errors as above. */
tutti_status tutti_info_routes(const char *spec);
/* Prints how long allreduces, broadcasts and reduces should take on it, by size and algorithm. Errors as above. */
tutti_status tutti_info_prices(const char *spec);

#endif
