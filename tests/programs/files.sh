#!/bin/bash
# The files that runs write: one writer a file, nothing lost that was there, links as they were, and what restarts rely on.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
cd "$dir" || exit 1
# 5 steps an epoch on 2 ranks, 10 on 1.
run=(--data "$dir/data" --model mlp --batch 20 --lr 0.02 --augment crop --timeout 30)

says() { grep -qF -e "$1" out || { fail "$2: no \"$1\""; cat out; }; }
ends_with() { # STATUS WHAT COMMAND...
    local wanted=$1 what=$2 status=0
    shift 2
    "$@" || status=$?
    [ $status = "$wanted" ] || { fail "$what: status $status instead of $wanted"; cat out; }
}
wait_for() { # FILE: at most 60 s
    for _ in {1..600}; do
        [ -s "$1" ] && return
        sleep 0.1
    done
    fail "no $1"
}
# A bit of its last byte.
damage() { perl -e 'open my $f, "+<:raw", $ARGV[0] or die; seek $f, -1, 2; read $f, my $c, 1; seek $f, -1, 2; print $f chr(ord($c) ^ 1)' "$1"; }
step_of() { head -c 4000 "$1" | grep -ao '"step":"[0-9]*"' | tr -dc 0-9; }

# ---- what whole runs give
trains 2 "${run[@]}" --steps 15 --checkpoint whole
hash=$(field weights_hash)
[ "$(step_of whole)" = 15 ] && [ "$(step_of whole.1)" = 10 ] || fail "steps $(step_of whole) and $(step_of whole.1)"
[ ! -e whole.2 ] && [ ! -e whole.lock ] || fail "more than one earlier checkpoint, or a lock: $(ls)"

# ---- what is there is not lost
before=$(sha256sum whole whole.1)
ends_with 2 "a checkpoint that is there" cifar 1 "${run[@]}" --steps 1 --checkpoint whole
says 'this run does not continue from it: add --resume' "a checkpoint that is there"
ends_with 2 "the next run with its earlier one" cifar 1 "${run[@]}" --steps 6 --resume whole.1 --checkpoint whole
mv whole gone
ends_with 2 "only an earlier one is there" cifar 1 "${run[@]}" --steps 1 --checkpoint whole
mv gone whole
[ "$(sha256sum whole whole.1)" = "$before" ] || fail "a refused run changed the checkpoints"
cp whole over && cp whole.1 over.1
trains 1 "${run[@]}" --steps 2 --checkpoint over --overwrite
[ "$(step_of over)" = 2 ] && [ ! -e over.1 ] || fail "--overwrite: the earlier run's are still there"
trains 1 "${run[@]}" --steps 15 --stop-after 12 --checkpoint none --keep 0
[ -s none ] && [ ! -e none.1 ] || fail "--keep 0 keeps one"
trains 1 "${run[@]}" --steps 45 --checkpoint three --keep 3
[ "$(step_of three) $(step_of three.1) $(step_of three.2) $(step_of three.3)" = "45 40 30 20" ] && [ ! -e three.4 ] ||
    fail "--keep 3: $(ls three*)"

# ---- links
mkdir far
ln -s far/real link
trains 1 "${run[@]}" --steps 11 --checkpoint link
[ -L link ] && [ -s far/real ] && [ -s far/real.1 ] && [ ! -e link.1 ] || { fail "a link was replaced"; ls -l . far; }
echo safe > victim
for planted in plant plant.part plant.1 plant.lock; do ln -sf ../victim far/$planted; done
rm far/plant
ends_with 1 "a lock that is a link" cifar 1 "${run[@]}" --steps 6 --checkpoint far/plant
rm far/plant.lock far/plant.1 # another run's checkpoint, as far as one can see
trains 1 "${run[@]}" --steps 11 --checkpoint far/plant --keep 0
[ "$(cat victim)" = safe ] || fail "a planted link was written through"

# ---- two at once
"$mpirun" -np 1 "$apps/tutti-cifar" "${run[@]}" --epochs 100000 --quiet --checkpoint both --json log > first 2>&1 &
job=$!
wait_for both.1
cifar 1 "${run[@]}" --steps 6 --resume both --checkpoint both
[ $? = 1 ] || { fail "a second writer: not status 1"; cat out; }
says "another run is writing it: process " "a second writer"
says " on host $(uname -n), since 20" "a second writer"
cifar 1 "${run[@]}" --steps 6 --json log
[ $? = 1 ] || { fail "a second writer of --json: not status 1"; cat out; }
says '--json log: another run is writing it' "a second writer of --json"
ln -s both other
cifar 1 "${run[@]}" --steps 6 --overwrite --checkpoint other
[ $? = 1 ] || { fail "a second writer by another name: not status 1"; cat out; }
rank=$(sed -n 's/^process //p' both.lock)
kill -0 "$rank" || { fail "no process in both.lock"; cat both.lock; }
kill -KILL "$rank"
wait $job && fail "a rank was killed and all is well"
[ -e both.lock ] || fail "killed, and its lock is gone"
rm other
echo torn > both.0123456789abcdef.part
steps=$(($(step_of both) + 5))
ends_with 0 "going on after a kill" cifar 1 "${run[@]}" --steps $steps --resume both --checkpoint both --json log
[ "$(step_of both)" = $steps ] && [ ! -e both.lock ] && [ ! -e both.0123456789abcdef.part ] ||
    { fail "after a kill: of step $(step_of both), not $steps"; ls; }
