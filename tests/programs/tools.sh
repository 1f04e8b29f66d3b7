#!/bin/bash
# tutti-info tells all tables; tutti-bench compute verifies, times and compares with a peer; both refuse bad options.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

"$mpirun" -np 1 "$apps/tutti-info" > "$dir/out" || fail "tutti-info: status $?"
for word in Tutti StarPU MPI_THREAD_ $(names designs) mpi ring recursive-doubling conv_bwd_data \
    resnet110 cifar100 idx jpeg onecycle inline; do
    grep -qw -- "$word" "$dir/out" || grep -q -- "$word" "$dir/out" || fail "tutti-info does not tell of $word"
done

# One table for scripts, without MPI: every name of it stands in the whole, too.
for table in designs overlapping transports algorithms kernels models formats rate-schedules optimizers recipes strategies codecs runners; do
    listed=$(names $table) || fail "tutti-info --list $table: status $?"
    [ -n "$listed" ] || fail "tutti-info --list $table: nothing"
    for word in $listed; do grep -q "^  $word  *" "$dir/out" || fail "--list $table tells of $word, tutti-info does not"; done
done
# What an option takes by name, a script can ask for: each choice of tutti-cifar's is in the table.
for pair in model:models format:formats rate-schedule:rate-schedules optimizer:optimizers recipe:recipes; do
    names "${pair#*:}" | tr '\n' ' ' > "$dir/listed"
    choices --"${pair%:*}" < <("$apps/tutti-cifar" --help all) > "$dir/chosen"
    diff "$dir/listed" "$dir/chosen" || fail "--list ${pair#*:} differs from what --${pair%:*} takes"
done
for table in strategies codecs; do
    for word in $(names $table); do
        grep -q -- "[ (]$word[,:;) ]" <("$apps/tutti-cifar" --help all) || fail "tutti-cifar --help does not name $word of $table"
    done
done
[ "$(names overlapping | grep -cx sequential)" = 0 ] && [ "$(names designs | grep -cx naive)" = 0 ] || fail "the oracle overlaps, or naive is safe"
"$apps/tutti-info" --list pictures > "$dir/bad" 2>&1
[ $? = 2 ] && grep -q 'known: designs, overlapping' "$dir/bad" || fail "a table that is none: $(cat "$dir/bad")"

# A peer that says what torch_compute.py says.
cat > "$dir/peer" << 'END'
#!/bin/sh
echo '{"event": "ready", "model": "mlp"}'
while read -r line; do echo '{"event": "block", "step_ms": 1000.0}'; done
END
chmod +x "$dir/peer"
"$apps/tutti-bench" compute --model mlp --batch 4 --steps 2 --blocks 2 --peer "$dir/peer" --json "$dir/json" --csv "$dir/csv" > "$dir/out" 2>&1 ||
    { fail "tutti-bench: status $?"; cat "$dir/out"; }
for text in 'verified: after 3 steps' 'plain loop' 'StarPU graph' 'cost of the graph' 'times as fast as the peer' 'dense_bwd_data .* \(flops\|bytes\) *[0-9]* %$' \
    'sgd .* bytes *[0-9]* %$' 'all .* 100.0 % .*%$' 'bound of a core: .* GFLOP/s (F32)' 'furthest from their bounds: fc'; do
    grep -q -- "$text" "$dir/out" || fail "tutti-bench does not tell: $text"
done
grep -q '"event":"series","name":"plain loop","unit":"images/s"' "$dir/json" || fail "no series in --json"
# Shares of bounds: of every op that the table shows, of every node; one sample a repeat.
[ "$(grep -c '"event":"op".*"kind":"\(flops\|bytes\)".*"share":[0-9.e-]*,' "$dir/json")" = "$(grep -cE '^[a-z_]+ .* (flops|bytes) +[0-9]+ %$' "$dir/out")" ] ||
    { fail "ops in --json"; cat "$dir/json"; }
