#!/bin/bash
# The counterexample that spin has just found, as a case that can be replayed: trail.sh MODEL VERDICT OPTION...
# Runs in the folder of the search. The order in which each rank's workers called the collectives is what its tensors'
# readiness is in the case; those that were never called come last.
set -eu
model=$1 verdict=$2
shift 2
P=3 K=4 W=2 LANES=1
for option in "$@"; do eval "$option"; done
case $verdict in
deadlock) reason=workers sentence="every worker waits in a collective for which no other rank has a free worker" ;;
sum) reason=order sentence="one communicator, equal counts, called in different orders: both sums are wrong and nobody is told" ;;
esac
cat << END
# Found by spin in tests/models/promela/$model.pml with $*
diagnosis $sentence
design $model
ranks $P
workers $W
lanes $LANES
verdict nok $reason
END
./pan -r -n 2> /dev/null | awk -v P="$P" -v K="$K" '
$1 == "ready" && NF == 3 { order[$2] = order[$2] " " substr("abcdefgh", $3 + 1, 1) }
END {
    for (k = 1; k <= K; k++) print "allreduce " substr("abcdefgh", k, 1) " 10"
    for (p = 0; p < P; p++) {
        for (k = 1; k <= K; k++) {
            name = substr("abcdefgh", k, 1)
            if (index(order[p], name) == 0) order[p] = order[p] " " name
        }
        print "ready " p ":" order[p]
        if (order[p] == "") exit 1
    }
}'
