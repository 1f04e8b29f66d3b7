#!/bin/bash
# tutti-bench strategies trains with what the tables have, and with what it is told; the results can be drawn.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
trained() { # OPTION...
    "$apps/tutti-bench" strategies --data synthetic:8x8x1:4 --model mlp --hosts none --ranks 2 --epochs 1 --batch 512 --accuracy 1 \
        --json "$dir/json" "$@" > "$dir/out" 2>&1
}
export TMPDIR=$dir
trained sync local:period=2 sync/topk:0.1 sync@servers=1 || { fail "status $?"; cat "$dir/out"; }
for name in sync 'local:period=2' 'sync, topk:0.1' 'sync, servers=1'; do
    grep -q "\"event\":\"strategy\",\"name\":\"$name\",.*\"reached\":true" "$dir/json" || fail "no $name"
    grep -q "^$name  *[0-9.]* " "$dir/out" || { fail "$name is not told"; cat "$dir/out"; }
done
ls -d "$dir"/tutti-bench.* 2> /dev/null && fail "files are left"
"$apps/tutti-bench" plot --json "$dir/json" --svg "$dir/svg" && grep -q 'accuracy by time' "$dir/svg" || fail "the picture"

# Its own rate grows with the images of a step up to 256: with these 2048 that of their number, 0.8, learns nothing (29 % instead of 54 %).
trained --ranks 4 sync || { fail "status $?"; cat "$dir/out"; }
awk -F'"accuracy_pct":' '/"name":"sync",/ { reached = $2 + 0 } END { exit !(reached >= 45) }' "$dir/json" ||
    { fail "sync learns nothing in steps of 2048 images"; cat "$dir/json"; }

# A training that fails is told, and the others go on.
trained local:period=2/topk:0.1 sync
[ $? = 1 ] && grep -q '1 of 2 trainings failed' "$dir/out" && grep -q '^sync  *[0-9]' "$dir/out" || { fail "one that fails"; cat "$dir/out"; }

trained fast
[ $? = 2 ] && grep -q 'must be sync' "$dir/out" || { fail "an unknown strategy"; cat "$dir/out"; }
trained sync/zip
[ $? = 2 ] && grep -q 'must be none, bf16' "$dir/out" || { fail "an unknown codec"; cat "$dir/out"; }
finish