[ "$(grep -c '"event":"node","op":"dense",.*"samples":\[\([0-9.e-]*,\)\{4\}[0-9.e-]*\]' "$dir/json")" = 3 ] || { fail "nodes in --json"; cat "$dir/json"; }
[ "$(grep -c ',bound,,\(reads\|writes\|both\),.*,GB/s,,,,1,[0-9.]*$' "$dir/csv")" = 42 ] || { fail "bounds in --csv"; cat "$dir/csv"; }
[ "$(grep -c ',op,bytes,sgd,.*,share of bound,sgd,,,[1-5],' "$dir/csv")" = 5 ] || { fail "ops in --csv"; cat "$dir/csv"; }
"$apps/tutti-bench" compute --model mlp --batch 4 --steps 1 --blocks 1 --peer 'echo; false' > "$dir/out" 2>&1
[ $? = 1 ] && grep -q 'the peer program said' "$dir/out" || fail "a peer that does not answer"
# Sums of every algorithm are right; what a rank sends is what the algorithm says: of S bytes on 3 ranks a ring sends 4/3.
"$mpirun" -np 3 "$apps/tutti-bench" allreduce --algorithm all --from 12000 --to 12000 --lanes 2 --blocks 1 --block-s 0.001 \
    --link-mbit 1000 --json "$dir/json" > "$dir/out" 2>&1 || { fail "tutti-bench allreduce: status $?"; cat "$dir/out"; }
grep -q '"algorithm":"ring".*"sent_bytes":16000,"sent_messages":4' "$dir/json" || { fail "what a ring sends"; cat "$dir/json"; }
grep -q '"algorithm":"recursive-doubling"' "$dir/json" && grep -q '"algorithm":"mpi"' "$dir/json" || fail "an algorithm is missing"
# Several vectors of a rank: the same messages, however they are summed.
"$mpirun" -np 3 "$apps/tutti-bench" allreduce --algorithm all --vectors 2,4 --from 12000 --to 12000 --lanes 2 --blocks 1 \
    --block-s 0.001 --json "$dir/json" > "$dir/out" 2>&1 || { fail "tutti-bench allreduce --vectors: status $?"; cat "$dir/out"; }
[ "$(grep -c '"algorithm":"ring".*"vectors":[24].*"sent_bytes":16000,"sent_messages":4' "$dir/json")" = 4 ] ||
    { fail "what a ring of vectors sends"; cat "$dir/json"; }
"$apps/tutti-bench" allreduce --vectors 2,17 > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 'vectors.*numbers from 2 to 16' "$dir/out" || { fail "17 vectors"; cat "$dir/out"; }

# MPI itself counts the same: rounds of 2(P-1)/P of the payload, and little else; where this Open MPI can count.
"$mpirun" -np 4 --mca pml ob1,monitoring --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
    --mca pml_monitoring_filename "$dir/sent" "$apps/tutti-bench" allreduce --algorithm ring --from 1048576 --to 1048576 --blocks 1 \
    --block-s 0.001 > "$dir/out" 2>&1
if [ -s "$dir/sent.0.prof" ]; then
    awk '$1 == "E" && $2 == 0 && $3 == 1 { sent = $4; rounds = int(sent / 1572864) }
        END { exit !(rounds >= 3 && sent - rounds * 1572864 < 1000) }' "$dir/sent.0.prof" ||
        { fail "what a ring sends, as MPI counts it"; cat "$dir/sent.0.prof"; }
elif [ "$mpi" = openmpi4 ]; then # which can
    fail "MPI counts nothing of what a ring sends"
    cat "$dir/out"
else
    left_out "what a ring sends, as MPI counts it" "this MPI does not count"
fi

# Overlap of an allreduce and computation; a rank by itself is refused.
"$mpirun" -np 2 "$apps/tutti-bench" overlap --from 65536 --to 65536 --blocks 2 --json "$dir/json" > "$dir/out" 2>&1 ||
    { fail "tutti-bench overlap: status $?"; cat "$dir/out"; }
grep -qE '"event":"overlap","design":"funneled".*"hidden":("unknown"|0|1|0\.[0-9]*|1\.0),' "$dir/json" || { fail "no share in overlap"; cat "$dir/json"; }
grep -q '"event":"overlap".*"count":2,.*"samples":\[[0-9.e-]*,[0-9.e-]*\]' "$dir/json" || fail "overlap keeps no samples"
"$apps/tutti-bench" overlap > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 'nothing to sum' "$dir/out" || fail "overlap of one rank: $(cat "$dir/out")"

# Interference: each number has a limit and a verdict, whatever it is on this machine. The communication thread is where it was asked to be.
"$mpirun" -np 2 "$apps/tutti-bench" interference --workers "$(nproc)" --blocks 1 --calls 10 --idle-s 0.1 --step-ms 1 --steps 2 --json "$dir/json" --csv "$dir/csv" > "$dir/out" 2>&1 ||
    { fail "tutti-bench interference: status $?"; cat "$dir/out"; }
