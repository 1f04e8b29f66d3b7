#!/bin/bash
# Runs MPI programs of right and wrong calls under libtutti-mpicheck and counts:
#   run.sh [-e EVERY] [-o OFFSET] [-j JOBS] [PATTERN]
# EVERY: one case in so many, from OFFSET on (default 1 and 0: all); PATTERN: a regular expression on
# PROGRAM/NAME, for example programs/ or /ibcast_.
# A right program has to end with 0 and without a word of the checker; a wrong one has to end with the checker's status
# (or as the launcher says if it dies or leaves), in time, and with a report that names what is wrong. The exit status is 1 when any does not.
set -u
build=${TUTTI_BUILDDIR:-.}
mpirun=${MPIRUN:-mpirun}
. "$(dirname "$(readlink -f "$0")")/../../apps/tools/launch.sh"
mpi=$(launch_kind "$mpirun")
launch_here "$mpi" 1000
every=1 offset=0 jobs=1
while getopts e:o:j: option; do
    case $option in e) every=$OPTARG ;; o) offset=$OPTARG ;; j) jobs=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
# Programs that poll for ever end sooner.
export TUTTI_MPICHECK_TIMEOUT=${TUTTI_MPICHECK_TIMEOUT:-5}
# In a sanitized build the preloaded library comes before the sanitizer's own.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0
pattern=${1:-.}
library=$build/.libs/libtutti-mpicheck.so
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# judge PROGRAM NAME RANKS VERDICT WORDS: a line with the outcome to $dir/results. The checker's line need not begin a line of
# the output: MPI's own errors may end without one.
judge() {
    local program=$1 name=$2 ranks=$3 verdict=$4 words=$5 status=0 outcome said=$dir/$2.out
    # Of its own: two launchers that make and remove one folder at a time are in each other's way.
    mkdir "$dir/$name"
    launch_scratch "$mpi" "$dir/$name"
    timeout -k 2 40 "$mpirun" -np "$ranks" env LD_PRELOAD="$library" "$program" "$name" \
        < /dev/null > "$said.raw" 2>&1 || status=$?
    tr -d '\000' < "$said.raw" > "$said" # Open MPI 5 ends its own words with a null byte
    if [ "$verdict" = ok ]; then
        outcome='true negative'
        if [ $status != 0 ] || grep -aq 'tutti-mpicheck: ' "$said"; then outcome='FALSE POSITIVE'; fi
    elif [ $status = 124 ]; then
        outcome='FALSE NEGATIVE'
    elif { [ $status = 86 ] || [[ $words = 'has died' || $words = 'without calling'* ]]; } && grep -a 'tutti-mpicheck: error: ' "$said" | grep -aqF -- "$words"; then
        outcome='true positive'
    elif [ $status != 0 ] && grep -aq 'tutti-mpicheck: error: ' "$said"; then
        outcome='OTHER REPORT'
    else
        outcome='FALSE NEGATIVE'
    fi
    echo "$outcome" >> "$dir/results"
    rm -rf "${dir:?}/$name" "$said.raw"
    case $outcome in
    true*) rm -f "$said" ;;
    *) echo "$outcome: $name (status $status, expected: ${words:-nothing})"; sed 's/^/    /' "$said" | head -n 12 ;;
    esac
}

number=0
for program in "$build"/tests/mpicheck/collectives "$build"/tests/mpicheck/programs; do
    [ -x "$program" ] || continue
    while read -r name ranks verdict words; do
        [[ ${program##*/}/$name =~ $pattern ]] || continue
        number=$((number + 1))
        [ $((number % every)) = $((offset % every)) ] || continue
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        judge "$program" "$name" "$ranks" "$verdict" "$words" &
    done < <("$program" --list)
done
wait
touch "$dir/results"
sort "$dir/results" | uniq -c
[ -s "$dir/results" ] && ! grep -qv '^true' "$dir/results"
