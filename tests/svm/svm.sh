#!/bin/bash
# tutti-svm as people run it: the same model from any number of ranks, over MPI and in one process; LIBSVM's predictions and
# objective, where its programs are installed; checkpoints, scaling, cross-validation, and what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
svm=$apps/tutti-svm
run() { "$@" > "$dir/out" 2> "$dir/err" || { fail "status $?: $*"; cat "$dir/out" "$dir/err"; }; }

# Rows of 20 features, a third of which are 0; two classes, or three, by sums of features.
draw() { # ROWS CLASSES SEED
    perl -e 'my ($n, $k, $s) = @ARGV; srand($s);
        for (1 .. $n) { my ($line, @sum) = ("", 0, 0);
            for my $f (1 .. 20) { next if rand() < 0.33; my $x = int(rand(2000) - 700) / 1000; $sum[$f % 2] += $x; $line .= " $f:$x" }
            my $c = $sum[0] + 0.4 * rand() > $sum[1] ? 1 : -1; $c = 2 if $k == 3 && $sum[0] + $sum[1] > 2.2;
            print "$c$line\n" }' "$@"
}
draw 400 2 1 > "$dir/two" && draw 300 2 2 > "$dir/two.t" && draw 300 3 3 > "$dir/three" && draw 200 3 4 > "$dir/three.t"

# One process, threads and ranks.
for options in "" "--solver pair" "--eliminate 2" "--eliminate 10% --reconstruct single --working-set 16" "--kernel linear --cost 4" \
    "--kernel poly --coef0 1 --weights 1=2,-1=0.5" "--scale 0,1"; do
    run "$svm" train --data "$dir/two" --model "$dir/one.model" $options
    run "$svm" train --data "$dir/two" --model "$dir/three.model" --threads 3 --quiet $options
    run "$mpirun" -np 2 "$svm" train --data "$dir/two" --model "$dir/ranks.model" $options
    cmp "$dir/one.model" "$dir/three.model" || fail "3 threads train another model: $options"
    cmp "$dir/one.model" "$dir/ranks.model" || fail "2 ranks train another model: $options"
done
run "$svm" train --data "$dir/three" --model "$dir/k.model" --probability
run "$svm" train --data "$dir/three" --model "$dir/k3.model" --probability --threads 4
cmp "$dir/k.model" "$dir/k3.model" || fail "4 threads train another model of three classes"
run "$svm" predict --data "$dir/three.t" --model "$dir/k.model" --to "$dir/k.out" --probability
head -1 "$dir/k.out" | grep -q '^labels ' && [ "$(wc -l < "$dir/k.out")" = 201 ] || fail "probabilities: $(head -2 "$dir/k.out")"
run "$mpirun" -np 2 "$svm" predict --data "$dir/three.t" --model "$dir/k.model" --to "$dir/k2.out" --probability
cmp "$dir/k.out" "$dir/k2.out" || fail "2 ranks predict otherwise"

