#!/bin/bash
# Collectives and messages for a long time: memory, descriptors, threads and what is allocated stay flat.  soak.sh [COUNT]
# COUNT collectives in all (default 1500; make check-soak: 100000), assigned to the designs, by Tutti's own programs, by
# programs that attach (over all ranks and over a group), and by trainings, on two ranks under mpirun: in two stages, with
# divided layers, with a server (sync and elastic), of replicas that average their weights with their neighbours, or in pairs, with
# codes of gradients. Without COUNT all but the first run with a design each.
set -u
total=${1:-1500}
round=450 # ten points of a step of 35 collectives and 10 messages
mapfile -t designs < <("${TUTTI_BUILDDIR:?}/apps/tutti-info" --list designs)
modes=(own)
more=(attach stages split servers elastic gossip pairs onebit powersgd)
soak=${TUTTI_BUILDDIR:?}/tests/soak/soak
export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1
failed=0
[ $# = 0 ] || modes+=("${more[@]}") more=()
each=$(((total / (${#modes[@]} * ${#designs[@]}) + round - 1) / round * round))
soaks() { # MODE DESIGN
    "$MPIRUN" -np 2 "$soak" "$1" "$2" $each || { echo "FAILED: $1, $2: status $?"; failed=1; }
}
for mode in "${modes[@]}"; do
    for design in "${designs[@]}"; do soaks "$mode" "$design"; done
done
for i in "${!more[@]}"; do soaks "${more[i]}" "${designs[i % ${#designs[@]}]}"; done
exit $failed
