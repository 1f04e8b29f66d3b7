/* MPI's own blocking broadcast and reduce, to compare with: as MPI chooses, or by one of its algorithms.
 *
 * Open MPI's module "tuned" has numbered algorithms. A communicator uses the one that its control variables (MPI_T)
 * name while it is made. Other MPIs have no such variables: then there is only their own choice. Threads as in
 * boot.h. */
#ifndef TUTTI_BENCH_LIBRARY_H
#define TUTTI_BENCH_LIBRARY_H

#include "collectives/boot.h"
#include "collectives/value/args.h"

enum { TUTTI_LIBRARY_MOST = 16, TUTTI_LIBRARY_NAME = 48 };

/* One way of doing a kind. */
typedef struct tutti_library_way {
    char name[TUTTI_LIBRARY_NAME]; /* "own choice", "3 pipeline", "3 pipeline, cut" */
    tutti_boot boot;
} tutti_library_way;

typedef struct tutti_library {
    int ways;
    tutti_library_way way[TUTTI_LIBRARY_MOST];
} tutti_library;

/* Before MPI starts: has Open MPI heed these variables. */
void tutti_library_prepare(void);
/* Communicators of the same ranks for a kind, TUTTI_BROADCAST or TUTTI_REDUCE: MPI's own choice first, then each of its
 * algorithms, with whole vectors and, where it cuts them, in segments of 60 KiB as Tutti's. Close it before `boot`. All
 * ranks call it. COMM, NOMEM (logged). */
tutti_status tutti_library_open(
    const tutti_boot *boot, tutti_coll_kind kind, tutti_library *library);
void tutti_library_close(tutti_library *library);
/* Broadcasts x[count], or sums it to the root, in place there. Blocks with MPI's lock held. At most INT_MAX elements.
 * COMM (logged). */
tutti_status tutti_library_run(
    const tutti_library_way *way, tutti_coll_kind kind, float *x, int64_t count, int root);

#endif