# LIBSVM's programs.
if command -v svm-train > /dev/null && command -v svm-predict > /dev/null && command -v svm-scale > /dev/null; then
    for set in two three; do
        run "$svm" train --data "$dir/$set" --model "$dir/ours" --eps 1e-5 --gamma 0.1
        ours=$(awk '/^class/ { for (i = 1; i < NF; i++) if ($i == "objective") s += $(i + 1) } END { printf "%.6f", s }' "$dir/out")
        run svm-train -e 1e-5 -g 0.1 "$dir/$set" "$dir/theirs"
        theirs=$(awk '/^obj/ { s += $3 } END { printf "%.6f", s }' "$dir/out")
        awk -v a="$ours" -v b="$theirs" 'BEGIN { exit !((a - b) ^ 2 < (1e-6 * b) ^ 2) }' || fail "$set: objective $ours, LIBSVM's $theirs"
        for model in ours theirs; do
            run "$svm" predict --data "$dir/$set.t" --model "$dir/$model" --to "$dir/a"
            cp "$dir/out" "$dir/said"
            run svm-predict "$dir/$set.t" "$dir/$model" "$dir/b"
            cmp "$dir/a" "$dir/b" || fail "$set: svm-predict reads $model otherwise"
            cmp "$dir/said" "$dir/out" || fail "$set: accuracy $(cat "$dir/said")"
        done
    done
    run svm-train -b 1 -g 0.1 "$dir/three" "$dir/theirs"
    run svm-predict -b 1 "$dir/three.t" "$dir/theirs" "$dir/b"
    run "$svm" predict --data "$dir/three.t" --model "$dir/theirs" --to "$dir/a" --probability
    cmp "$dir/a" "$dir/b" || fail "other probabilities than svm-predict's"
    svm-scale -l 0 -u 2 -s "$dir/their.range" "$dir/three" > "$dir/b" 2> /dev/null
    run "$svm" scale --data "$dir/three" --to "$dir/a" --lower 0 --upper 2 --save "$dir/range" --threads 3
    cmp "$dir/a" "$dir/b" && cmp "$dir/range" "$dir/their.range" || fail "scaled otherwise than by svm-scale"
    svm-scale -r "$dir/range" "$dir/three.t" > "$dir/b" 2> /dev/null
    run "$svm" scale --data "$dir/three.t" --to "$dir/a" --restore "$dir/range"
    cmp "$dir/a" "$dir/b" || fail "scaled otherwise than by svm-scale -r"
else
    echo "left out: comparison with LIBSVM's programs: libsvm-tools is not installed"
fi

# A training that is interrupted at any time and goes on, on another number of ranks, gives the same model.
run "$svm" train --data "$dir/two" --model "$dir/whole" --solver pair --eps 1e-7 --eliminate 2
for try in 1 2; do
    [ $try = 1 ] && signal=TERM || signal=INT
    env --default-signal=INT "$svm" train --data "$dir/two" --model "$dir/part" --solver pair --eps 1e-7 --eliminate 2 --checkpoint "$dir/state" \
        --checkpoint-minutes 0.0001 > "$dir/out" 2>&1 &
    pid=$!
    for ((i = 0; i < 100; i++)); do [ -e "$dir/state" ] && break; sleep 0.02; done
    kill -$signal $pid 2> /dev/null
    status=0
    wait $pid || status=$?
    [ $status = $((128 + $(kill -l $signal))) ] || [ $status = 0 ] || { fail "status $status of an interrupted run"; cat "$dir/out"; }
    [ -e "$dir/state" ] || continue
    cp "$dir/state" "$dir/kept"
    for on in "$svm" "$mpirun -np 2 $svm"; do
        cp "$dir/kept" "$dir/state"
        run $on train --data "$dir/two" --model "$dir/part" --solver pair --eps 1e-7 --eliminate 2 --checkpoint "$dir/state" --resume \
            --threads $((try * 2 - 1)) --checkpoint-minutes 1000
        cmp "$dir/whole" "$dir/part" || fail "a resumed training ends otherwise: $on"
    done
done
[ -e "$dir/state" ] || fail "no training has written a checkpoint"
if [ -e "$dir/state" ]; then
    refuses 1 "was made with eps" "$svm" train --data "$dir/two" --model "$dir/part" --solver pair --eliminate 2 --checkpoint "$dir/state" --resume
    goes_on=("$svm" train --model "$dir/part" --solver pair --eps 1e-7 --eliminate 2 --checkpoint "$dir/state" --resume)
    refuses 1 "was made with data" "${goes_on[@]}" --data "$dir/two.t"
    cp "$dir/two" "$dir/kept" && cat "$dir/two.t" >> "$dir/two"
    refuses 1 "is of other data: the data file had [0-9]* bytes, hash" "${goes_on[@]}" --data "$dir/two"
    sed '200s/:0/:1/' "$dir/kept" > "$dir/two" # as many rows
    refuses 1 "is of other data: the data file had [0-9]* bytes, hash" "${goes_on[@]}" --data "$dir/two"
    mv "$dir/kept" "$dir/two"
    printf x | dd of="$dir/state" bs=1 seek=3000 conv=notrunc 2> /dev/null
    refuses 1 "hash" "${goes_on[@]}" --data "$dir/two"
fi

