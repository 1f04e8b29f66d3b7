#!/bin/bash
# tutti-plan as a program: text and JSON, that the fastest of what it prints is chosen, and simulated alike; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
plan=$apps/tutti-plan

"$plan" mlp --topology star:4,1Gbit/s --times cpu > "$dir/out" 2>&1 || fail "status $?: $(cat "$dir/out")"
[ "$(grep -c '^fc[123] ' "$dir/out")" = 3 ] || fail "no row for each layer: $(cat "$dir/out")"
fastest=$(sed -n 's/^fastest: //p' "$dir/out")
[ "$(sed -n 's/^ *\([0-9.]*\) ms .*  \(--batch .*\)/\1 \2/p' "$dir/out" | sort -n | head -1 | cut -d' ' -f2-)" = "$fastest" ] ||
    fail "another layout is faster than $fastest: $(cat "$dir/out")"
grep -qE '^runner-up: --batch ' "$dir/out" || fail "no runner-up"
"$plan" mlp --topology star:4,1Gbit/s --times cpu | cmp -s - "$dir/out" || fail "numbers do not repeat"
"$plan" mlp --topology star:4,1Gbit/s --times cpu --json > "$dir/json" || fail "--json: status $?"
python3 - "$dir/json" "$fastest" << 'EOF' || fail "--json: $(cat "$dir/json")"
import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["fastest"]["options"] == sys.argv[2], plan["fastest"]
assert plan["fastest"]["step_ms"] == min(l["step_ms"] for l in plan["layouts"])
assert [l["layer"] for l in plan["layers"]] == ["fc1", "fc2", "fc3"]
assert sum(l["parameters"] for l in plan["layers"]) == 1841162
EOF

# Its options give tutti-sim the same step.
# shellcheck disable=SC2086 # several options
"$apps/tutti-sim" mlp --topology star:4,1Gbit/s --times cpu --steps 4 --warm 2 $fastest --json > "$dir/json" || fail "tutti-sim $fastest: $?"
step=$(sed -n 's/^  a step takes \([0-9.]*\) ms; .*/\1/p' "$dir/out")
awk -v a="$(sed -n 's/.*"step_ms":\([^,]*\).*/\1/p' "$dir/json")" -v b="$step" 'BEGIN { exit !(a > 0.999 * b && a < 1.001 * b) }' ||
    fail "tutti-sim $fastest: $(cat "$dir/json"), not $step ms"

# What the runner-up sends more, in a step: of all steps tutti-sim says as much.
"$plan" resnet8 --topology star:4,100Gbit/s --times gpu > "$dir/out" 2>&1 || fail "messages: $(cat "$dir/out")"
sent=$(sed -n 's/.*ranks send \([0-9]*\) messages a step, not .*/\1/p' "$dir/out")
second=$(sed -n 's/^runner-up: //p' "$dir/out")
[ -n "$sent" ] || fail "the runner-up sends no more messages: $(cat "$dir/out")"
# shellcheck disable=SC2086 # several options
"$apps/tutti-sim" resnet8 --topology star:4,100Gbit/s --times gpu --steps 6 $second --json > "$dir/json" || fail "tutti-sim $second: $?"
awk -v all="$(sed -n 's/.*"messages":\([0-9]*\).*/\1/p' "$dir/json")" -v sent="$sent" 'BEGIN { exit !(all >= 6 * (sent - 0.5) && all <= 6 * (sent + 0.5)) }' ||
    fail "$second: not $sent messages in each of 6 steps: $(cat "$dir/json")"

# Kernels of a trace: only layouts with micro-batches of as many images.
"$apps/tutti-sim" mlp --topology star:4,1Gbit/s --times cpu --steps 4 --batch 16 --trace "$dir/trace" > /dev/null || fail "trace: status $?"
"$plan" mlp --topology star:4,1Gbit/s --times "$dir/trace" > "$dir/out" 2>&1 || fail "times of a trace: $(cat "$dir/out")"
grep -q -e '--batch 64 --layout stages=2,replicas=2 --micro-batches 4' "$dir/out" || fail "no micro-batches of 16 images: $(cat "$dir/out")"
grep -q -e '--micro-batches 8' "$dir/out" && fail "micro-batches of 8 images: $(cat "$dir/out")"

# Ranks that do not take part send nothing: four ranks of a host are the same whether or not there are other hosts.
"$plan" mlp --topology two-level:1x4 --times cpu --json > "$dir/wanted" || fail "a host of four: status $?"
"$plan" mlp --topology two-level:4x4 --ranks 4 --times cpu --json | sed 's/two-level:4x4/two-level:1x4/' | cmp - "$dir/wanted" ||
    fail "ranks that do not take part change the plan of the others"

# What does not fit is not chosen.
"$plan" mlp --topology star:4,1Gbit/s --times cpu --memory-gb 0.010 > "$dir/out" || fail "--memory-gb: status $?"
grep -q '^fastest: --batch 32 --layout replicas=4,split=4' "$dir/out" || fail "--memory-gb: $(cat "$dir/out")"
refuses 2 'none of the layouts' "$plan" mlp --topology star:4,1Gbit/s --times cpu --memory-gb 0.001
refuses 2 'no model' "$plan" nothing --topology star:4
refuses 2 'topology' "$plan" mlp
refuses 2 'has 4' "$plan" mlp --topology star:4 --ranks 5
refuses 2 'no layout of 4 ranks has equal replicas' "$plan" mlp --topology star:4 --batch 1 --times cpu
refuses 2 'times of mlp, not of resnet8' "$plan" resnet8 --topology star:4 --times "$dir/trace"
refuses 2 'which no layout of 4 ranks has with --batch 12' "$plan" mlp --topology star:4 --times "$dir/trace" --batch 12
finish
