/* Type signatures: what MPI compares when it says that two data descriptions match.
 *
 * The signature of (count, datatype) is its sequence of basic types, without the gaps; ten MPI_INT
 * and one contiguous type of ten MPI_INT have the same signature. It is kept as the length of the
 * sequence and a polynomial hash, so that sequences are joined and repeated without being expanded:
 * hash(a b) = hash(a) * x^length(b) + hash(b) modulo 2^61 - 1.
 *
 * Basic types of one kind and width count as equal (MPI_INT, MPI_INT32_T): no alarm where the bytes
 * are certainly right. MPI_PACKED and types that cannot be inspected match everything. */
#ifndef TUTTI_MPICHECK_SIGNATURE_H
#define TUTTI_MPICHECK_SIGNATURE_H

#include "apps/mpicheck/frame.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct mpicheck_signature {
    uint64_t elements; /* length of the sequence */
    uint64_t hash;
    uint64_t basic; /* the only basic type of the sequence; 0: several */
    bool anything;  /* matches everything */
} mpicheck_signature;

/* The signature of count elements of a type. [A] */
mpicheck_signature mpicheck_signature_of(int64_t count, MPI_Datatype type);
mpicheck_signature mpicheck_signature_joined(mpicheck_signature a, mpicheck_signature b);
bool mpicheck_signature_equal(mpicheck_signature a, mpicheck_signature b);
/* Whether a message of `sent` may be received as `expected`, which may be longer. [P] */
bool mpicheck_signature_receives(mpicheck_signature sent, mpicheck_signature expected);

/* "10 MPI_INT", "3 of a type of 4 MPI_DOUBLE", truncated to size. [A] */
void mpicheck_signature_print(char *text, size_t size, int64_t count, MPI_Datatype type);

/* Forgets a type: its handle is about to be freed. [A] */
void mpicheck_signature_forget(MPI_Datatype type);

void mpicheck_signature_put(mpicheck_frame *frame, mpicheck_signature signature);
mpicheck_signature mpicheck_signature_get(mpicheck_frame *frame);

#endif
