#!/bin/bash
# A rank that stands still: warned of, written down, named, and the end of all ranks, with nothing left behind; SIGUSR1
# prints what a rank does, which goes on. Without the inspector --timeout is the last resort.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
shared=$(mktemp -d /dev/shm/tutti-stall.XXXXXX)
trap 'rm -rf "$dir" "$shared"' EXIT
launch_segments "$mpi" "$shared"
limits=(--stall-warn 1 --stall-dump 2 --stall-abort 4 --stall-dir "$dir")
run=

# begin DESIGN OPTION...: a run without end on two ranks, until it is in the midst of it.
begin() {
    local design=$1 try
    shift
    for try in 1 2 3; do # a machine that stands still may be too slow to set up within --timeout
        rm -f "$dir/json"
        "$mpirun" -np 2 "$apps/tutti-cifar" --data "$dir/data" --model mlp --batch 4 --lr 0 --steps 1000000 --eval-every end \
            --design "$design" --json "$dir/json" --quiet "$@" > "$dir/out" 2>&1 &
        run=$!
        for _ in {1..300}; do
            [ -s "$dir/json" ] && [ "$(grep -c '"step"' "$dir/json")" -gt 5 ] && return
            kill -0 "$run" 2> /dev/null || break
            sleep 0.1
        done
        grep -q 'was not set up within' "$dir/out" || break
        echo "$design: set-up took too long (try $try)"
    done
    fail "$design: does not begin"
    cat "$dir/out"
}

# The process of the last rank.
last_rank() { pgrep -f "$apps/.*tutti-cifar .*--data $dir/data" | tail -n 1; }

# says WHAT PATTERN: the output has a line of this pattern.
says() {
    grep -q -- "$2" "$dir/out" && return
    fail "$1: nothing like \"$2\" in"
    cat "$dir/out"
}

# What the ranks have left of the memory that they shared.
orphans() { ls "$shared"; }

nothing_left() { # WHAT
    leaves_none "tutti-cifar.*$dir" "$1"
    for _ in {1..20}; do
        [ -z "$(orphans)" ] && return
        sleep 0.1
    done
    fail "$1: left in /dev/shm: $(orphans)"
}

# Every line of the file is one JSON object of the events that the manual names, in its order.
json_lines() { # FILE
    perl -ne 'BEGIN { $value = qr/(?:"(?:[^"\\\x00-\x1f]|\\["\\]|\\u[0-9a-f]{4})*"|-?\d+(?:\.\d+)?|true|false|null)/ }
        die "line $.: $_" unless /^\{"event":"(stall|rank|collective)"(?:,"\w+":$value)+\}$/;
        die "line $.: $1 is out of place" if $1 ne ($. == 1 ? "stall" : $. <= 3 ? "rank" : "collective");
        END { die "only $. lines\n" if $. < 20 }' "$1"
}

# ends WHAT SECONDS: the run ends with status 1 within so many seconds from now.
ends() {
    local status=0 started=$SECONDS
    wait "$run" || status=$?
    [ $status = 1 ] || fail "$1: status $status instead of 1"
    [ $((SECONDS - started)) -le $(($2 * ${TUTTI_TEST_SLOWDOWN:-1})) ] || fail "$1: took $((SECONDS - started)) s"
    nothing_left "$1"
}

stops() { # DESIGN OPTION...: a rank is stopped
    begin "$@" "${limits[@]}"
    kill -STOP "$(last_rank)"
    ends "$*" 12 # 4 to the limit, 5 to the end, and what mpirun needs
    says "$*" 'rank 0: warning: has waited .* for collective #'
    says "$*" 'stall report: rank 1 does not answer ([0-9.]* s ago it had completed [0-9]* collectives'
    says "$*" 'the stall limit: all ranks end'
    json_lines "$dir/tutti-stall.0.json" || fail "$*: tutti-stall.0.json"
    rm -f "$dir"/tutti-stall.*
}

answers() { # DESIGN: it is asked what it does, and goes on
    local steps
    begin "$1"
    kill -USR1 "$(last_rank)"
    sleep 0.5
    steps=$(grep -c '"step"' "$dir/json")
    for _ in {1..100}; do
        [ "$(grep -c '"step"' "$dir/json")" -gt "$steps" ] && break
        sleep 0.1
    done
    [ "$(grep -c '"step"' "$dir/json")" -gt "$steps" ] || fail "$1: does not go on after SIGUSR1"
    kill -TERM "$run"
    wait "$run"
    says "$1" 'rank 1: state: [0-9]* collectives submitted, [0-9]* ended, [0-9]* in flight; [0-9]* tasks ended'
    grep -q 'warning: has waited\|stall report' "$dir/out" && { fail "$1: a false alarm"; cat "$dir/out"; }
    nothing_left "$1"
}

if [ "$mpi" = hydra ]; then
    left_out SIGUSR1 "this MPI uses it itself"
else
    for design in $(names designs); do answers $design; done
fi
for design in funneled sequential; do stops $design; done
stops chained --algorithm mpi --verify off # in MPI's own sum, which cannot be taken back

begin funneled --timeout 3 --stall-warn 0 --stall-dump 0 --stall-abort 0
kill -STOP "$(last_rank)"
ends 'no inspector' 10
says 'no inspector' 'unfinished after 3 s'
finish
