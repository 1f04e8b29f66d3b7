#!/bin/bash
# An exchange is closed and opened again over one MPI, on 1 and 3 ranks.
set -u
for ranks in 1 3; do
    "${MPIRUN:-mpirun}" -np $ranks "${TUTTI_BUILDDIR:?}/tests/tune/reopens" || exit 1
done