# A training that cannot end, as the same rows are in both classes: a signal to one rank ends it, and it is saved.
{ cat "$dir/two" && head -n 100 "$dir/two" | sed 's/^-1/x/; s/^1/-1/; s/^x/1/'; } > "$dir/both"
endless=(--solver pair --eps 1e-10 --cost 1e9 --kernel linear --max-steps 1000000000000)
for signal in TERM INT; do
    for on in "$svm" "$mpirun -np 2 $svm"; do
        rm -f "$dir/endless" "$dir/json"
        env --default-signal=INT $on train --data "$dir/both" --model "$dir/never" "${endless[@]}" \
            --checkpoint "$dir/endless" --checkpoint-minutes 1000 --json "$dir/json" > "$dir/out" 2>&1 &
        run=$!
        for ((i = 0; i < 600; i++)); do grep -qs start "$dir/json" && break; sleep 0.1; done
        kill -$signal "$(pgrep -f "^$svm train --data $dir/both" | tail -n 1)" || fail "$signal: no such training: $on"
        status=0
        wait "$run" || status=$?
        [ $status = $((128 + $(kill -l $signal))) ] && [ -s "$dir/endless" ] || { fail "$signal: status $status: $on"; cat "$dir/out"; }
    done
done

# A rank that stops is named within seconds, and all end; also where --timeout ends the wait, while messages are under way.
stops() { # SENTENCE OPTION...
    local said=$1 run stopped status=0 begun i
    shift
    rm -f "$dir/json"
    "$mpirun" -np 2 "$svm" train --data "$dir/both" --model "$dir/never" "${endless[@]}" --json "$dir/json" "$@" \
        > "$dir/out" 2>&1 &
    run=$!
    for ((i = 0; i < 300; i++)); do grep -qs start "$dir/json" && break; sleep 0.1; done
    sleep 0.5
    stopped=$(pgrep -f "$svm train --data $dir/both --model $dir/never" | tail -n 1)
    kill -STOP "$stopped"
    begun=$SECONDS
    wait "$run" || status=$?
    kill -KILL "$stopped" 2> /dev/null
    [ $status = 1 ] && [ $((SECONDS - begun)) -le $((12 * ${TUTTI_TEST_SLOWDOWN:-1})) ] || fail "a rank that stops: status $status after $((SECONDS - begun)) s"
    grep -q "$said" "$dir/out" || { fail "no word of a rank that stops"; cat "$dir/out"; }
}
(
    export TUTTI_STALL_WARN=1 TUTTI_STALL_DUMP=2 TUTTI_STALL_ABORT=4 TUTTI_STALL_DIR=$dir
    stops 'stall report: rank 1 does not answer'
)
stops 'unfinished after 2 s' --timeout 2

# Cross-validation, a grid with its picture, JSON.
run "$svm" cv --data "$dir/two" --folds 4 --threads 2
grep -q '^Cross Validation Accuracy = [89][0-9]' "$dir/out" || fail "$(cat "$dir/out")"
run "$svm" cv --data "$dir/two" --grid --costs -1:3:2 --gammas -1:-5:-2 --picture "$dir/grid.svg" --json "$dir/json"
grep -q '^Best: --cost ' "$dir/out" && grep -q '<line ' "$dir/grid.svg" || fail "a grid without contours"
perl -MJSON::PP -ne 'decode_json($_)' "$dir/json" || fail "JSON: $(head -3 "$dir/json")"
[ "$(grep -c '"accuracy"' "$dir/json")" = 9 ] && grep -q '"cost":0.5,"gamma":0.125,' "$dir/json" || fail "JSON of a grid: $(cat "$dir/json")"
cp "$dir/two" "$dir/"$'two\xff'
run "$svm" train --data "$dir/"$'two\xff' --model "$dir/m" --json "$dir/json"
perl -MJSON::PP -ne 'decode_json($_)' "$dir/json" && grep -qF '/two\\xff"' "$dir/json" || fail "a name that is not UTF-8: $(cat "$dir/json")"
run "$svm" cv --data "$dir/two" --grid --costs 0:0.3:0.1 --gammas -3:-3:1
[ "$(grep -c '^cost 2^' "$dir/out")" = 4 ] || fail "a grid without its last exponent: $(cat "$dir/out")"
for given in "--costs 0:2:1" "--gammas 0:2:1" "--picture $dir/p.svg"; do
    refuses 2 "${given%% *} .*: needs --grid" "$svm" cv --data "$dir/two" $given
