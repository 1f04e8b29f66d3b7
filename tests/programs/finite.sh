#!/bin/bash
# Numbers that are not finite: the run ends on all ranks, in order, with a sentence on rank 0 that names the step or the tensor,
# and what was saved before stays. In every design, and where one rank alone sees it.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
run=(--data "$dir/data" --model mlp --batch 4 --rate-schedule constant --checkpoint "$dir/saved")

# ends P TEXT OPTION...: status 1, the sentence once, from rank 0, no abort, no checkpoint but the one from before.
ends() {
    local ranks=$1 text=$2 status=0
    shift 2
    "$mpirun" -np "$ranks" "$apps/tutti-cifar" "${run[@]}" "$@" > "$dir/out" 2>&1 || status=$?
    [ $status = 1 ] || { fail "status $status: $*"; cat "$dir/out"; }
    [ "$(grep -c "error: .*$text" "$dir/out")" = 1 ] || { fail "not one \"$text\": $*"; cat "$dir/out"; }
    grep -q "^tutti: rank [1-9].*error" "$dir/out" && { fail "rank 0 is not alone in saying it: $*"; cat "$dir/out"; }
    grep -qi 'mpi_abort\|all ranks end' "$dir/out" && { fail "MPI_Abort: $*"; cat "$dir/out"; }
    cmp -s "$dir/saved" "$dir/before" || { fail "the checkpoint has changed: $*"; rm -f "$dir/saved"; cp "$dir/before" "$dir/saved"; }
}

# An epoch of 25 steps that is saved; then the rate of --rate-schedule step is too high from the start of another run.
trains 2 "${run[@]}" --lr 0.01 --steps 25
cp "$dir/saved" "$dir/before"
from=(--resume "$dir/saved")

# The loss of a step, found while steps are in flight.
for design in $(names designs); do
    ends 2 'the loss of step [0-9]* is not a finite number on rank [01]: try a lower --lr' --lr 1000 --momentum 0.99 --steps 80 \
        --design $design "${from[@]}"
done
# The last update is too large: the losses of all steps are finite, the one after it is not, and nothing is saved.
ends 2 'the loss after step 27 is not a finite number .*: try a lower --lr' --lr 1000 --momentum 0 --weight-decay 1000 --steps 27 \
    "${from[@]}" --eval-every never
ends 1 'the loss after step 27 is not a finite number on the test images' --lr 1000 --momentum 0 --weight-decay 1000 --steps 27 \
    "${from[@]}"

# A tensor: a checkpoint of a finished run with one number spoilt, with its hash left out.
perl -e 'binmode STDIN; local $/; $_ = <STDIN>; my $n = unpack "V", substr $_, 0, 4;
    s/"data_xxh3"/"data_xxhX"/; /"fc2.weight":.*?"data_offsets": ?\[(\d+)/ or die "no tensor fc2.weight";
    substr($_, 8 + $n + $1 + 4000, 4) = pack "V", 0x7fc00000; binmode STDOUT; print' < "$dir/saved" > "$dir/spoilt" || fail "perl"
ends 2 'after step 25 the tensor "fc2.weight" of rank 0 holds a value that is not finite' --lr 0.01 --steps 25 --resume "$dir/spoilt" --overwrite
finish
