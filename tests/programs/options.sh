#!/bin/bash
# Every option of every program that takes a number, as its --help tells: what is none, or beyond the range, is refused with
# a sentence that names the option and the value. No number stands for a word. So do the variables of libtutti.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0" # the checker is loaded before the sanitizer

# Options with a range in --help, as "--steps" in a line each.
ranged() { # COMMAND...
    "$@" --help all | awk '
        /^  --/ { if (text ~ /\([0-9.e+-]+ to /) print name; name = $1; text = "" }
        { text = text " " $0; gsub(/ +/, " ", text) }
        END { if (text ~ /\([0-9.e+-]+ to /) print name }'
}

checks() { # LEAST COMMAND...
    local least=$1 count=0 option
    shift
    for option in $(ranged "$@"); do
        for value in -1 nan 1x ''; do refuses 2 "$option ${value:-\"\"}: must be a" timeout 20 "$@" "$option=$value"; done
        count=$((count + 1))
    done
    [ $count -ge "$least" ] || fail "$* has only $count options with a range"
}
checks 4 "$apps/tutti-bench" compute
checks 6 "$apps/tutti-bench" allreduce
checks 6 "$apps/tutti-bench" channel
checks 5 "$apps/tutti-bench" overlap
checks 10 "$apps/tutti-bench" step
checks 5 "$apps/tutti-bench" step --grid
checks 5 "$apps/tutti-bench" pipeline
checks 7 "$apps/tutti-bench" kv
checks 8 "$apps/tutti-bench" strategies
checks 6 "$apps/tutti-bench" interference
checks 5 "$apps/tutti-bench" svm
checks 2 "$apps/tutti-doctor"
checks 1 "$apps/tutti-trace"
checks 1 "$apps/tutti-trees"
checks 1 "$apps/tutti-predict"
checks 4 "$apps/tutti-pack"
checks 12 "$apps/tutti-svm" train
checks 10 "$apps/tutti-svm" cv

# The variables of a program that attaches.
variable() { # NAME=VALUE TEXT
    local status=0
    env "$1" timeout 60 "$mpirun" -np 1 "$TUTTI_BUILDDIR/tests/programs/mismatch" funneled on auto same > "$dir/out" 2>&1 || status=$?
    [ $status != 0 ] || fail "$1 is accepted"
    grep -qF -e "${1%%=*}='${1#*=}': $2" "$dir/out" || { fail "$1: no sentence"; cat "$dir/out"; }
}
variable TUTTI_STALL_WARN=nan 'must be a number from 0 to 1000000'
variable TUTTI_STALL_DUMP=5x 'must be a number from 0 to 1000000'
variable TUTTI_STALL_ABORT= 'must be a number from 0 to 1000000'
variable TUTTI_STALL_ABORT=-1 'must be a number from 0 to 1000000'
variable TUTTI_LANES=0 'must be an integer from 1 to 1024 or auto'
variable 'TUTTI_LANES= 4' 'must be an integer from 1 to 1024 or auto'

# That of libtutti-mpicheck.
library=$TUTTI_BUILDDIR/.libs/libtutti-mpicheck.so
for wrong in -1 nan 5x ''; do
    timeout 60 "$mpirun" -np 1 env LD_PRELOAD="$library" TUTTI_MPICHECK_TIMEOUT="$wrong" "$apps/tutti-info" > "$dir/out" 2>&1 &&
        fail "TUTTI_MPICHECK_TIMEOUT='$wrong' is accepted"
    grep -qF "TUTTI_MPICHECK_TIMEOUT='$wrong': must be seconds from 0" "$dir/out" || { fail "TUTTI_MPICHECK_TIMEOUT='$wrong': no sentence"; cat "$dir/out"; }
done
TUTTI_LANES=auto "$mpirun" -np 1 "$TUTTI_BUILDDIR/tests/programs/mismatch" concurrent on auto same > "$dir/out" 2>&1 ||
    { fail "TUTTI_LANES=auto: status $?"; cat "$dir/out"; }
finish