[ "$(grep -c '"event":"interference".*"limit".*"ok":\(true\|false\)' "$dir/json")" = 7 ] || { fail "numbers of interference"; cat "$dir/json"; }
[ "$(grep -c ',interference,.*,,,,1,[-0-9.e]*$' "$dir/csv")" = 7 ] || { fail "samples of interference"; cat "$dir/csv"; }
[ "$(grep -c 'at most .* \(ok\|MISSES\)$' "$dir/out")" = 7 ] || { fail "verdicts of interference"; cat "$dir/out"; }
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
TUTTI_COMM_CORE=$cpu trains 2 --data synthetic --model mlp --batch 2 --steps 2 --eval-every never
grep -q '"event":"start".*"comm_core":'"$cpu," "$dir/json" || { fail "--comm-core $cpu"; cat "$dir/json"; }
trains 2 --data synthetic --model mlp --batch 2 --steps 2 --eval-every never --comm-core none
grep -q '"event":"start".*"comm_core":-1,' "$dir/json" || { fail "--comm-core none"; cat "$dir/json"; }

# Steps: designs agree on the weights, the peer is timed in turns, results are read back, judged and drawn.
# Pixels from photographs, which here are grey squares of one value: a peer that says another mean is found out.
make_jpeg "$dir/photos"
export TMPDIR=$dir
photos=(data --data "$dir/photos" --size 16 --images 6 --blocks 2)
mean_peer() { # MEAN
    printf '#!/bin/sh\necho "{\\"event\\": \\"ready\\", \\"about\\": \\"a peer\\", \\"mean\\": %s}"\n' "$1"
    echo 'while read -r line; do echo "{\"event\": \"block\", \"step_ms\": 1000}"; done'
}
"$apps/tutti-bench" "${photos[@]}" --peer none --json "$dir/json" > "$dir/out" 2>&1 || { fail "tutti-bench data: status $?"; cat "$dir/out"; }
for text in '^verified: 2 threads make the same pixels as one' '^one thread  ' '^as fast as decoding alone' '^2 threads, times as fast as one'; do
    grep -q -- "$text" "$dir/out" || fail "tutti-bench data does not tell: $text"
done
grep -c '"event":"series"' "$dir/json" | grep -qx 5 || { fail "the series of tutti-bench data"; cat "$dir/json"; }
mean_peer 300 > "$dir/mean"
chmod +x "$dir/mean"
"$apps/tutti-bench" "${photos[@]}" --peer "$dir/mean" > "$dir/out" 2>&1
[ $? = 1 ] || fail "another mean: status"
mean=$(sed -n 's/.*a peer: the mean of what an evaluation sees is 300.000 instead of \([0-9.]*\), so it makes other pictures/\1/p' "$dir/out")
[ -n "$mean" ] || { fail "another mean"; cat "$dir/out"; }
mean_peer "$mean" > "$dir/mean"
"$apps/tutti-bench" "${photos[@]}" --peer "$dir/mean" > "$dir/out" 2>&1 || { fail "the same mean: status $?"; cat "$dir/out"; }
grep -q '^one thread, times as fast as a peer ' "$dir/out" || { fail "the peer's speed"; cat "$dir/out"; }
ls "$dir"/tutti-bench-data.* 2> /dev/null && fail "a file is left"
python=${TUTTI_TEST_PYTHON:-/usr/bin/python3}
if "$python" -c 'import PIL' 2> /dev/null; then
    "$apps/tutti-bench" "${photos[@]}" --peer "$python $TUTTI_SRCDIR/apps/bench/photos_peer.py" > "$dir/out" 2>&1 || { fail "Pillow: status $?"; cat "$dir/out"; }
    grep -q '^one thread, times as fast as Pillow' "$dir/out" || { fail "Pillow's speed"; cat "$dir/out"; }
fi
"$apps/tutti-bench" "${photos[@]}" --peer "$dir/mean" --augment crop > "$dir/out" 2>&1
[ $? = 2 ] && grep -q -- '--augment crop: peers know only standard' "$dir/out" || { fail "--augment crop with a peer"; cat "$dir/out"; }
"$apps/tutti-bench" data --data synthetic --peer none > "$dir/out" 2>&1
[ $? = 2 ] || { fail "synthetic images: status"; cat "$dir/out"; }

"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --link-mbit 1000 --peer "$dir/peer" \
    --json "$dir/grid" --csv "$dir/csv" > "$dir/out" 2>&1 || { fail "tutti-bench step: status $?"; cat "$dir/out"; }
