#!/bin/bash
# tutti-doctor as a program: alone and under mpirun, its exit status, a machine of another's making, and its deadline.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
doctor=$apps/tutti-doctor

# A machine with nothing to complain about, whatever this one is like.
good=$dir/good
mkdir -p "$good/proc/self" "$good/proc/net" "$good/sys/devices/system/cpu"
printf 'Cpus_allowed_list:\t0-15\n' > "$good/proc/self/status"
echo 0-15 > "$good/sys/devices/system/cpu/online"
echo '0.10 0.10 0.10 1/100 100' > "$good/proc/loadavg"

tells() { # STATUS WORDS COMMAND...: the command ends with the status and tells the words
    local status=$1 words=$2 got
    shift 2
    "$@" > "$dir/out" 2>&1
    got=$?
    [ $got = "$status" ] && grep -q -- "$words" "$dir/out" && return
    fail "$*: status $got, not $status, or without: $words"
    cat "$dir/out"
}

tells 0 '1 rank on 1 host:' "$doctor" --root "$good"
for check in mpi starpu workers buffers starpu-home binding yielding cores quota load instructions network shm files memlock root \
    threads sharing; do
    grep -q "^[a-z]*  *$check " "$dir/out" || fail "no line about $check"
done
tells 0 '2 ranks on 1 host:' "$mpirun" -np 2 "$doctor" --root "$good"
grep -q 'MPI_THREAD_[A-Z]* is granted' "$dir/out" || fail "no word of the thread level"

# Warnings count with --strict only; bad findings always.
cp -r "$good" "$dir/busy"
echo '99.0 99.0 99.0 1/100 100' > "$dir/busy/proc/loadavg"
tells 0 '^warn  load ' "$doctor" --root "$dir/busy"
tells 1 '^warn  load ' "$doctor" --root "$dir/busy" --strict
tells 2 '^bad   workers ' "$doctor" --root "$good" --workers 1024
tells 2 'no such option' "$doctor" --nothing
tells 0 '^note  instructions  *AVX2: --precision bf16 is refused' env DNNL_MAX_CPU_ISA=AVX2 "$doctor" --root "$good"

# Two ranks on one core.
cp -r "$good" "$dir/bound"
printf 'Cpus_allowed_list:\t3\n' > "$dir/bound/proc/self/status"
tells 2 '^bad   sharing .*2 ranks on host .* may run on 1 core only' "$mpirun" -np 2 "$doctor" --root "$dir/bound"

# Ranks that differ: the line names the rank.
launch_several_programs "$mpi"
tells 0 '^warn  load  *rank 1: load 99' "$mpirun" -np 1 "$doctor" --root "$good" : -np 1 "$doctor" --root "$dir/busy"

"$mpirun" -np 2 "$doctor" --root "$good" --json > "$dir/out" 2>&1 || fail "--json: status $?"
[ "$(grep -c '^{"event":"finding","status":"[a-z]*","check":"[a-z-]*","ranks":\[0,1\],"seen":".*","advice":".*"}$' "$dir/out")" -ge 15 ] ||
    { fail "--json"; cat "$dir/out"; }
[ "$(tail -n 1 "$dir/out" | grep -c '^{"event":"summary","ranks":2,"hosts":1,"ok":[0-9]*,.*"bad":0}$')" = 1 ] || fail "no summary"

# The links between ranks of one host: its memory.
tells 0 'has the links of 1 hosts, as 2 ranks' "$mpirun" -np 2 "$doctor" --measure "$dir/here"
tells 0 '^kind .*memory [0-9.]*[MG]B/s reduce' "$apps/tutti-info" --topology "$dir/here"
tells 2 'needs two ranks at least' "$doctor" --measure "$dir/alone"
tells 2 'nowhere/here' "$mpirun" -np 2 "$doctor" --measure "$dir/nowhere/here"

# A rank that never starts MPI: the deadline, not a hang.
start=$SECONDS
tells 2 '^bad   deadline .*after 2 s still starting MPI' "$mpirun" -np 1 "$doctor" --root "$good" --timeout 2 : -np 1 sleep 30
[ $((SECONDS - start)) -lt 25 ] || fail "it took $((SECONDS - start)) s to give up"
finish
