#!/bin/bash
# Checks the designs' models with spin: check.sh [quick | full | mutants]
#
# quick (or nothing): the quick and small rows of models.txt; mutants: the rows of mutants.txt; full: all rows of both. Every search is
# exhaustive: a depth that was too small, memory that ran out or a lossy search is a failure, and so is a mutant that is not
# caught. Where a row of the naive model names a case, its counterexample is compared with tests/deadlock/cases.
# Exit: 0; 1 for a failure; 77 where spin or gcc is not installed.
set -u
what=${1:-quick}
case $what in quick | full | mutants) ;; *) echo "check.sh [quick | full | mutants]"; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
cases=$here/../../deadlock/cases
depth=10000
for tool in spin gcc; do
    command -v $tool > /dev/null || { echo "skipped: the models are checked by spin and gcc; install the package $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0 verified=0 found=0 mutants=0 caught=0 states=0

fail() { # SENTENCE...
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# search MODEL FLAGS OPTION...: one exhaustive search in $dir/run, compiled with FLAGS; sets verdict (ok, sum, deadlock, or what went wrong),
# stored (states) and seconds.
search() {
    local model=$1 flags=$2 define=() option start
    shift 2
    for option in "$@"; do define+=("-D$option"); done
    rm -rf "$dir/run"
    mkdir "$dir/run"
    cp "$here"/*.pml "$dir/run"
    cd "$dir/run" || exit 1
    verdict="not compiled" stored=0 seconds=0
    spin "${define[@]}" -a "$model.pml" > spin.log 2>&1 || { cat spin.log; return; }
    gcc $flags -w -DSAFETY -DNOFAIR -DMEMLIM=8000 -o pan pan.c || return
    start=$(date +%s.%N)
    ./pan -n -b -m$depth > pan.log 2>&1
    seconds=$(date +%s.%N | awk -v start="$start" '{ printf "%.1f", $1 - start }')
    stored=$(awk '/states, stored/ { print $1 + 0 }' pan.log)
    if grep -qE 'max search depth too small|search not completed|out of memory|reached -DMEMLIM|Bit statespace|hash-compact' pan.log; then
        grep -q 'errors: 0' pan.log && verdict=incomplete
    fi
    case $(cat pan.log) in
    *"invalid end state"*"(at depth"*) verdict=deadlock ;;
    *"assertion violated"*) verdict=sum ;;
    *"errors: 0"*) [ "$verdict" = incomplete ] || verdict=ok ;;
    *) cat pan.log ;;
    esac
}

check_model() { # MODEL VERDICT CASE OPTION...
    local model=$1 wanted=$2 case=$3
    shift 3
    search "$model" "$compile" "$@"
    printf '%-11s %-24s %10s states %6s s  %s\n' "$model" "$*" "$stored" "$seconds" "$verdict"
    [ "$verdict" = "$wanted" ] || { fail "$model $*: $verdict, not $wanted"; return; }
    if [ "$wanted" = ok ]; then verified=$((verified + 1)); else found=$((found + 1)); fi
    states=$((states + stored))
    [ -z "$case" ] && return
    bash "$here/trail.sh" "$model" "$verdict" "$@" > "$dir/case" || { fail "$model $*: no case from the trail"; return; }
    diff -u "$cases/$case" "$dir/case" || fail "$cases/$case is not the counterexample that spin finds"
}

check_mutant() { # MUTANT MODEL KIND OPTION...
    local mutant=$1 model=$2 wanted=$3
    shift 3
    mutants=$((mutants + 1))
    search "$model" -O1 "$@" "MUTANT_$mutant"
    printf '%-22s %-11s %-14s %s\n' "$mutant" "$model" "$*" "$verdict"
    case $wanted/$verdict in
    any/sum | any/deadlock | sum/sum | deadlock/deadlock) caught=$((caught + 1)) ;;
    *) fail "mutant $mutant of $model: $verdict, not $wanted" ;;
    esac
}

models() { # of the table
    local when model words word options wanted case
    while read -r when model words; do
        case $when in
        '#'* | '') continue ;;
        quick) compile=-O1 ;; # compiled as fast as it runs; at most 1 GB
        small) compile=-O0 ;; # compiling by -O1 takes three times as long, and longer than all of the search
        full) [ $what = full ] || continue; compile="-O2 -DCOLLAPSE" ;; # exact as well, in a third of the memory
        esac
        options=() wanted='' case=''
        for word in $words; do
            case $word in
            *.case) case=$word ;;
            ok | sum | deadlock) wanted=$word ;;
            *) options+=("$word") ;;
            esac
        done
        check_model "$model" "$wanted" "$case" "${options[@]}"
    done < "$here/models.txt"
    echo "$verified models verified, $found counterexamples found, $states states, $SECONDS s"
}

mutants() { # of the table
    local mutant model words word options
    while read -r mutant model words; do
        case $mutant in '#'* | '') continue ;; esac
        options=()
        for word in $words; do
            case $word in *=*) options+=("$word") ;; *) break ;; esac
        done
        check_mutant "$mutant" "$model" "$word" "${options[@]}"
    done < "$here/mutants.txt"
    echo "mutants caught: $caught of $mutants"
}

[ $what = mutants ] || models
[ $what = quick ] || mutants
[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
