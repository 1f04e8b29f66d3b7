#!/bin/bash
# A checkpoint that takes longer than --timeout is waited for by all ranks; one that cannot be saved ends them together.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
slow=$TUTTI_BUILDDIR/tests/faults/.libs/slow_disk.so
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0" # the slow disk is loaded before it
[ -e "$slow" ] || fail "$slow is not there"

run=(--data "$dir/data" --model mlp --batch 20 --lr 0.02 --steps 2 --timeout 4 --checkpoint "$dir/slow")
started=$SECONDS
"$mpirun" -np 3 env LD_PRELOAD="$slow" SLOW_DISK_S=7 "$apps/tutti-cifar" "${run[@]}" > "$dir/out" 2>&1 ||
    { fail "status $? with a slow disk"; cat "$dir/out"; }
[ $((SECONDS - started)) -ge 7 ] || fail "the disk was not slow"
[ -s "$dir/slow" ] || fail "no checkpoint"

# In an elastic run a rank dies meanwhile: the other one goes on when the checkpoint is written, and writes the next one.
LD_PRELOAD="$slow" SLOW_DISK_S=3 SLOW_DISK_ONCE=1 "$apps/tutti-run" --elastic 1:2 -n 2 --max-restarts 0 "$apps/tutti-cifar" "${run[@]}" --checkpoint "$dir/lost" > "$dir/out" 2>&1 &
pid=$!
for _ in {1..300}; do
    [ -n "$(find "$dir" -name 'lost*' ! -name '*.lock' | head -n 1)" ] && break
    sleep 0.1
done
kill -9 "$(ps -o pid= --ppid $pid --sort start_time,pid | tail -n 1)"
for _ in {1..600}; do
    grep -q '1 rank goes on' "$dir/out" && break
    sleep 0.05
done
[ -s "$dir/lost" ] || fail "the next epoch has begun while the checkpoint was still being written"
wait $pid || { fail "a rank dies while the other one saves: status $?"; cat "$dir/out"; }
grep -q '1 rank goes on' "$dir/out" || { fail "no rank was lost"; cat "$dir/out"; }

# A disk that never ends: the rank that writes is waited for until ten times --timeout, and the others go on without it and write the
# file.
LD_PRELOAD="$slow" SLOW_DISK_S=300 SLOW_DISK_RANK=0 "$apps/tutti-run" --elastic 1:3 -n 3 --max-restarts 0 "$apps/tutti-cifar" "${run[@]}" --timeout 1 --checkpoint "$dir/hangs" > "$dir/out" 2>&1 &
pid=$!
started=$SECONDS
for _ in {1..300}; do
    [ -n "$(find "$dir" -name 'hangs*' ! -name '*.lock' | head -n 1)" ] && break
    sleep 0.1
done
kill -9 "$(ps -o pid= --ppid $pid --sort start_time,pid | tail -n 1)"
wait $pid || { fail "a rank dies while a disk never ends: status $?"; cat "$dir/out"; }
[ $((SECONDS - started)) -lt 40 ] || fail "a disk that never ends: $((SECONDS - started)) s"
[ -s "$dir/hangs" ] && grep -q 'rank number 0 has ended with status 1' "$dir/out" && grep -q '1 rank goes on' "$dir/out" &&
    grep -q 'this rank cannot continue.*the others do without it' "$dir/out" || { fail "a disk that never ends, and a death"; cat "$dir/out"; }

# A signal meanwhile: the step that is being saved is not saved again, in place of FILE.1.
LD_PRELOAD="$slow" SLOW_DISK_S=1 "$apps/tutti-cifar" "${run[@]}" --steps 1000 --checkpoint-every 3 --checkpoint "$dir/once" --json "$dir/json" > "$dir/out" 2>&1 &
pid=$!
for _ in {1..300}; do
    [ -n "$(find "$dir" -name 'once*' ! -name '*.lock' | head -n 1)" ] && break
    sleep 0.1
done
kill -TERM $pid
wait $pid
[ $? = 143 ] && [ "$(grep -c '"event":"checkpoint"' "$dir/json")" = 1 ] || { fail "a signal while a checkpoint is written"; cat "$dir/out"; grep '"event":"[ci]' "$dir/json"; }

# A folder that goes away meanwhile: saving fails on rank 0, and all ranks end in order.
mkdir "$dir/folder"
cifar 2 --data "$dir/data" --model mlp --batch 20 --lr 0.02 --epochs 100000 --timeout 20 --checkpoint "$dir/folder/x" &
for _ in {1..300}; do
    [ -e "$dir/folder/x" ] && break
    sleep 0.1
done
mv "$dir/folder" "$dir/gone"
wait $!
[ $? = 1 ] || fail "no folder: not status 1"
grep -q 'checkpoint .*/folder/x' "$dir/out" || { fail "no folder: not told"; cat "$dir/out"; }
grep -q 'all ranks end' "$dir/out" && fail "no folder: one rank ended the others"

# Ten times --timeout is too long.
if [ "${TUTTI_TEST_ROUNDS:-1}" -ge 100 ]; then
    "$mpirun" -np 2 env LD_PRELOAD="$slow" SLOW_DISK_S=60 "$apps/tutti-cifar" "${run[@]}" --steps 1 --overwrite > "$dir/out" 2>&1
    [ $? = 1 ] || fail "a disk that never ends: not status 1"
    grep -q 'not written within ten times --timeout 4 s' "$dir/out" || { fail "a disk that never ends"; cat "$dir/out"; }
fi
finish
