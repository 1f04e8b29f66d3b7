#!/bin/bash
# Ranks that die over MPI (--least-ranks, mpirun --with-ft ulfm): without a death the weights are those of a run that ends with the
# first one; when ranks are killed, rank 0 too, the checkpoint is, byte for byte, that of runs which resume with fewer ranks
# from the steps that were said. Where MPI ends with its first rank, the option is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 400
all=(--data "$dir/data" --model mlp --batch 4 --lr 0.02 --augment crop)

refuses 2 "--least-ranks 1: .*tutti-run --elastic" cifar 2 "${all[@]}" --least-ranks 1
if ! "$mpirun" --with-ft ulfm -np 1 true > /dev/null 2>&1 ||
    "$mpirun" --with-ft ulfm -np 1 "$apps/tutti-cifar" "${all[@]}" --least-ranks 1 --steps 1 --eval-every never 2>&1 | grep -q 'Open MPI 5'; then
    # This MPI has none, or this build does not use what its headers declare.
    for folder in $(sed -n 's/^MPI_CFLAGS = //p' "$TUTTI_BUILDDIR/Makefile" | tr ' ' '\n' | sed -n 's/^-I//p'); do
        grep -q 'build with Open MPI 5' "$dir/out" && grep -rqs --include='mpi*ext*.h' MPIX_Comm_shrink "$folder" &&
            fail "this build does not use the fault tolerance of its MPI: $folder"
    done
    left_out "ranks that die over MPI" "this MPI has no fault tolerance"
    finish
fi

begin() { # RANKS OPTION...
    local ranks=$1
    shift
    rm -f "$dir/json"
    "$mpirun" --with-ft ulfm -np "$ranks" "$apps/tutti-cifar" "$@" --quiet --json "$dir/json" > "$dir/out" 2>&1 &
    run=$!
}
steps() { grep -c '"event":"step"' "$dir/json" 2> /dev/null; }
starts() { grep -c '"event":"start"' "$dir/json" 2> /dev/null; }
await() { # SECONDS COMMAND...
    local left=$(($1 * 50))
    shift
    until "$@"; do
        [ $((left--)) -gt 0 ] && kill -0 "$run" || { fail "not within time: $*"; cat "$dir/out"; kill "$run"; return 1; }
        sleep 0.02
    done
}
has_trained() { [ "$(steps)" -ge "$1" ] 2> /dev/null; }
has_begun() { [ "$(starts)" -ge "$1" ] 2> /dev/null; }
# The process of that rank: a child of mpirun, or of what that has become; not the keeper, which is a child of its rank.
rank() {
    local p
    for p in $(pgrep -x tutti-cifar); do
        [ "$(cat "/proc/$(awk '/^PPid/ { print $2 }' "/proc/$p/status")/comm")" != tutti-cifar ] &&
            tr '\0' '\n' < "/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" && tr '\0' '\n' < "/proc/$p/cmdline" | grep -qx "$dir/json" && echo "$p"
    done 2> /dev/null
}
changes() { sed -n 's/.*: \([0-9]*\) ranks\{0,1\} go\(es\)\{0,1\} on from step \([0-9]*\);.*/\1 \3/p' "$dir/out"; }

# ---- nobody dies ----
begin 3 "${all[@]}" --least-ranks 2 --steps 10 --eval-every never --snapshot-steps 3
wait "$run" || { fail "nobody dies: status $?"; cat "$dir/out"; }
hash=$(field weights_hash)
trains 3 "${all[@]}" --steps 10 --eval-every never
[ "$(field weights_hash)" = "$hash" ] || fail "nobody dies: $hash, without --least-ranks: $(field weights_hash)"

# ---- two die, one after the other ----
begin 3 "${all[@]}" --least-ranks 1 --steps 150 --eval-every never --snapshot-steps 7 --checkpoint "$dir/whole"
await 60 has_trained 10 && kill -9 "$(rank 0)"
await 60 has_begun 2 && kill -9 "$(rank 2)"
status=0
wait "$run" || status=$?
[ $status = 0 ] || { fail "status $status"; cat "$dir/out"; }
[ "$(changes | cut -d' ' -f1 | tr '\n' ' ')" = "2 1 " ] || { fail "changes: $(changes)"; cat "$dir/out"; }
from=0 ranks=3 part=()
while read -r next step; do
    [ "$step" = "$from" ] || trains "$ranks" "${all[@]}" --steps 150 --eval-every never --checkpoint "$dir/part" --overwrite "${part[@]}" --stop-after "$step" < /dev/null
    [ "$step" = 0 ] || part=(--resume "$dir/part")
    from=$step ranks=$next
done <<< "$(changes; echo "0 150")"
cmp "$dir/whole" "$dir/part" || fail "not the checkpoint of runs that resume"

# ---- a signal ends all, and saves ----
begin 2 "${all[@]}" --least-ranks 1 --steps 100000 --eval-every never --checkpoint "$dir/saved"
await 60 has_trained 3 && kill -TERM "$(rank 1)"
status=0
wait "$run" || status=$?
[ $status = 143 ] && [ -e "$dir/saved" ] || { fail "a signal: status $status"; cat "$dir/out"; }

# ---- too few are left ----
begin 2 "${all[@]}" --least-ranks 2 --steps 100000 --eval-every never
await 60 has_trained 3 && kill -9 "$(rank 1)"
status=0
wait "$run" || status=$?
[ $status != 0 ] && grep -aq '1 rank is left, and the run needs 2' "$dir/out" || { fail "too few: status $status"; cat "$dir/out"; }
finish