for text in 'verified: after 6 steps 3 designs on 2 ranks' 'computation alone' 'communication alone' $(names overlapping); do
    grep -q -- "$text" "$dir/out" || fail "tutti-bench step does not tell: $text"
done
"$mpirun" -np 3 "$apps/tutti-bench" step --model mlp --batch 3 --micro-batches 3 --micro-batch-sums both --strategy both --steps 1 \
    --blocks 1 --peer none --design funneled > "$dir/out" 2>&1 || { fail "tutti-bench step --micro-batch-sums: status $?"; cat "$dir/out"; }
for text in 'verified: after 6 steps 4 designs on 3 ranks' 'funneled, sums in graph' 'funneled, sharded, sums in collective'; do
    grep -q -- "$text" "$dir/out" || fail "tutti-bench step --micro-batch-sums does not tell: $text"
done
"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --peer none --design auto --tuning-time 1 \
    --json "$dir/auto" > "$dir/out" 2>&1 || { fail "tutti-bench step --design auto: status $?"; cat "$dir/out"; }
grep -q '"name":"auto".*"chosen":"--design .*"over_best":[0-9]' "$dir/auto" || fail "no choice in --json: $(cat "$dir/auto")"
"$apps/tutti-bench" step --grid --verdict --json "$dir/auto" | grep -q 'auto / best fixed choice, mlp b2' || fail "no verdict of the choice"
grep -q '"kind":"peer".*"step_ms":1000.0' "$dir/grid" || fail "no peer in --json"
grep -q '"name":"funneled".*"sent_bytes":7364648' "$dir/grid" || fail "what a rank sends: $(cat "$dir/grid")"
# What MPI's own sums send is not counted; the limit knows what they send at least. 7364648 bytes at 10 Mbit/s are 5.9 s.
"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --peer none --design funneled --algorithm mpi \
    --link-mbit 10 --json "$dir/library" > "$dir/out" 2>&1 || { fail "tutti-bench step --algorithm mpi: status $?"; cat "$dir/out"; }
grep -q '"name":"funneled".*"limit_ms":\(5[89]\|6[0-9]\)[0-9][0-9]\.[0-9]*,"sent_bytes":7364648' "$dir/library" &&
    grep -q 'each rank sends at least 7.36 MB per step' "$dir/out" || { fail "what MPI's own sums send"; cat "$dir/out" "$dir/library"; }
# pipeline: the rows, the least idle share, and that replicas have no whole net to compare with.
"$mpirun" -np 2 "$apps/tutti-bench" pipeline --model mlp --batch 8 --micro-batches 4 --steps 1 --blocks 2 --peer "$dir/peer" \
    --json "$dir/pipeline" > "$dir/out" 2>&1 || { fail "tutti-bench pipeline: status $?"; cat "$dir/out"; }
grep -q "verified: after 4 steps $(($(names overlapping | wc -w) + 1)) rows have the same weights" "$dir/out" || { fail "tutti-bench pipeline verifies"; cat "$dir/out"; }
for text in 'whole net on one rank' 'data parallelism' 'idle for 20.0 % of a step' $(names overlapping); do
    grep -q -- "$text" "$dir/out" || { fail "tutti-bench pipeline does not tell: $text"; cat "$dir/out"; }
done
[ "$(grep -c '"kind":"peer".*"step_ms":1000.0' "$dir/pipeline")" = 2 ] || { fail "the peers of tutti-bench pipeline"; cat "$dir/pipeline"; }
"$mpirun" -np 4 "$apps/tutti-bench" pipeline --model mlp --batch 4 --micro-batches 2 --steps 1 --blocks 1 --peer none --design chained \
    --layout stages=2,replicas=2 --pipeline gpipe --stage-layers timed > "$dir/out" 2>&1 && grep -q 'verified: after 4 steps 1 rows' "$dir/out" ||
    { fail "tutti-bench pipeline, two replicas: status $?"; cat "$dir/out"; }
"$mpirun" -np 2 "$apps/tutti-bench" pipeline --batch 6 > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 'micro-batches.*must divide --batch' "$dir/out" || { fail "micro-batches that do not divide"; cat "$dir/out"; }
"$mpirun" -np 2 "$apps/tutti-bench" pipeline --layout stages=3 > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 'needs 3 ranks' "$dir/out" || { fail "a layout of more ranks"; cat "$dir/out"; }
# bf16 halves the bytes, to the last one.
"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --peer none --wire bf16 --json "$dir/half" \
    > "$dir/out" 2>&1 || { fail "tutti-bench step --wire bf16: status $?"; cat "$dir/out"; }
