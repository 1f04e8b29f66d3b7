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
# Sums of every algorithm are right; what a rank sends is what the algorithm says: of S bytes on 3 ranks a ring sends 4/3.
"$mpirun" -np 3 "$apps/tutti-bench" allreduce --algorithm all --from 12000 --to 12000 --lanes 2 --blocks 1 --block-s 0.001 \
    --link-mbit 1000 --json "$dir/json" > "$dir/out" 2>&1 || { fail "tutti-bench allreduce: status $?"; cat "$dir/out"; }
grep -q '"algorithm":"ring".*"sent_bytes":16000,"sent_messages":4' "$dir/json" || { fail "what a ring sends"; cat "$dir/json"; }
grep -q '"algorithm":"recursive-doubling"' "$dir/json" && grep -q '"algorithm":"mpi"' "$dir/json" || fail "an algorithm is missing"

# MPI itself counts the same: rounds of 2(P-1)/P of the payload, and little else; where this Open MPI can count.
"$mpirun" -np 4 --mca pml ob1,monitoring --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
    --mca pml_monitoring_filename "$dir/sent" "$apps/tutti-bench" allreduce --algorithm ring --from 1048576 --to 1048576 --blocks 1 \
    --block-s 0.001 > "$dir/out" 2>&1
if [ -s "$dir/sent.0.prof" ]; then
    awk '$1 == "E" && $2 == 0 && $3 == 1 { sent = $4; rounds = int(sent / 1572864) }
        END { exit !(rounds >= 3 && sent - rounds * 1572864 < 1000) }' "$dir/sent.0.prof" ||
        { fail "what a ring sends, as MPI counts it"; cat "$dir/sent.0.prof"; }
fi

# Overlap of an allreduce and computation; a rank by itself is refused.
"$mpirun" -np 2 "$apps/tutti-bench" overlap --from 65536 --to 65536 --blocks 2 --json "$dir/json" > "$dir/out" 2>&1 ||
    { fail "tutti-bench overlap: status $?"; cat "$dir/out"; }
grep -q '"event":"overlap","design":"funneled".*"overlap_pct"' "$dir/json" || fail "overlap tells nothing"
"$apps/tutti-bench" overlap > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 'nothing to sum' "$dir/out" || fail "overlap of one rank: $(cat "$dir/out")"

# Manners: each number has a limit and a verdict, whatever it is on this machine. The communication thread is where it was asked to be.
"$mpirun" -np 2 "$apps/tutti-bench" manners --workers "$(nproc)" --blocks 1 --calls 10 --idle-s 0.1 --step-ms 1 --steps 2 --json "$dir/json" > "$dir/out" 2>&1 ||
    { fail "tutti-bench manners: status $?"; cat "$dir/out"; }
[ "$(grep -c '"event":"manners".*"limit".*"ok":\(true\|false\)' "$dir/json")" = 7 ] || { fail "numbers of manners"; cat "$dir/json"; }
[ "$(grep -c 'at most .* \(ok\|MISSES\)$' "$dir/out")" = 7 ] || { fail "verdicts of manners"; cat "$dir/out"; }
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
TUTTI_COMM_CORE=$cpu trains 2 --data synthetic --model mlp --batch 2 --steps 2
grep -q '"event":"start".*"comm_core":'"$cpu," "$dir/json" || { fail "--comm-core $cpu"; cat "$dir/json"; }
trains 2 --data synthetic --model mlp --batch 2 --steps 2 --comm-core none
grep -q '"event":"start".*"comm_core":-1,' "$dir/json" || { fail "--comm-core none"; cat "$dir/json"; }

# Steps: designs agree on the weights, the peer is timed in turns, results are read back, judged and drawn.
"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --link-mbit 1000 --peer "$dir/peer" \
    --json "$dir/grid" > "$dir/out" 2>&1 || { fail "tutti-bench step: status $?"; cat "$dir/out"; }
