#!/bin/bash
# --find-lr: rates that rise, the same on all ranks, until the loss diverges; a suggestion, a picture, an event; no weights.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
model=(--data "$dir/data" --model cifar-quick --batch 5)
finds() { # P OPTION...
    rm -f "$dir/json" "$dir/picture" "$dir/page"
    cifar "$1" "${model[@]}" --find-lr "$dir/picture" --json "$dir/json" --report "$dir/page" "${@:2}" || { fail "status $?: $*"; cat "$dir/out"; }
    event=$(tail -n 1 "$dir/json")
    grep -q '^{"event":"find_lr"' <<< "$event" || fail "$*: no event find_lr at the end"
    grep -q '"event":"\(eval\|checkpoint\|summary\)"' "$dir/json" && fail "$*: it does more than look for a rate"
    [ "$(head -c 4 "$dir/picture") $(tail -n 1 "$dir/picture")" = '<svg </svg>' ] || fail "$*: the picture is not whole"
    grep -q "<b>The run has ended</b> after step $(sed 's/.*"steps":\([0-9]*\).*/\1/' <<< "$event") of " "$dir/page" ||
        fail "$*: the page says $(grep "id='progress'" "$dir/page")"
    grep -q 'nan\|inf' "$dir/picture" && fail "$*: the picture has coordinates that are not numbers"
}
says() { grep -qE -e "$1" "$dir/out" || { fail "nobody says: $1"; cat "$dir/out"; }; }

# ---- up to a rate that no network bears: every rank ends there, in more steps than an epoch has
finds 2 --find-lr-steps 60 --find-lr-from 1e-4 --find-lr-to 1e6
says '^[0-9]+ rates are in .*/picture: the loss is lowest at .*, and diverges at '
says '^it (falls fastest at --lr [0-9.e+-]+|falls by less than a twentieth)'
wanted=$event steps=$(grep -c '"event":"step"' "$dir/json")
[ "$steps" -lt 60 ] || fail "$steps steps: the test does not end where the loss diverges"
grep -q '"rate":\[0.0001,' <<< "$event" || fail "the rates do not begin at 1e-4"

# ---- the same with another design; up to a rate that does no harm; in a pipeline
finds 2 --find-lr-steps 60 --find-lr-from 1e-4 --find-lr-to 1e6 --design concurrent --lanes 2
[ "$event" = "$wanted" ] || fail "another design finds something else"
finds 2 --find-lr-steps 20 --find-lr-from 1e-5 --find-lr-to 1e-3 --accumulate 2
grep -q '"steps":20,.*"diverged":null' <<< "$event" || fail "it ends, or diverges: $event"
# The rates are those of --lr: a step of 10 images takes the half of what is for 20.
losses() { sed 's/.*"loss":\[//; s/\].*//' <<< "$event" | tr , '\n' | cut -c 1-6; }
finds 2 --find-lr-steps 16 --find-lr-from 1e-3 --find-lr-to 1e-1
wanted=$(losses)
finds 2 --find-lr-steps 16 --find-lr-from 2e-3 --find-lr-to 2e-1 --lr-images 20
[ "$(losses)" = "$wanted" ] || fail "--lr-images: other losses: $(losses)"
grep -q '"rate":\[0.002,' <<< "$event" || fail "--lr-images: the rates do not begin at 2e-3: $event"
finds 2 --find-lr-steps 30 --find-lr-from 1e-3 --find-lr-to 1e6 --layout stages=2
grep -q '"diverged":[0-9]' <<< "$event" || fail "it does not diverge in a pipeline: $event"

refused 'it saves no weights' 2 --find-lr "$dir/x" --checkpoint "$dir/y"
refused 'use --init-from' 1 --find-lr "$dir/x" --resume "$dir/y"
refuses 2 'leave out --steps' cifar 1 "${model[@]}" --find-lr "$dir/x" --steps 3
refuses 2 'must be less than --find-lr-to' cifar 1 "${model[@]}" --find-lr "$dir/x" --find-lr-from 2 --find-lr-to 2
refuses 2 'use --strategy sync' cifar 2 "${model[@]}" --find-lr "$dir/x" --strategy async --layout servers=1
refuses 1 "$dir/none/x" cifar 2 "${model[@]}" --find-lr "$dir/none/x"
finish
