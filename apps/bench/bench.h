/* Benches: each is a command of tutti-bench that first verifies what it measures, then times it.
 *
 * To add one, write its source and add its row to table.c. Threads: [M]. */
#ifndef TUTTI_BENCH_H
#define TUTTI_BENCH_H

#include "dag/base/status.h"

typedef struct tutti_bench {
    const char *name, *summary;
    /* argv[0] is the command's name. USAGE (logged) for bad options; all failures are logged. */
    tutti_status (*run)(int argc, char **argv);
} tutti_bench;

/* NULL-terminated table; lookup by name, or NULL. [P] */
extern const tutti_bench *const tutti_benches[];
const tutti_bench *tutti_bench_find(const char *name);

#endif
