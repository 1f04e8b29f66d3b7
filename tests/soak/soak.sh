#!/bin/bash
# Collectives and messages for a long time: memory, descriptors, threads and what is allocated stay flat.  soak.sh [COUNT]
# COUNT collectives in all (default 2000; make check-soak: 100000), dealt to the designs, by Tutti's own programs, by
# programs that attach (over all ranks and over a group), and by trainings in two stages and with divided layers, on two ranks
# under mpirun.
set -u
total=${1:-2000}
round=450 # ten points of a step of 35 collectives and 10 messages
mapfile -t designs < <("${TUTTI_BUILDDIR:?}/apps/tutti-info" --list designs)
modes=(own attach stages split)
each=$(((total / (${#modes[@]} * ${#designs[@]}) + round - 1) / round * round))
soak=${TUTTI_BUILDDIR:?}/tests/soak/soak
export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1
failed=0
for mode in "${modes[@]}"; do
    for design in "${designs[@]}"; do
        "$MPIRUN" -np 2 "$soak" $mode $design $each || { echo "FAILED: $mode, $design: status $?"; failed=1; }
    done
done
exit $failed
