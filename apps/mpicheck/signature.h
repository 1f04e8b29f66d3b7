/* Type signatures: what MPI compares when it says that two data descriptions match.
 *
 * The signature of (count, datatype) is the row of basic types that it holds, in order, gaps left out;
 * ten MPI_INT and one contiguous type of ten MPI_INT have the same one. It is kept as the length of the
 * row and a polynomial hash of it, so that rows are joined and repeated without being written down:
 * hash(a b) = hash(a) * x^length(b) + hash(b) modulo 2^61 - 1.
 *
 * Basic types of one kind and width are the same here (MPI_INT, MPI_INT32_T): no alarm where the bytes
 * are certainly right. MPI_PACKED and types that cannot be looked into match everything. */
#ifndef TUTTI_MPICHECK_SIGNATURE_H
#define TUTTI_MPICHECK_SIGNATURE_H

#include "apps/mpicheck/frame.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct mpicheck_signature {
    uint64_t elements; /* basic types in the row */
    uint64_t hash;
    uint64_t basic; /* the one basic type of the row; 0: several */
    bool anything;  /* matches everything */
} mpicheck_signature;

/* The signature of count elements of a type. [A] */
mpicheck_signature mpicheck_signature_of(int64_t count, MPI_Datatype type);
mpicheck_signature mpicheck_signature_joined(mpicheck_signature a, mpicheck_signature b);
bool mpicheck_signature_equal(mpicheck_signature a, mpicheck_signature b);
/* Whether a message of `sent` may be received as `expected`, which may be longer. [P] */
bool mpicheck_signature_receives(mpicheck_signature sent, mpicheck_signature expected);

/* "10 MPI_INT", "3 of a type of 4 MPI_DOUBLE": cut to size. [A] */
void mpicheck_signature_print(char *text, size_t size, int64_t count, MPI_Datatype type);

/* Forgets what is known of a type: its handle is about to be freed. [A] */
void mpicheck_signature_forget(MPI_Datatype type);

void mpicheck_signature_put(mpicheck_frame *frame, mpicheck_signature signature);
mpicheck_signature mpicheck_signature_get(mpicheck_frame *frame);

#endif