done
refuses 2 "more than 64 exponents" "$svm" cv --data "$dir/none" --grid --costs 0:64:1

# A file that cannot be written is named before anything is read.
mkdir "$dir/folder"
for at in none/m folder; do
    refuses 1 "model $dir/$at" "$svm" train --data "$dir/none" --model "$dir/$at"
    refuses 1 "checkpoint $dir/$at" "$svm" train --data "$dir/none" --model "$dir/m" --checkpoint "$dir/$at"
    refuses 1 "predictions $dir/$at" "$svm" predict --data "$dir/none" --model "$dir/one.model" --to "$dir/$at"
    refuses 1 "picture $dir/$at" "$svm" cv --data "$dir/none" --grid --picture "$dir/$at"
done
refuses 1 "model $dir/none/m" "$mpirun" -np 2 "$svm" train --data "$dir/two" --model "$dir/none/m"

# A message of more than 4 GiB.
run "$mpirun" -np 2 "$TUTTI_BUILDDIR/tests/svm/long_message"

# Ranks have the same options, and files of the same bytes.
apart() { # OPTION...: rank R in the folder $dir/R
    "$mpirun" -np 2 bash -c 'cd "$0/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" && exec "$@"' "$dir" "$svm" "$@"
}
mkdir "$dir/0" "$dir/1"
for r in 0 1; do
    cp "$dir/two" "$dir/$r/data" && cp "$dir/one.model" "$dir/$r/model"
    run "$svm" scale --data "$dir/two" --to "$dir/a" --save "$dir/$r/range" --lower $((-r))
done
run apart predict --data data --model model --to out
refuses 1 'the file of ranges range differs between ranks' apart scale --data data --to out --restore range
run "$svm" train --data "$dir/two" --model "$dir/1/model" --cost 2
refuses 1 'the model model differs between ranks' apart predict --data data --model model --to out
head -n -1 "$dir/two" > "$dir/1/data"
refuses 1 'the data file data differs between ranks: it has [0-9]* bytes on rank 0, and [0-9]* on rank 1' apart train --data data --model m
sed '200s/:0/:1/' "$dir/two" > "$dir/1/data"
cmp -s "$dir/two" "$dir/1/data" && fail "no other bytes"
refuses 1 'the data file data differs between ranks: rank 1 has other bytes' apart train --data data --model m
rm "$dir/1/data"
refuses 1 'the data file data cannot be read: No such file' apart train --data data --model m
launch_several_programs "$mpi"
for given in "--cost 2" "--checkpoint $dir/state"; do
    refuses 2 'the ranks were started with different options: \(cost\|checkpoint\) is "\(1\|not given\)" on rank 0' "$mpirun" \
        -np 1 "$svm" train --data "$dir/two" --model "$dir/m" : -np 1 "$svm" train --data "$dir/two" --model "$dir/m" $given
done
refuses 2 'exponents between' "$svm" cv --data "$dir/two" --grid --costs=-5:15:inf

# The bench, on rows that are drawn.
for shape in covtype real-sim higgs; do
    run "$apps/tutti-bench" svm --data $shape --rows 300 --gamma 0.1 --blocks 1 --ranks 1
    grep -q '^ *tutti-svm, 1 rank ' "$dir/out" || fail "no row of tutti-svm: $(cat "$dir/out")"
