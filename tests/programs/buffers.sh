#!/bin/bash
# Remote buffers of the public header over each transport and in every design, and what wrong arguments and other ranks' mistakes
# end with; the transports of attached programs.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/buffers

runs() { # MODE: on 3 ranks
    local status=0
    "$mpirun" -np 3 "$program" "$1" > "$dir/out" 2> "$dir/err" || status=$?
    [ $status = 0 ] || { fail "$1, ${TUTTI_DESIGN:-} ${TUTTI_TRANSPORT:-}: status $status"; head -20 "$dir/out" "$dir/err"; }
}
says() { grep -qF -- "$2" "$dir/$1" || { fail "$1 does not say: $2"; head -20 "$dir/$1"; }; }

export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1
runs works
says out 'rank 1: 0 in place, 0 copied'
# Written where they belong: of 8 puts of COUNT, 2 of a group with other ranks, 1 that ends early; small ones are neither.
for design in $(names designs); do
    TUTTI_TRANSPORT=shm TUTTI_DESIGN=$design runs works
    says out 'rank 0: 16 in place, 0 copied'
    says out 'rank 1: 9 in place, 0 copied'
    says out 'rank 2: 8 in place, 0 copied'
done
TUTTI_TRANSPORT=mesh runs works
says out 'rank 1: 9 in place, 0 copied'

for transport in mpi shm; do
    TUTTI_TRANSPORT=$transport runs lengths
    for rank in 0 1; do grep -q "rank $rank: .*then mismatch" "$dir/out" || fail "$transport: rank $rank does not end with MISMATCH"; done
    says err "the ranks' messages differ (number 0 on edge 3 from rank 0 to rank 1)"
done
TUTTI_TRANSPORT=shm runs refused # over MPI, nothing can cancel the put
says out 'rank 0: mismatch, then mismatch'
says err 'tutti_register: 0 elements: must be from 1 to 4294967295'
says err 'rank 1 has ended after 0 messages on edge 3 from rank 0 to rank 1, but rank 0 starts one more'
runs refusals
says err 'tutti_put: the handle is not a buffer that tutti_register has made in this session'
says err 'tutti_register: edge 1048576: must be from 0 to'

# The other calls over these transports, and words that cannot be.
program=$TUTTI_BUILDDIR/tests/programs/groups
for transport in shm mesh; do TUTTI_TRANSPORT=$transport runs works; done
TUTTI_TRANSPORT=shm runs swapped
for rank in 0 1 2; do says out "rank $rank: mismatch, then mismatch"; done
said_by_each=yes # one rank says it, which may not be the first to end
refused() { "$mpirun" -np 2 "$apps/ring"; }
TUTTI_TRANSPORT=fast refuses 1 "TUTTI_TRANSPORT='fast': unknown transport; known: auto, mpi, nccl, shm, mesh" refused
TUTTI_TRANSPORT=shm TUTTI_ALGORITHM=mpi refuses 1 "TUTTI_TRANSPORT is shm, and the algorithm mpi is MPI's own" refused
launch_several_programs "$mpi"
refuses 1 'TUTTI_TRANSPORT is "shm" on rank 0 and "auto" on rank 1' "$mpirun" -np 1 env TUTTI_TRANSPORT=shm "$apps/ring" : -np 1 "$apps/ring"
finish
