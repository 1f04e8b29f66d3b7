/* Communicators, under ids that are equal on all ranks.
 *
 * The id of a communicator is a hash of its parent's id, of the number of the collective on the
 * parent that made it, and of its members; MPI_COMM_WORLD has id 1. Each member announces the
 * communicator to the judge. [A] */
#ifndef TUTTI_MPICHECK_COMMS_H
#define TUTTI_MPICHECK_COMMS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct mpicheck_comm {
    uint64_t id;
    int rank, size;           /* in the local group */
    int others;               /* size of the remote group; 0: an intracommunicator */
    int *world, *other;       /* world ranks of the members of both groups */
    const char *maker;        /* the MPI function that made it, or its predefined name */
    int site;                 /* of that call; 0: predefined */
    uint64_t sequence;        /* collectives started on it */
    _Atomic uint64_t granted; /* collectives that may start */
    int references;           /* the table's, and one per request */
} mpicheck_comm;

/* Registers MPI_COMM_WORLD and MPI_COMM_SELF. */
void mpicheck_comm_start(void);
/* The communicator, or NULL for an unknown handle, such as MPI_COMM_NULL. */
mpicheck_comm *mpicheck_comm_find(MPI_Comm handle);
/* Registers a communicator that a collective has created; ignores MPI_COMM_NULL. `seed` identifies
 * the collective and is equal on all members of the new communicator. */
void mpicheck_comm_made(MPI_Comm handle, uint64_t seed, const char *maker, int site);
/* The same for a communicator whose makers share no numbered collective: its members count how many
 * communicators they have made with this seed. */
void mpicheck_comm_made_by_group(MPI_Comm handle, uint64_t seed, const char *maker, int site);
/* How often a group has been counted with this seed, including this call. */
uint64_t mpicheck_comm_count(MPI_Group group, uint64_t seed);
/* Registers another object of a group, such as a window, under its own key. */
mpicheck_comm *mpicheck_comm_made_of(
    uint64_t key, MPI_Group group, uint64_t seed, const char *maker, int site);
mpicheck_comm *mpicheck_comm_at(uint64_t key);
/* The handle is freed. The object lives as long as requests hold it. */
void mpicheck_comm_gone(MPI_Comm handle);
void mpicheck_comm_gone_at(uint64_t key);
/* Reports the program's communicators that were not freed, as findings of this severity. */
void mpicheck_comm_leaks(char severity);

void mpicheck_comm_hold(mpicheck_comm *comm);
void mpicheck_comm_release(mpicheck_comm *comm);

/* The judge permits the collective with this number and all before it. */
void mpicheck_comm_grant(uint64_t id, uint64_t sequence);

/* The world rank of a point-to-point peer; -1 for MPI_ANY_SOURCE and for ranks out of range. */
int mpicheck_comm_world(const mpicheck_comm *comm, int peer);

/* Mixes two words into one, for ids. */
uint64_t mpicheck_comm_mix(uint64_t a, uint64_t b);

#endif
