/* The memory that a call reads or writes, by its bytes. [A]
 *
 * A region is one buffer as MPI describes it: elements of a datatype, each one extent after the one
 * before. Two regions are compared by their bounds, and only where these meet by their bytes: the
 * gaps of a strided type belong to nobody. The bytes of a type (its layout) are found by unpacking
 * ones into zeros, once per type; types that span more than 256 MiB are not compared by bytes. */
#ifndef TUTTI_MPICHECK_REGION_H
#define TUTTI_MPICHECK_REGION_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct mpicheck_layout;

typedef struct mpicheck_region {
    int64_t count;
    MPI_Datatype type;
    MPI_Aint extent;
    uintptr_t low, high; /* all bytes are in [low, high) */
    int peer;            /* for the report: the rank whose data this is; -1: several */
    bool writes;
    bool dense;                     /* every byte between the bounds belongs to it */
    struct mpicheck_layout *layout; /* NULL: not asked for yet, or dense */
} mpicheck_region;

/* All regions of a call, in bounds of their own. All zero bytes: none. */
typedef struct mpicheck_used {
    mpicheck_region *regions;
    int count, capacity;
    uintptr_t low, high;
} mpicheck_used;

/* Adds `count` elements at `buffer` + `offset` bytes; nothing where they cover no byte. */
void mpicheck_used_add(mpicheck_used *used, const void *buffer, int64_t offset, int64_t count,
    MPI_Datatype type, int peer, bool writes);
void mpicheck_used_free(mpicheck_used *used);
/* Before MPI_Type_free: what the regions need of the type is kept. */
void mpicheck_used_keep(mpicheck_used *used, MPI_Datatype type);
/* Before MPI_Type_free, after mpicheck_used_keep: the handle may mean another type next. */
void mpicheck_region_forget(MPI_Datatype type);

/* Two regions that share bytes, of which at least one is written; `at` is the first such byte. */
typedef struct mpicheck_clash {
    const mpicheck_region *a, *b;
    uintptr_t at;
} mpicheck_clash;

/* Whether a region of `a` clashes with one of `b`. */
bool mpicheck_used_clash(const mpicheck_used *a, const mpicheck_used *b, mpicheck_clash *clash);
/* Whether two regions of one call clash, or one that is written with itself (a == b). */
bool mpicheck_used_clash_within(const mpicheck_used *used, mpicheck_clash *clash);

#endif