grep -q '"name":"funneled".*"wire":"bf16".*"sent_bytes":3682324' "$dir/half" || fail "what a rank sends in bf16: $(cat "$dir/half")"
# Values of bf16 are another result; the peer is told.
if computes_bf16; then
    "$apps/tutti-bench" compute --model mlp --batch 2 --steps 1 --blocks 1 --peer none --precision bf16 > "$dir/out" 2>&1 ||
        { fail "tutti-bench compute --precision bf16: status $?"; cat "$dir/out"; }
    grep -q '^mlp in bf16,' "$dir/out" && grep -q '^dense_wide ' "$dir/out" || { fail "not computed in bf16"; cat "$dir/out"; }
    "$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --peer none --precision auto --json "$dir/values" \
        > "$dir/out" 2>&1 || { fail "tutti-bench step --precision auto: status $?"; cat "$dir/out"; }
    grep -q '"name":"funneled".*"wire":"f32","compress":"none","precision":"\(f32\|bf16\)"' "$dir/values" || fail "no precision: $(cat "$dir/values")"
fi
# What ran where; every sample, in both files; how ratios are made; computation alone on both sides of each design.
for key in date host cpu processors load versions commit; do
    head -n 1 "$dir/grid" | grep -q '"event":"run".*"'$key'":' || fail "no $key in --json: $(head -n 1 "$dir/grid")"
done
for text in '"count":1,' '"samples":\[[0-9.]*\]' '"ratio":"median of paired ratios' '"compute_beside_ms":\[[0-9.]*\]' '"hidden":\(0\|1\|"unknown"\)'; do
    grep '"name":"funneled"' "$dir/grid" | grep -q "$text" || fail "no $text in --json: $(grep funneled "$dir/grid")"
done
[ "$(head -n 1 "$dir/csv")" = date,host,cpu,commit,event,kind,name,model,batch,ranks,link_mbit,design,algorithm,lanes,bytes,unit,op,transport,epoch,sample,value ] ||
    fail "the head of --csv: $(head -n 1 "$dir/csv")"
[ "$(grep -c ',step,design,[a-z]*,mlp,2,2,1000,,auto,auto,,ms,,,,1,[0-9.]*$' "$dir/csv")" = "$(names overlapping | wc -l)" ] || { fail "samples in --csv"; cat "$dir/csv"; }
"$apps/tutti-bench" step --grid --verdict --json "$dir/grid" > "$dir/out" 2>&1 || fail "--verdict: status $?"
grep -q 'medians over blocks of the ratio in a block' "$dir/out" || fail "--verdict does not say how its ratios are made"
grep -q 'step / peer, geometric mean over 1 cells' "$dir/out" || { fail "--verdict tells no mean"; cat "$dir/out"; }
limit=$(sed -n 's/.*"kind":"compute".*"limit_ms":\([0-9.]*\).*/\1/p' "$dir/grid")
grep -q "limit / peer, geometric mean: $(awk -v l="$limit" 'BEGIN { printf "%.3f", l / 1000 }') " "$dir/out" ||
    { fail "--verdict tells no bound of the mean"; cat "$dir/out"; }
# A design that beats its limit in every block; shares that noise makes, and old files.
row='{"event":"step","model":"m","batch":1,"ranks":2,"link_mbit":1000,"limit_ms":100,'
{
    echo "$row"'"kind":"compute","name":"c","step_ms":100,"least_ms":99,"most_ms":101,"count":3,"over_limit":1}'
    echo "$row"'"kind":"communicate","name":"s","step_ms":50,"least_ms":49,"most_ms":51,"count":3,"over_limit":1}'
    echo "$row"'"kind":"design","name":"fast","step_ms":90,"least_ms":89,"most_ms":91,"count":3,"over_limit":0.9,"over_limit_least":0.88,"over_limit_most":0.95}'
    echo "$row"'"kind":"design","name":"even","step_ms":100,"least_ms":99,"most_ms":101,"count":3,"over_limit":0.99,"over_limit_least":0.97,"over_limit_most":1.01}'
    echo "$row"'"kind":"design","name":"wild","step_ms":120,"least_ms":90,"most_ms":190,"count":3,"over_limit":1.2,"over_limit_least":0.9,"over_limit_most":1.9}'
    echo "$row"'"kind":"design","name":"old","step_ms":98,"least_ms":96,"most_ms":101,"over_limit":0.98,"hidden_pct":101.3}'
} > "$dir/made"
"$apps/tutti-bench" step --grid --verdict --json "$dir/made" > "$dir/out" 2>&1 || fail "--verdict of made rows: status $?"
for text in 'fast .*0.900 BELOW *unknown' 'even .*0.990 ok *1.000 ok' 'wild .*1.200 MISS *unknown' 'old .*0.980 ok *1.000 ok' \
    '1 row has no ratios by block in the file' 'BELOW: 1 row beats'; do
    grep -q "$text" "$dir/out" || { fail "--verdict does not tell: $text"; cat "$dir/out"; }
