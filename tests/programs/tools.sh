#!/bin/bash
# tutti-info tells all tables; tutti-bench compute verifies, times and compares with a peer; both refuse bad options.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

"$mpirun" -np 1 "$apps/tutti-info" > "$dir/out" || fail "tutti-info: status $?"
for word in Tutti StarPU MPI_THREAD_ funneled concurrent chained sequential mpi ring recursive-doubling conv_bwd_data \
    resnet110 cifar100 idx jpeg onecycle inline; do
    grep -qw -- "$word" "$dir/out" || grep -q -- "$word" "$dir/out" || fail "tutti-info does not tell of $word"
done

# A peer that says what torch_compute.py says.
cat > "$dir/peer" << 'END'
#!/bin/sh
echo '{"event": "ready", "model": "mlp"}'
while read -r line; do echo '{"event": "block", "step_ms": 1000.0}'; done
END
chmod +x "$dir/peer"
"$apps/tutti-bench" compute --model mlp --batch 4 --steps 2 --blocks 2 --peer "$dir/peer" --json "$dir/json" > "$dir/out" 2>&1 ||
    { fail "tutti-bench: status $?"; cat "$dir/out"; }
for text in 'verified: after 3 steps' 'plain loop' 'StarPU graph' 'cost of the graph' 'times as fast as the peer' dense_bwd_data; do
    grep -q -- "$text" "$dir/out" || fail "tutti-bench does not tell: $text"
done
grep -q '"event":"series","name":"plain loop","unit":"images/s"' "$dir/json" || fail "no series in --json"
"$apps/tutti-bench" compute --model mlp --batch 4 --steps 1 --blocks 1 --peer 'echo; false' > "$dir/out" 2>&1
[ $? = 1 ] && grep -q 'the peer program said' "$dir/out" || fail "a peer that does not answer"
"$apps/tutti-bench" nothing 2> "$dir/out"
[ $? = 2 ] && grep -q 'known are: compute' "$dir/out" || fail "an unknown command"
"$apps/tutti-bench" compute --blocks 0 2> "$dir/out"
[ $? = 2 ] && grep -q -- '--blocks 0' "$dir/out" || fail "a bad option of a command"
"$apps/tutti-info" --nothing 2> "$dir/out"
[ $? = 2 ] && grep -q 'no such option' "$dir/out" || fail "a bad option of tutti-info"
finish