for text in 'verified: after 6 steps 3 designs on 2 ranks' 'computation alone' 'communication alone' funneled concurrent chained; do
    grep -q -- "$text" "$dir/out" || fail "tutti-bench step does not tell: $text"
done
"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --peer none --design auto --tuning-time 1 \
    --json "$dir/auto" > "$dir/out" 2>&1 || { fail "tutti-bench step --design auto: status $?"; cat "$dir/out"; }
grep -q '"name":"auto".*"chosen":"--design .*"over_best":[0-9]' "$dir/auto" || fail "no choice in --json: $(cat "$dir/auto")"
"$apps/tutti-bench" step --grid --verdict --json "$dir/auto" | grep -q 'auto / best fixed choice, mlp b2' || fail "no verdict of the choice"
grep -q '"kind":"peer".*"step_ms":1000.0' "$dir/grid" || fail "no peer in --json"
grep -q '"name":"funneled".*"sent_bytes":7364648' "$dir/grid" || fail "what a rank sends: $(cat "$dir/grid")"
"$apps/tutti-bench" step --grid --verdict --json "$dir/grid" > "$dir/out" 2>&1 || fail "--verdict: status $?"
grep -q 'step / peer, geometric mean over 1 cells' "$dir/out" || { fail "--verdict tells no mean"; cat "$dir/out"; }
limit=$(sed -n '1s/.*"limit_ms":\([0-9.]*\).*/\1/p' "$dir/grid")
grep -q "limit / peer, geometric mean: $(awk -v l="$limit" 'BEGIN { printf "%.3f", l / 1000 }') " "$dir/out" ||
    { fail "--verdict tells no bound of the mean"; cat "$dir/out"; }
"$apps/tutti-bench" step --grid --verdict --json "$dir/nowhere" > "$dir/out" 2>&1 && fail "--verdict of a file that is not there"
grep -q 'json .*nowhere: cannot be read' "$dir/out" || { fail "--verdict does not say what it cannot read"; cat "$dir/out"; }
# Cells that have results are not run again: no box is asked for.
"$apps/tutti-bench" step --grid --json "$dir/grid" --models mlp:2 --hosts 2 --rates 1000 --box /nonexistent > "$dir/out" 2>&1 ||
    { fail "a grid that is complete: status $?"; cat "$dir/out"; }
"$apps/tutti-bench" step --grid --json "$dir/grid" --models mlp:3 --hosts 2 --rates 1000 --box /nonexistent > "$dir/out" 2>&1
[ $? = 1 ] && grep -q '1 of 1 cells could not be run' "$dir/out" || fail "a cell that cannot be run"
"$apps/tutti-bench" plot --json "$dir/grid" --svg "$dir/svg" || fail "plot: status $?"
grep -q '>mlp, batch 2, 2 hosts<' "$dir/svg" && grep -q '</svg>' "$dir/svg" || fail "the picture of plot"
# The picture in the README is that of the results beside it.
"$apps/tutti-bench" plot --json "$TUTTI_SRCDIR/doc/grid.jsonl" --svg "$dir/svg" && cmp "$dir/svg" "$TUTTI_SRCDIR/doc/grid.svg" ||
    fail "doc/grid.svg is not what plot makes of doc/grid.jsonl"
echo '{"event":' > "$dir/bad"
"$apps/tutti-bench" plot --json "$dir/bad" --svg "$dir/svg" 2> "$dir/out"
[ $? = 1 ] && grep -q 'bad:1: this is not JSON' "$dir/out" || fail "results that are none"

"$apps/tutti-bench" nothing 2> "$dir/out"
[ $? = 2 ] && grep -q 'known are: compute' "$dir/out" || fail "an unknown command"
"$apps/tutti-bench" compute --blocks 0 2> "$dir/out"
[ $? = 2 ] && grep -q -- '--blocks 0' "$dir/out" || fail "a bad option of a command"
"$apps/tutti-info" --nothing 2> "$dir/out"
[ $? = 2 ] && grep -q 'no such option' "$dir/out" || fail "a bad option of tutti-info"
finish