done
grep -q 'Not all rows' "$dir/out" && fail "rows of which the file does not say how they were made differ"
"$apps/tutti-bench" plot --json "$dir/made" --svg "$dir/svg" && [ "$(grep -c 'class="bar"' "$dir/svg")" = 4 ] || fail "a bar for each point with blocks"
"$apps/tutti-bench" step --grid --verdict --json "$dir/nowhere" > "$dir/out" 2>&1 && fail "--verdict of a file that is not there"
grep -q 'json .*nowhere: cannot be read' "$dir/out" || { fail "--verdict does not say what it cannot read"; cat "$dir/out"; }
# Cells that have results are not run again: no box is asked for.
"$apps/tutti-bench" step --grid --json "$dir/grid" --models mlp:2 --hosts 2 --rates 1000 --box /nonexistent > "$dir/out" 2>&1 ||
    { fail "a grid that is complete: status $?"; cat "$dir/out"; }
grep -q '^\[1/1\] mlp, .*: has results, .* they are of --priority off, --lanes auto$' "$dir/out" || { fail "results of other options"; cat "$dir/out"; }
# Results of an earlier build, and of other options, are told apart; those of old files, which do not say, are not.
{
    echo '{"event":"run","commit":"0123456789ab"}'
    sed -n 's/,"priority":"off"/,"priority":"on"/; s/"batch":2/"batch":4/; /"event":"step"/p' "$dir/grid"
    sed 's/,"lanes":"auto"/,"lanes":8/' "$dir/grid"
} > "$dir/mixed"
"$apps/tutti-bench" step --grid --json "$dir/mixed" --models mlp:2,mlp:4 --hosts 2 --rates 1000 --priority off --box /nonexistent > "$dir/out" 2>&1 ||
    { fail "a mixed grid: status $?"; cat "$dir/out"; }
commit=$(sed -n '1s/.*"commit":"\([^"]*\)".*/\1/p' "$dir/grid")
grep -q '^\[1/2\] mlp, .*: has results$' "$dir/out" && grep -q '^\[2/2\] mlp, .*they are of --priority on, --lanes auto, commit 0123456789ab$' "$dir/out" &&
    grep -q "^Not all rows have the same commit: 0123456789ab, $commit\.\$" "$dir/out" &&
    grep -q '^Not all rows have the same --priority: on, off\.$' "$dir/out" && grep -q '^Not all rows have the same --lanes: auto, 8\.$' "$dir/out" ||
    { fail "rows of two builds"; cat "$dir/out"; }
