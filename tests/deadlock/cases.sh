#!/bin/bash
# The cases of the deadlock suite before their oracles, in a table; fails when any of them disagrees with a case's name.
#
#   cases.sh [CASE...]    (README.md in this folder)
set -u
here=${TUTTI_SRCDIR:?}/tests/deadlock
oracles=${TUTTI_BUILDDIR:?}/tests/deadlock
. "$here/../../apps/tools/launch.sh"
mpi=$(launch_kind "${MPIRUN:-mpirun}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
slow=${TUTTI_TEST_SLOWDOWN:-1}
[ $# -gt 0 ] || set -- "$here"/cases/*.case
right=() wrong=() keys=() keys_wrong=()
for case in "$@"; do
    case $case in */kv_*_nok.case) keys_wrong+=("$case") ;; */kv_*) keys+=("$case") ;; *_nok.case) wrong+=("$case") ;; *) right+=("$case") ;; esac
done

# runs NAME DEADLINE_S CASE...: the cases as programs under mpirun, with verdicts in a file of that name. One that hangs
# takes its processes with it, so the rest gets new ones.
runs() {
    local file=$dir/mpi.$1 deadline=$2 ranks=4 status judged before
    case $1 in keys*) ranks=5 ;; esac
    mkdir "$dir/tmp.$1" # several mpiruns at a time would make the same folders
    launch_scratch "$mpi" "$dir/tmp.$1"
    shift 2
    : > "$file"
    while [ $# -gt 0 ]; do
        before=$(wc -l < "$file")
        "${MPIRUN:-mpirun}" -np $ranks "$oracles/oracle_mpi" "$file" "$deadline" "$@" > "$file.log" 2>&1
        status=$?
        judged=$(($(wc -l < "$file") - before))
        if [ "$judged" = 0 ]; then
            { echo "oracle_mpi ends with status $status before $1 is judged:" && tail -n 20 "$file.log"; } >> "$dir/problems"
            judged=1
        fi
        shift "$judged"
    done
}

: > "$dir/problems"
"$oracles/oracle_check" "$@" > "$dir/check" 2>> "$dir/problems"
{
    "$oracles/oracle_explore" "$@" > "$dir/explore" 2> "$dir/explore.log" ||
        grep -a oracle_explore "$dir/explore.log" >> "$dir/problems"
} &
# Those that hang only wait: several at a time.
runs 0 $((20 * slow)) ${right[@]+"${right[@]}"} &
runs keys $((20 * slow)) ${keys[@]+"${keys[@]}"} &
runs keys_wrong $((2 * slow)) ${keys_wrong[@]+"${keys_wrong[@]}"} &
for part in 1 2 3; do
    mine=()
    for ((i = part - 1; i < ${#wrong[@]}; i += 3)); do mine+=("${wrong[i]}"); done
    runs $part $slow ${mine[@]+"${mine[@]}"} &
done
wait
cat "$dir"/mpi.[0-3] "$dir/mpi.keys" "$dir/mpi.keys_wrong" > "$dir/mpi"

awk -F '\t' -v cases="$*" '
{ verdict[$1, $3] = $2; said[$1, $3] = $4 }
END {
    oracles = split("check explore mpi", names, " ")
    for (j = 1; j <= oracles; j++) printf "%-8s", names[j]
    print "case: what the checker says; what the run does"
    n = split(cases, path, " ")
    for (i = 1; i <= n; i++) {
        name = path[i]
        sub(/.*\//, "", name)
        sub(/\.case$/, "", name)
        wanted = name ~ /_nok$/ ? "nok" : "ok"
        for (j = 1; j <= oracles; j++) {
            v = verdict[name, names[j]]
            printf "%-8s", v == "" ? "-" : v
            bad += v != wanted && v != "none"
        }
        print name ": " said[name, "check"] "; " said[name, "mpi"]
    }
    print n " cases, " bad + 0 " verdicts that do not agree"
    exit bad > 0
}' "$dir/check" "$dir/explore" "$dir/mpi"
status=$?
cat "$dir/problems"
[ ! -s "$dir/problems" ] && exit $status
exit 1
