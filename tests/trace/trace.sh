#!/bin/bash
# --trace: what all ranks did is in one file that an independent reader understands; in every design but the sequential one
# collectives are in flight while backward tasks run. tutti-trace tells what it shows.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
make_cifar "$dir/data"

# traces P DESIGN hides|exposes OPTION...
traces() {
    local ranks=$1 design=$2 overlap=$3 collectives
    shift 3
    trains "$ranks" --data "$dir/data" --model resnet20 --batch 4 --eval-every never --design "$design" --trace "$dir/trace" "$@"
    collectives=$(sed -n 's/.*"event":"start".*"collectives":\([0-9]*\).*/\1/p' "$dir/json")
    "$apps/tutti-trace" "$dir/trace" --json > "$dir/told" || fail "tutti-trace: status $?"
    python3 "$TUTTI_SRCDIR/tests/trace/check.py" "$dir/trace" "$ranks" "$collectives" "$overlap" "$dir/told" ||
        fail "the trace of $ranks ranks, $design, $*"
}

traces 2 sequential exposes --steps 3 --trace-first 2 --trace-steps 1
traces 2 funneled hides --steps 3
traces 2 concurrent hides --steps 3 --workers 2
traces 2 chained hides --steps 3
traces 3 sequential exposes --steps 2
traces 3 funneled hides --steps 7 --trace-steps 2
grep -q '"first_step":4,"last_step":5,' "$dir/trace" || fail "which steps are traced: $(head -c 200 "$dir/trace")"
traces 3 concurrent hides --steps 2
traces 3 chained hides --steps 2

# Threads that read ahead have tracks: they fill what the steps before have freed.
trains 2 --data "$dir/data" --model mlp --batch 30 --steps 30 --eval-every never --threads 2 --depth 3 --trace "$dir/read" --trace-steps 30
python3 - "$dir/read" << 'EOF' || fail "the tracks of threads that read ahead"
import json, sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
read = [e for e in events if e.get("cat") == "read"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
rows = {(e["pid"], e["tid"]) for e in read}
assert {pid for pid, _ in rows} == {0, 1}, rows
assert all(names[row] == f"reader {row[1] - 900}" and row[1] in (900, 901) for row in rows), (rows, names)
steps = sorted({e["args"]["step"] for e in read if e["pid"] == 0})
assert len(steps) > 10 and min(steps) >= 1 and max(steps) <= 33, steps
EOF
"$apps/tutti-trace" "$dir/read" --step 20 --svg "$dir/svg" > "$dir/out" || fail "tutti-trace --svg: status $?"

# tutti-trace: text, a picture, one step; and what it refuses.
"$apps/tutti-trace" "$dir/trace" --step 2 --svg "$dir/svg" > "$dir/out" || fail "tutti-trace --svg: status $?"
for text in 'resnet20 on 3 ranks, design chained' 'critical path of step 2' 'rank 2 worker 0' 'd.conv1.weight.sum'; do
    grep -q "$text" "$dir/out" || { fail "tutti-trace does not tell: $text"; cat "$dir/out"; }
done
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$dir/svg" && grep -q '>lane 0<' "$dir/svg" ||
    fail "the picture"
# Names in a trace do not reach the terminal's controls, in text, JSON or picture.
sed 's/"d.conv1.weight.sum/"d\\u001b]0;x\\u0007\\u009b\\u202e\\n/g; s/"resnet20"/"res\\u001b[2Jnet"/' "$dir/trace" > "$dir/odd"
"$apps/tutti-trace" "$dir/odd" --step 2 --svg "$dir/odd.svg" > "$dir/out" || fail "odd names: status $?"
"$apps/tutti-trace" "$dir/odd" --json > "$dir/told" || fail "odd names, --json: status $?"
grep -qF 'd\x1b]0;x\x07\u009b\u202e\n' "$dir/out" && grep -qF 'res\x1b[2Jnet on 3' "$dir/out" && grep -qF 'd\x1b]0;x' "$dir/odd.svg" ||
    { fail "odd names are not shown"; cat "$dir/out"; }
cat "$dir/out" "$dir/told" "$dir/odd.svg" | LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f-\xff]' && fail "control characters of a trace come through"
cp "$dir/trace" "$dir/"$'tr\xffce'
"$apps/tutti-trace" "$dir/"$'tr\xffce' --json > "$dir/told" && grep -qF '/tr\\xffce"' "$dir/told" || { fail "a name that is not UTF-8, --json"; cat "$dir/told"; }
refuses 1 'does not hold all of step 9' "$apps/tutti-trace" "$dir/trace" --step 9
head -c 20000 "$dir/trace" > "$dir/cut"
refuses 1 "$dir/cut:" "$apps/tutti-trace" "$dir/cut"
refuses 1 'it does not begin like one' "$apps/tutti-trace" "$dir/json"
refuses 1 "$dir/none" "$apps/tutti-trace" "$dir/none"
refuses 2 'FILE is missing' "$apps/tutti-trace"
refuses 2 'only options are expected' "$apps/tutti-trace" "$dir/trace" "$dir/trace"
refuses 1 "$dir/none/svg" "$apps/tutti-trace" "$dir/trace" --svg "$dir/none/svg"

# What cannot be: a step that never comes; a folder that is not there; a disk that is full, where the file before stays.
cifar 1 --data "$dir/data" --model mlp --steps 2 --trace "$dir/late" --trace-first 3
[ $? = 2 ] && grep -q 'the run ends with step 2' "$dir/out" && [ ! -e "$dir/late" ] || { fail "a late --trace-first"; cat "$dir/out"; }
cifar 1 --data "$dir/data" --model mlp --steps 2 --trace "$dir/nowhere/trace"
[ $? = 1 ] && grep -q "nowhere/trace" "$dir/out" || { fail "a folder that is not there"; cat "$dir/out"; }
echo before > "$dir/trace"
env OMPI_MCA_btl=self UCX_TLS=self "$mpirun" -np 1 bash -c 'ulimit -f 8; exec "$@"' - "$apps/tutti-cifar" --data "$dir/data" --model resnet20 \
    --batch 4 --steps 2 --trace "$dir/trace" > "$dir/out" 2>&1
[ $? = 1 ] && grep -q "trace $dir/trace could not be saved: File too large" "$dir/out" || { fail "a full disk"; cat "$dir/out"; }
[ "$(cat "$dir/trace")" = before ] && ! ls "$dir" | grep -q "part$\|lock$" || fail "the file from before did not survive a full disk"
finish