"$apps/tutti-bench" step --grid --json "$dir/grid" --models mlp:3 --hosts 2 --rates 1000 --box /nonexistent > "$dir/out" 2>&1
[ $? = 1 ] && grep -q '1 of 1 cells could not be run' "$dir/out" || fail "a cell that cannot be run"
"$apps/tutti-bench" plot --json "$dir/grid" --svg "$dir/svg" || fail "plot: status $?"
grep -q '>mlp, batch 2, 2 hosts<' "$dir/svg" && grep -q '</svg>' "$dir/svg" || fail "the picture of plot"
"$apps/tutti-bench" plot --json "$dir/grid" --svg "$dir/grid" 2> "$dir/out"
[ $? = 2 ] && grep -q 'it is the file of --json itself' "$dir/out" || fail "a picture in place of its results"
# Pictures of what else is measured.
draws() { # EVENTS TEXT...
    printf '%s\n' "$1" > "$dir/events"
    shift
    "$apps/tutti-bench" plot --json "$dir/events" --svg "$dir/svg" || { fail "plot of $(head -n 1 "$dir/events"): status $?"; return; }
    for text; do grep -q ">$text<" "$dir/svg" || fail "no $text in the picture of $(head -n 1 "$dir/events")"; done
}
draws '{"event":"allreduce","algorithm":"MPI_Allreduce","ranks":2,"lanes":1,"bytes":4096,"us":40,"samples":[39,40,42],"transport":"mpi"}
{"event":"allreduce","algorithm":"ring","ranks":2,"lanes":1,"bytes":4096,"us":20,"samples":[19,20,22],"transport":"mesh"}' 'allreduce, 2 ranks' MPI_Allreduce 'ring, mesh' '4 KiB'
[ "$(grep -c 'class="bar"' "$dir/svg")" = 2 ] || fail "a bar for each sum with blocks"
# Sums of several vectors are lines of their own; a picture has room for many charts, and says where it has none.
draws '{"event":"allreduce","algorithm":"ring","ranks":2,"lanes":1,"bytes":4096,"us":40,"transport":"mpi","vectors":2,"name":"ring of 2"}
{"event":"allreduce","algorithm":"ring","ranks":2,"lanes":1,"bytes":4096,"us":20,"transport":"mpi","vectors":4,"name":"ring of 4"}' 'ring of 2' 'ring of 4'
rules=$(for ((i = 2; i < 66; i++)); do echo '{"event":"rule","kind":"broadcast","ranks":'$i',"bytes":4096,"us":20}'; done)
draws "$rules" 'broadcast, 2 ranks' 'broadcast, 65 ranks' 2> "$dir/out"
[ ! -s "$dir/out" ] || { fail "64 charts"; cat "$dir/out"; }
draws "$rules
{\"event\":\"rule\",\"kind\":\"reduce\",\"ranks\":2,\"bytes\":4096,\"us\":20}" 'broadcast, 65 ranks' 2> "$dir/out"
grep -q 'the picture has room for 64 charts: it lacks some results' "$dir/out" || { fail "65 charts"; cat "$dir/out"; }
draws '{"event":"rule","kind":"broadcast","ranks":2,"bytes":4096,"us":20,"over_library":0.5,"over_library_choice":0.25}
{"event":"rule","kind":"broadcast","ranks":4,"bytes":3145728,"us":20,"over_library":0.5,"over_library_choice":0.25}
{"event":"rule","kind":"allreduce","ranks":4,"bytes":1000,"us":20,"over_library":0,"over_library_choice":0}' \
    'broadcast, 2 ranks' 'broadcast, 4 ranks' 'allreduce, 4 ranks' '3 MiB' 1000 'by the rules' 'MPI[^<]*s fastest' 'MPI[^<]*s own choice'
draws '{"event":"channel","name":"shm","kind":"read","bytes":4096,"us":2,"over_shm":1}' 'read of a tensor' shm
draws '{"event":"ranks","ranks":4,"seconds":2,"gain":3.5}' 'tutti-svm, as recorded' gain
"$apps/tutti-sim" mlp --topology star:4,1Gbit/s --ranks 2,4 --times cpu --json > "$dir/events" || fail "tutti-sim --json: status $?"
draws "$(cat "$dir/events")" 'mlp: simulated steps' funneled
# A grid that is told to end lets its box be taken down first.
cat > "$dir/box" << 'END'
#!/bin/bash
trap 'sleep 0.5; echo down >> "$0.said"; exit 1' TERM
echo up > "$0.said"
while :; do sleep 0.05; done
END
chmod +x "$dir/box"
"$apps/tutti-bench" step --grid --json "$dir/told" --models mlp:2 --hosts 2 --rates 1000 --box "$dir/box" > "$dir/out" 2>&1 &
bench=$!
for ((i = 0; i < 1000; i++)); do [ -e "$dir/box.said" ] && break; sleep 0.05; done
kill -TERM $bench
wait $bench
[ $? = 143 ] && grep -q down "$dir/box.said" && grep -q 'a cell: Terminated' "$dir/out" || { fail "a grid that is told to end"; cat "$dir/out"; }
# The picture of README.md and doc/results.md is that of the results beside it.
"$apps/tutti-bench" plot --json "$TUTTI_SRCDIR/doc/grid.jsonl" --svg "$dir/svg" && cmp "$dir/svg" "$TUTTI_SRCDIR/doc/grid.svg" ||
    fail "doc/grid.svg is not what plot makes of doc/grid.jsonl"
"$apps/tutti-bench" plot --json "$TUTTI_SRCDIR/doc/broadcasts.jsonl" --svg "$dir/svg" && cmp "$dir/svg" "$TUTTI_SRCDIR/doc/broadcasts.svg" ||
    fail "doc/broadcasts.svg is not what plot makes of doc/broadcasts.jsonl"
# So is the table, misses and all.
"$apps/tutti-bench" step --grid --verdict --json "$TUTTI_SRCDIR/doc/grid.jsonl" > "$dir/verdict" && [ "$(wc -l < "$dir/verdict")" -gt 50 ] &&
    [ "$(sed 's/^/    /; s/ *$//; /^$/d' "$dir/verdict")" = "$(sed -n '/^    model  *batch/,$p' "$TUTTI_SRCDIR/doc/results.md" | sed -n '/^    /p; /^## /q' | sed '/^$/d')" ] ||
    fail "doc/results.md has not the verdict on doc/grid.jsonl"
# Curves of trainings: of one, of two; what a run has done again after --resume counts once.
{
    echo '{"event":"start","model":"resnet18","steps_per_epoch":2}'
    for step in 1 2 3 4; do echo '{"event":"step","epoch":1,"step":'$step',"loss":'$((5 - step))'}'; done
    echo '{"event":"eval","step":4,"test_loss":1.5,"test_accuracy":0.5,"test_top5_accuracy":0.75}'
    echo '{"event":"start","model":"resnet18","steps_per_epoch":2}'
    echo '{"event":"step","epoch":2,"step":3,"loss":null}'
    for step in 3 4; do echo '{"event":"step","epoch":2,"step":'$step',"loss":2}'; done
    echo '{"event":"eval","step":4,"test_loss":1.25,"test_accuracy":1,"test_top5_accuracy":1}'
} > "$dir/one.json"
"$apps/tutti-bench" plot --json "$dir/one.json" --svg "$dir/svg" || fail "plot of a training: status $?"
[ "$(grep -c '<circle' "$dir/svg")" = 7 ] && grep -q '>resnet18: loss<' "$dir/svg" && grep -q '>top-5<' "$dir/svg" || { fail "curves"; cat "$dir/svg"; }
sed 's/"loss":2/"loss":3/' "$dir/one.json" > "$dir/two.json"
"$apps/tutti-bench" plot --json "$dir/one.json" --svg "$dir/svg" "$dir/two.json" && grep -q '>one, training<' "$dir/svg" && grep -q '>two, top-1<' "$dir/svg" ||
    fail "curves of two trainings"
"$apps/tutti-bench" plot --json "$dir/grid" --svg "$dir/svg" "$dir/two.json" 2> "$dir/out"
[ $? != 0 ] && grep -q 'it is drawn without further files' "$dir/out" || fail "a grid with further files"
head -n 1 "$dir/one.json" > "$dir/none.json"
"$apps/tutti-bench" plot --json "$dir/none.json" --svg "$dir/svg" 2> "$dir/out"
[ $? = 1 ] && grep -q 'holds no step and no evaluation' "$dir/out" || fail "a training without steps"
echo '{"event":' > "$dir/bad"
"$apps/tutti-bench" plot --json "$dir/bad" --svg "$dir/svg" 2> "$dir/out"
[ $? = 1 ] && grep -q 'bad:1: this is not JSON' "$dir/out" || fail "results that are none"

"$apps/tutti-bench" nothing 2> "$dir/out"
[ $? = 2 ] && grep -q 'known: compute' "$dir/out" || fail "an unknown command"
"$apps/tutti-bench" compute --blocks 0 2> "$dir/out"
[ $? = 2 ] && grep -q -- '--blocks 0' "$dir/out" || fail "a bad option of a command"
"$apps/tutti-info" --nothing 2> "$dir/out"
[ $? = 2 ] && grep -q 'no such option' "$dir/out" || fail "a bad option of tutti-info"

# One writer a file; a link stays.
printf 'host elsewhere\nprocess 1\nsince 2026-01-02 03:04:05 UTC\nboot b\n' > "$dir/locked.lock"
"$apps/tutti-bench" compute --model mlp --batch 4 --steps 2 --blocks 2 --json "$dir/locked" > "$dir/out" 2>&1 &&
    fail "a second writer of --json"
grep -q 'process 1 on host elsewhere' "$dir/out" || { fail "a second writer is not told"; cat "$dir/out"; }
"$apps/tutti-bench" step --grid --json "$dir/locked" --models mlp:3 --hosts 2 --rates 1000 --box /nonexistent > "$dir/out" 2>&1 &&
    fail "a second grid"
grep -q 'process 1 on host elsewhere' "$dir/out" || { fail "a second grid is not told"; cat "$dir/out"; }
ln -s svg "$dir/link"
"$apps/tutti-bench" plot --json "$dir/grid" --svg "$dir/link" && [ -L "$dir/link" ] || fail "plot replaced a link"
finish