perl -MJSON::PP -ne 'decode_json($_)' log 2> bad || [ ! -s bad ] || fail "--json after a kill: $(cat bad)"
[ "$(grep -c '"event":"start"' log)" = 2 ] && [ ! -e log.1 ] || fail "--json with --resume begins anew"

# A lock of another host stays, unless it is of the same tutti-run.
printf 'host elsewhere\nprocess 1\nsince 2026-01-02 03:04:05 UTC\nbegan 1\nboot b\nmachine m\nrun elsewhere.1\n' > both.lock
ends_with 1 "a lock of another host" cifar 1 "${run[@]}" --steps $steps --resume both --checkpoint both
says 'process 1 on host elsewhere, since 2026-01-02 03:04:05 UTC; when that process has ended, delete' "another host"
TUTTI_RUN=elsewhere.1 trains 1 "${run[@]}" --steps $steps --resume both --checkpoint both
[ ! -e both.lock ] || fail "a lock of the same tutti-run is left"

# ---- --json and --trace keep an earlier file, too
echo '{"old":1}' > events
echo '{"old":2}' > spans
ends_with 0 "an earlier --json" cifar 1 "${run[@]}" --steps 3 --trace spans --json events
grep -q old events.1 && grep -q old spans.1 && grep -q summary events && grep -q traceEvents spans ||
    { fail "an earlier --json or --trace is lost"; ls -l events* spans*; }

# ---- going on
cp whole.1 part
ends_with 0 "going on with other options" cifar 1 "${run[@]}" --steps 20 --lr 0.01 --momentum 0.8 --rate-schedule constant --batch 10 --resume part
for words in 'not the run that was interrupted' 'batch was 20 and is 10' 'ranks was 2 and is 1' 'steps was 15 and is 20' \
    'lr was 0.02' ' and is 0.01' 'rate-schedule was cosine' 'and is constant' 'momentum was 0.9 nesterov and is 0.8 nesterov'; do
    says "$words" "going on with other options"
done
ends_with 0 "going on without --augment" cifar 2 --data "$dir/data" --model mlp --batch 20 --lr 0.02 --steps 15 --resume part
says 'augment was on' "going on without --augment"
before=$(stat -c '%i %y' whole)
ends_with 0 "a run that has ended" cifar 2 "${run[@]}" --steps 15 --resume whole --checkpoint whole
says 'nothing is left to train' "a run that has ended"
grep -q 'nan\|interrupted\|median' out && { fail "a run that has ended: not a number"; cat out; }
[ "$(stat -c '%i %y' whole)" = "$before" ] && [ "$(step_of whole.1)" = 10 ] || fail "a run that has ended wrote its checkpoint again"

# The newest is damaged: the one before is taken, and put into its place.
trains 2 "${run[@]}" --steps 15 --stop-after 10 --checkpoint part --overwrite
damage part
ends_with 0 "a damaged checkpoint" cifar 2 "${run[@]}" --steps 15 --resume part --checkpoint part --json json --keep 2
says 'damaged: its data do not have the hash' "a damaged checkpoint"
says 'continuing from the earlier checkpoint part.1' "a damaged checkpoint"
grep -q 'error:' out && { fail "a damaged checkpoint: called an error"; cat out; }
is "a damaged checkpoint" "$hash"
[ -e part.damaged ] && cmp part whole && [ "$(step_of part.1) $(step_of part.2)" = "10 5" ] || { fail "a damaged checkpoint"; ls -l; }

# The same under tutti-run, which starts a program again that ends after 10 steps, with the file damaged or missing.
cat > attempt << 'END'
#!/bin/bash
echo "$*" >> calls
[ -e second ] && exec "$@"
touch second
"$@" --stop-after 10 || exit
case $DOES in damage) perl -e 'truncate $ARGV[0], 100' restarted ;; lose) rm restarted ;; esac
exit 1
END
chmod +x attempt
for does in nothing damage lose; do
    rm -f second calls restarted* json
    DOES=$does "$apps/tutti-run" --pause 0 --linger 5 --max-restarts 1 ./attempt "$mpirun" -np 2 "$apps/tutti-cifar" \
        "${run[@]}" --steps 15 --checkpoint restarted --json json > out 2>&1 || { fail "tutti-run, $does: status $?"; cat out; }
    grep -q -e '--resume restarted$' calls || { fail "tutti-run, $does: did not go on"; cat calls out; }
    [ "$(field weights_hash)" = "$hash" ] && cmp restarted whole || { fail "tutti-run, $does: other weights"; cat out; }
    [ ! -e restarted.lock ] || fail "tutti-run, $does: a lock is left"
done

# ---- no room, no right to write: as root, in a file system of its own
if [ "$(id -u)" = 0 ] && unshare -m true 2> /dev/null; then
    mkdir small
    cp whole.1 kept
    unshare -m bash -c 'mount -t tmpfs -o size=20m none small && cp kept small/c && shift && { "$@"; echo "status $?"; } &&
        ls small && cmp kept small/c && mount -o remount,ro small && { "$@" --overwrite; echo "status $?"; }' - - \
        "$mpirun" -np 2 "$apps/tutti-cifar" "${run[@]}" --steps 15 --resume small/c --checkpoint small/c > out 2>&1 ||
        { fail "a small disk"; cat out; }
    says 'small/c could not be saved: No space left on device' "a small disk"
    says 'Read-only file system' "a folder to read only"
    [ "$(grep -c '^status 1$' out)" = 2 ] || { fail "a small disk: not status 1"; cat out; }
    grep -q '^c$' out && ! grep -q '\.part$\|^c\.' out || { fail "a small disk: something is left"; cat out; }
else
    left_out "a small disk" "this user cannot mount one"
fi
finish
