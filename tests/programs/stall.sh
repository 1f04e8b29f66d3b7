#!/bin/bash
# A rank that stops answering ends the run on all ranks after --timeout, with the names of what did not end.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"

stalls() { # DESIGN
    local pid= status=0 started=$SECONDS
    cifar 2 --data "$dir/data" --model mlp --batch 4 --lr 0 --steps 1000000 --eval-every 0 --timeout 3 --design "$1" --json "$dir/json" &
    local run=$!
    for _ in {1..300}; do # until both are in the midst of it
        [ -s "$dir/json" ] && [ "$(grep -c '"step"' "$dir/json")" -gt 5 ] && break
        sleep 0.1
    done
    pid=$(pgrep -f "$apps/.*tutti-cifar .*--data $dir/data" | tail -n 1)
    kill -STOP "$pid"
    wait $run || status=$?
    [ $status = 1 ] || fail "$1: status $status instead of 1"
    grep -q 'within 3 s' "$dir/out" || { fail "$1: no word of the deadline"; tail -n 20 "$dir/out"; }
    [ $((SECONDS - started)) -lt 60 ] || fail "$1: took $((SECONDS - started)) s"
    pgrep -f "tutti-cifar.*$dir" > /dev/null && fail "$1: a rank was left behind"
    rm -f "$dir/json"
}

stalls funneled
stalls sequential
finish
