#!/bin/bash
# Ranks are killed again and again, at random moments and while a checkpoint is written; tutti-run goes on from the last
# checkpoint, which is never lost or torn, and the weights at the end are those of a run that was left alone.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
kills=${TUTTI_TEST_ROUNDS:-5} each=5 # kills in all, and at most so many a training
seed=${TUTTI_TEST_SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed (TUTTI_TEST_SEED; when a kill hits is also a matter of time)"
mapfile -t designs < <(names designs)

run=(--data "$dir/data" --model mlp --batch 10 --lr 0.02 --epochs 50 --augment crop --timeout 30) # 10 steps an epoch
trains 2 "${run[@]}" --checkpoint "$dir/whole"
hash=$(field weights_hash)

ranks() { pgrep -f "^$apps/(\.libs/)?(lt-)?tutti-cifar .*--checkpoint $dir/part "; }
saved_step() { head -c 2000 "$dir/part" 2> /dev/null | grep -ao '"step":"[0-9]*"' | tr -dc 0-9; }

# Waits for MOMENT ("part": a checkpoint is being written) at most 5 s, a little longer, and kills. Tells whether an
# unfinished checkpoint is there now.
kill_rank() { # PID DELAY_MS MOMENT
    perl -MTime::HiRes=sleep,time -e '
        my ($pid, $delay, $part) = @ARGV;
        my $until = time + 5;
        my @glob; # its middle is random
        sub unfinished { @glob = glob("$ARGV[3].*.part"); return @glob > 0 }
        sleep 0.0005 while $part && !unfinished() && time < $until && kill 0, $pid;
        sleep $delay / 1000;
        my $hit = kill "KILL", $pid;
        sleep 0.01;
        print $hit ? unfinished() ? "torn" : "hit" : "missed"' "$1" "$2" "$3" "$dir/part"
}

killed=0 torn=0 trainings=0 steps=
while [ $killed -lt "$kills" ]; do
    rm -f "$dir/part"*
    design=${designs[RANDOM % ${#designs[@]}]}
    "$apps/tutti-run" --linger 5 --pause 0 --max-restarts $((each + 1)) "$mpirun" -np 2 "$apps/tutti-cifar" "${run[@]}" --design "$design" \
        --checkpoint "$dir/part" --quiet --json "$dir/json" > "$dir/out" 2>&1 &
    training=$!
    here=0 last=0
    while [ $here -lt $each ] && [ $killed -lt "$kills" ] && kill -0 $training 2> /dev/null; do
        mapfile -t pids < <(ranks)
        [ ${#pids[@]} = 2 ] || { sleep 0.1; continue; }
        victim=${pids[RANDOM % 2]}
        if [ $((RANDOM % 2)) = 0 ]; then
            how=$(kill_rank "$victim" $((RANDOM % 3000)) "")
        else
            how=$(kill_rank "$victim" $((RANDOM % 30)) part)
        fi
        [ "$how" = missed ] && continue
        here=$((here + 1)) killed=$((killed + 1))
        [ "$how" = torn ] && torn=$((torn + 1))
        now=$(saved_step)
        [ "${now:-0}" -ge $last ] || fail "the checkpoint was of step $last and is of step ${now:-none}"
        last=${now:-0} steps+=" ${now:-0}"
        while kill -0 "$victim" 2> /dev/null; do sleep 0.05; done
    done
    status=0
    wait $training || status=$?
    trainings=$((trainings + 1))
    [ $status = 0 ] || { fail "status $status ($design)"; cat "$dir/out"; }
    [ "$(field weights_hash)" = "$hash" ] || { fail "weights $(field weights_hash) instead of $hash ($design)"; cat "$dir/out"; }
    cmp "$dir/whole" "$dir/part" || fail "the checkpoints differ ($design)"
    grep -q 'truncated\|not a safetensors\|damaged: its data' "$dir/out" && { fail "a torn checkpoint"; cat "$dir/out"; }
    [ "$(ls "$dir" | grep -c '^part\..*\(part\|lock\)$')" = 0 ] || { fail "an unfinished checkpoint was left"; ls "$dir"; }
    [ -z "$(ranks)" ] || fail "ranks were left behind"
done
echo "$killed kills in $trainings training(s), $torn of them while a checkpoint was written; steps saved by then:$steps"
finish