done
# A ratio is the median over blocks of the ratio in a block.
run "$apps/tutti-bench" svm --data covtype --rows 300 --gamma 0.1 --blocks 3 --ranks 2 --json "$dir/json"
samples() { sed -n "s/.*\"event\":\"series\",\"name\":\"$1\".*\"samples\":\[\([^]]*\)\].*/\1/p" "$dir/json" | tr , ' '; }
told=$(sed -n 's/.*"name":"tutti-svm, 2 ranks over tutti-svm, 1 rank","unit":"x","value":\([0-9.e-]*\).*/\1/p' "$dir/json")
echo "$told $(samples 'tutti-svm, 1 rank') $(samples 'tutti-svm, 2 ranks')" | awk '{
    for (k = 2; k <= 4; k++) r[k] = $(k + 3) / $k
    low = r[2] < r[3] ? r[2] : r[3]; high = r[2] + r[3] - low
    median = r[4] < low ? low : r[4] > high ? high : r[4]
    exit !(NF == 7 && $1 > median * 0.999999 && $1 < median * 1.000001) }' || fail "a ratio of medians: $(cat "$dir/json")"

# A recorded training on more ranks: work that all share is divided, common work is not, and the links take their time.
event() { echo "{\"event\":\"$1\",\"seconds\":$2,\"common_seconds\":$3,\"rounds\":$4,\"row_bytes\":$5,\"survey\":\"$6\",\"survey_bytes\":$7}"; }
gains() { # WANTED: the seconds of 1, 2 and 4 ranks
    run "$apps/tutti-bench" svm-ranks --profile "$dir/profile" --topology "$dir/links" --balance 1
    [ "$(awk '$1 ~ /^[0-9]+$/ { printf "%s ", $2 }' "$dir/out")" = "$1" ] || fail "a recorded training: $(cat "$dir/out"), not $1"
}
{ echo "topology 1" && printf 'host h%d\n' 0 1 2 3 && echo "switch s" && printf 'link h%d s rate 1MB/s latency 5ms\n' 0 1 2 3 &&
    echo "ranks h0 h1 h2 h3"; } > "$dir/links"
{ event eliminated 6 1 0 0 gathered 0 && event ended 10 2 0 0 gathered 0 && event ended 2 0 0 0 gathered 0; } > "$dir/profile"
gains "12 7 4.5 "
event ended 4 0 10 0 combined 4 > "$dir/profile" # a message takes 10 ms and 4 us
gains "4 2.1 1.2 "
event ended 4 0 1 2000000 gathered 0 > "$dir/profile" # each has a part of 2 MB of rows, which goes round in segments
gains "4 3.01 2.51 "
wrong() { # SENTENCE LINE
    echo "$2" > "$dir/profile"
    refuses 1 "$1" "$apps/tutti-bench" svm-ranks --profile "$dir/profile" --topology "$dir/links"
}
wrong "line 1: the training had several ranks" '{"event":"start","ranks":2}'
wrong "line 1: the events are in no order" "$(event ended 1 2 0 0 gathered 0)"
wrong "line 1: no JSON" x
wrong "no events of a training" '{"event":"start","ranks":1}'
run "$svm" train --data "$dir/two" --model "$dir/one.model" --quiet --json "$dir/json"
run "$apps/tutti-bench" svm-ranks --profile "$dir/json" --topology star:4 --json "$dir/json2" --csv "$dir/csv"
[ "$(grep -c ',ranks,.*,[124],.*,s,,,,1,[0-9.e-]*$' "$dir/csv")" = 3 ] || fail "seconds in --csv: $(cat "$dir/csv")"
grep -q '"ranks": *4' "$dir/json2" || fail "no four ranks: $(cat "$dir/json2")"

