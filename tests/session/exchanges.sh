#!/bin/bash
# A session with an exchange, on 1 and 3 ranks; it ends with a close, and with a reopen that fails.
set -u
for ranks in 1 3; do
    "${MPIRUN:-mpirun}" -np $ranks "${TUTTI_BUILDDIR:?}/tests/session/exchanges" || exit 1
    CLOSES=1 "${MPIRUN:-mpirun}" -np $ranks "${TUTTI_BUILDDIR:?}/tests/session/exchanges" || exit 1
done
