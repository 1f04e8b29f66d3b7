#!/bin/bash
# A rank that computes, reads or has not come to it yet is waited for, however long, and named; one that is gone, or a wait
# that nobody can end, is a stall. A program that never makes the call in which its design works is told which.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/late
slow=${TUTTI_TEST_SLOWDOWN:-1}
# Seconds. A rank that does not answer within half of the first does not answer: a loaded machine needs a while for that.
warn=$((2 * slow)) dump=$((3 * slow)) abort=$((5 * slow)) late=$((6 * slow))
limits=(TUTTI_STALL_WARN=$warn TUTTI_STALL_DUMP=$dump TUTTI_STALL_ABORT=$abort "TUTTI_STALL_DIR=$dir")

runs() { # STATUS DESIGN CASE [RANKS: 2]
    local status=0
    env "${limits[@]}" timeout $((20 * abort)) "$mpirun" -np "${4:-2}" "$program" "$2" "$3" $late > "$dir/out" 2>&1 || status=$?
    [ $status = "$1" ] || { fail "$2, $3: status $status instead of $1"; cat "$dir/out"; }
}
says() { # PATTERN
    grep -q -e "$1" "$dir/out" || { fail "nobody says: $1"; cat "$dir/out"; }
}
says_not() { # PATTERN
    ! grep -q -e "$1" "$dir/out" || { fail "somebody says: $1"; cat "$dir/out"; }
}

"$mpirun" -np 1 "$program" funneled code 0 > "$dir/out" 2>&1 # StarPU measures the machine once; two at a time meet in its files
for design in funneled chained; do
    runs 0 $design code
    says 'rank 0: warning: has waited .* for collective #2 "allreduce": rank 1 has not submitted it: .*it is in its own code, for'
    says 'it is late, not stuck'
    says_not 'stall report\|error\|all ranks end'
done
runs 0 sequential code # which hears nothing meanwhile
says 'rank 1 does not answer.*, because it receives messages only while its program waits in Tutti: its program is in its own code, and late'
says_not 'stall report\|error\|all ranks end'
runs 0 funneled task
says 'rank 1 has not reached it; blocked by a task of the program on the same data'
says_not 'stall report\|error\|all ranks end'
runs 1 funneled held # the deadline is the wait's own
says 'rank [01]: timeout'
says_not 'all ranks end'
# Each sends what it has to receive first: no task is in the way, so nothing can end this.
for design in funneled chained; do
    runs 1 $design ring
    says 'rank [01] has not reached it; blocked by collective "message" of a group or an edge, posted'
    says 'the stall limit: all ranks end'
    says_not 'late, not stuck'
done
mkdir "$dir/aside"
( # beside the next ones: they only wait
    dir=$dir/aside
    limits+=("TUTTI_STALL_ABORT=$((3 * abort))") # what they say comes after 5 s of passes
    runs 1 funneled gone # who has left in order has nothing in flight, and says no more
    says 'rank 1: warning: rank 0 did not leave within 3 s'
    says 'rank 1 has left, but rank 0 waits'
    says_not 'rank 0: warning: .* within 5 s'
    runs 1 funneled unheard 3 # what was sent on an edge that its receiver has not opened is received after a failure
    says 'rank 2 has left, but rank 1 waits for one more collective of all ranks with it'
    says_not 'have not ended on all ranks\|did not leave'
) &
aside=$!
runs 1 funneled away 3 # who has left cannot end it either
says 'rank [01] has not reached it; blocked by collective "message" of a group or an edge, posted'
says 'the stall limit: all ranks end'
stall=("${limits[@]}")
limits+=("TUTTI_STALL_ABORT=$((3 * abort))")
runs 1 funneled left
says 'rank 1 has left, but rank 0 waits for one more collective of all ranks with it'
says 'rank 0: comm'
limits=("${stall[@]}")
for design in funneled chained; do
    late=$((6 + 3 * slow)) runs 0 $design part 3 # a rank that did its part before it left is not missed
    says_not 'has left\|stall report\|error\|all ranks end'
done
wait $aside

# Without tutti_wait nothing happens, and there is nothing that could end it.
env "${limits[@]}" "$mpirun" -np 2 "$program" sequential acquire $late > "$dir/out" 2>&1 &
run=$!
for _ in {1..300}; do
    [ "$(grep -c 'runs collectives inside tutti_wait' "$dir/out")" -ge 4 ] && break
    sleep 0.1
done
kill -0 $run || fail 'acquire: has ended'
kill -TERM $run
wait $run
for rank in 0 1; do
    says "rank $rank: warning: design sequential runs collectives inside tutti_wait; the program has not called it for .* s while 1 collective is ready"
done

# A data set that is slow on one rank.
make_cifar "$dir/data"
disk=$TUTTI_BUILDDIR/tests/programs/.libs/slow_read.so
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0" # the slow disk is loaded before it
for design in funneled sequential; do
    status=0
    "$mpirun" -np 2 env LD_PRELOAD="$disk" SLOW_READ_RANK=1 SLOW_READ_BYTES=3073 SLOW_READ_AT=40 SLOW_READ_S=$((late + 3 * slow)) \
        "$apps/tutti-cifar" --data "$dir/data" --model mlp --batch 4 --lr 0.001 --steps 20 --quiet --design $design \
        --stall-warn $warn --stall-dump $dump --stall-abort $abort --stall-dir "$dir" > "$dir/out" 2>&1 || status=$?
    [ $status = 0 ] || { fail "a slow data set, $design: status $status"; cat "$dir/out"; }
    says "rank 1 .*it waits for a batch of 'train' (format cifar10), for .* s so far; it is late, not stuck"
    says_not 'stall report\|error\|all ranks end'
done
finish