# What is refused.
refuses 2 "unknown command 'fly'" "$svm" fly
refuses 2 "cost" "$svm" train --data "$dir/two" --model "$dir/m" --cost 0
refuses 2 "must be LABEL=FACTOR" "$svm" train --data "$dir/two" --model "$dir/m" --weights 1:2
refuses 2 "ends in a comma" "$svm" train --data "$dir/two" --model "$dir/m" --weights 1=2,
refuses 1 "the output could not be written" bash -c '"$0" "$@" > /dev/full' "$svm" predict --data "$dir/two" --model "$dir/one.model"
refuses 2 "names a class twice" "$svm" train --data "$dir/two" --model "$dir/m" --weights 1=2,-1=1,1=3
refuses 2 "trace .*: needs a launcher" "$svm" train --data "$dir/two" --model "$dir/m" --trace "$dir/trace"
refuses 2 "two ascending numbers" "$svm" train --data "$dir/two" --model "$dir/m" --scale 1,0
refuses 2 "needs --checkpoint" "$svm" train --data "$dir/two" --model "$dir/m" --resume
refuses 1 "No such file" "$svm" train --data "$dir/none" --model "$dir/m"
echo "1 1:1" > "$dir/alone"
refuses 1 "one class, 1" "$svm" train --data "$dir/alone" --model "$dir/m"
printf '1 1:1\n-1 2:1\n1.5 1:1\n' > "$dir/odd"
refuses 1 "row 3 has the label 1.5" "$svm" train --data "$dir/odd" --model "$dir/m" --threads 2
printf '1 1:1\n12345678901 2:1\n' > "$dir/odd"
refuses 1 "row 2 has the label 12345678901: .* to 2147483647" "$svm" train --data "$dir/odd" --model "$dir/m"
printf '1 1:1\n-1 0:1\n' > "$dir/zero"
said_by_each=yes refuses 1 "line 2: the index '0'" "$mpirun" -np 2 "$svm" train --data "$dir/zero" --model "$dir/m"
[ "$(grep -c "line 2: the index '0'" "$dir/out")" = 2 ] || { fail "not every rank says it"; cat "$dir/out"; }

# Features with one value alone are left out, also where there are no others.
printf '1 1:3\n-1 1:3\n' > "$dir/same"
printf '1 1:9\n-1 1:-9\n' > "$dir/same.t"
run "$svm" scale --data "$dir/same" --to "$dir/a" --save "$dir/range"
run "$svm" scale --data "$dir/same.t" --to "$dir/a" --restore "$dir/range"
[ "$(tr -d ' ' < "$dir/a" | tr '\n' ' ')" = "1 -1 " ] || { fail "ranges of no feature"; cat "$dir/range" "$dir/a"; }

# ---- numbers beyond float ----
# Kernel values of 1e43 are computed in double, those of 1e180 are refused; labels of many digits stay what they are.
printf '+1 1:20000000\n-1 2:1\n' > "$dir/large"
run timeout 60 "$svm" train --data "$dir/large" --model "$dir/m" --kernel poly
grep -qi 'nan\|inf' "$dir/m" && { fail "a model of large kernel values"; cat "$dir/m"; }
run "$svm" predict --data "$dir/large" --model "$dir/m" --to "$dir/said"
[ "$(tr '\n' ' ' < "$dir/said")" = "1 -1 " ] || { fail "large kernel values: the samples themselves are not predicted"; cat "$dir/said"; }
printf '+1 1:1e30\n-1 2:1\n' > "$dir/larger"
refuses 1 'kernel values may be as large as 1.*e+1' "$svm" train --data "$dir/larger" --model "$dir/m" --kernel poly
printf '+1 1:1e25\n-1 1:2e25\n' > "$dir/large" # in float, |x|^2 would be infinite, and every kernel value NaN
run "$svm" train --data "$dir/large" --model "$dir/m" --gamma 1e-50
grep -q 'objective -1.367879, rho' "$dir/out" || { fail "large squares: the objective is not -1 - 1 / e"; cat "$dir/out"; }
printf '+1 1:1e80\n-1 2:1\n' > "$dir/larger"
refuses 1 'product with itself is as large as 1e+160' "$svm" train --data "$dir/larger" --model "$dir/m"
printf '1234567 1:1\n1234568 1:0.5\n' > "$dir/labels"
run "$svm" scale --data "$dir/labels" --to "$dir/a" --lower 0 --upper 1
[ "$(cut -d ' ' -f 1 "$dir/a" | tr '\n' ' ')" = "1234567 1234568 " ] || { fail "labels of seven digits"; cat "$dir/a"; }
for what in train cv; do
    model=()
    [ $what = cv ] || model=(--model "$dir/m")
    run "$svm" $what --data "$dir/two" ${model[@]+"${model[@]}"} --weights 7=2
    [ "$(grep -c 'the data have no class 7' "$dir/err")" = 1 ] || { fail "$what: a weight of a class that is not there"; cat "$dir/err"; }
done

finish
