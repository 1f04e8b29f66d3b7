#!/bin/bash
# Runs failed tests once more, and names them:   again.sh BUILD [TESTS]
# Only what says nothing of Tutti is run again: a test in which Open MPI's launcher stood still after its last rank had ended
# (see guard), so that its status is lost; and up to two scripts that start ranks and have limits in seconds, because the
# machine may stand still for longer than they allow. Any other failure stays one, and so does any test whose log tells of a data
# race, an error of memory, a crash, other weights or another checkpoint: time is no reason for these.
# Exit status: 0 when all that failed has passed now.
set -uo pipefail
build=$1 tests=${2:-}
timed='^tests/(programs|faults|box|tools|example|trace|device)/.*\.sh$'
hash='[0-9a-f]{16}' # two in a failure's sentence: of the weights that a run has, and of those that it should have
wrong="Sanitizer|runtime error:|signal (6|8|11)|Segmentation|instead of $hash|checkpoints? differ"
wrong+="|^FAILED: (.*[^0-9a-f])?$hash[^0-9a-f](.*[^0-9a-f])?$hash([^0-9a-f]|\$)|^(weights )?$hash, not (weights )?$hash"
wrong+='|^FAILED: .*(other weights|(not the|another) checkpoint|another best one)|(^|[^0-9])[1-9][0-9]* (wrong|collisions)|weights are wrong'
failed_once=() late=0
while read -r trs; do
    grep -q '^:test-result: \(FAIL\|ERROR\)' "$trs" || continue
    name=${trs#"$build/"} name=${name%.trs}
    if line=$(grep -aE -m 1 -- "$wrong" "${trs%.trs}.log"); then
        echo "$name is not run again, as no delay explains this: $line"
        exit 1
    fi
    if ! grep -q '^guard: .* a launcher, stands still after' "${trs%.trs}.log"; then
        [[ $name =~ $timed ]] && [ $((late += 1)) -le 2 ] || exit 1
    fi
    failed_once+=("$name")
    echo "---- $name, at first" && tail -n 60 "${trs%.trs}.log"
done < <(find "$build/tests" -name '*.trs' | sort)
[ ${#failed_once[@]} -gt 0 ] || exit 1 # not a test's fault
make -s -C "$build" recheck ${tests:+TESTS="$tests"} check_PROGRAMS="$(make -s -C "$build" list-programs only="${failed_once[*]}")" || exit 1
echo "passed at the second try only: ${failed_once[*]}"
