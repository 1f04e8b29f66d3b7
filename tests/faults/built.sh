#!/bin/bash
# TUTTI_FAULT in this build, whichever it is: tutti-info says whether it is there; what cannot be done, or was left out by
# configure --disable-faults, is refused before the first step, on every rank; nothing is ignored.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
run=(--data synthetic --model mlp --batch 2 --steps 2 --eval-every never --quiet)

"$apps/tutti-info" > "$dir/info" || fail "tutti-info: status $?"
[ "$(grep -c '^  faults  ' "$dir/info")" = 1 ] || { fail "tutti-info does not say whether faults are built"; cat "$dir/info"; }
if has_faults; then
    bad='rank=1,collective=3,do=nonsense' because="not one of the KINDs"
else
    bad='rank=1,collective=3,do=skip' because="configured with --disable-faults"
fi
TUTTI_FAULT=$bad cifar 2 "${run[@]}"
status=$?
[ $status = 2 ] || fail "TUTTI_FAULT=$bad: status $status instead of 2"
[ "$(grep -c "TUTTI_FAULT=$bad: .*$because" "$dir/out")" = 2 ] || { fail "TUTTI_FAULT=$bad: not refused by both ranks"; cat "$dir/out"; }
TUTTI_FAULT= cifar 2 "${run[@]}" || { fail "an empty TUTTI_FAULT is as good as none: status $?"; cat "$dir/out"; }

# A script that asks for a fault says what it does in a build without.
for script in $(grep -lE '(^|[^"])TUTTI_FAULT=[a-z$"]' -r "$TUTTI_SRCDIR/tests" --include='*.sh'); do
    grep -q 'needs_faults\|has_faults' "$script" || fail "$script: sets TUTTI_FAULT and does not ask has_faults (tests/programs/lib.sh)"
done
finish
